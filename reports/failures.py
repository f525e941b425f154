"""How reports show a case whose test failed after it recorded its numbers."""

from collections.abc import Iterable, Iterator

from eyechart.records import PASSED, Record


def status_suffix(record: Record) -> str:
    """Return what stands behind the name of a case; nothing where its test passed."""
    return "" if record.status == PASSED else f" ({record.status})"


def failure_notes(records: Iterable[Record]) -> Iterator[str]:
    """Yield a sentence for every case whose test failed."""
    for record in records:
        if status_suffix(record):
            yield f"{record.case} ({record.protocol}): the test failed after it recorded these numbers ({record.test})."
