"""Text for cases whose test failed after their metrics were recorded."""

from collections.abc import Iterable, Iterator

from eyechart.results.records import PASSED, Record


def status_suffix(record: Record) -> str:
    """Return the text after the name of a case: "" if its test passed, else ` (test failed)`.

    The numbers are valid: a gate, or more errors than allowed, fails a test after its numbers are recorded.
    """
    return "" if record.status == PASSED else f" (test {record.status})"


def failure_notes(records: Iterable[Record]) -> Iterator[str]:
    """Yield a sentence for every case whose test failed."""
    for record in records:
        if status_suffix(record):
            yield f"{record.case} ({record.protocol}): the test failed after it recorded these numbers ({record.test})."
