"""What is said of a case whose test failed after its numbers were recorded."""

from pathlib import Path

import msgspec
import pytest

from eyechart.results.failed_tests import failure_notes, status_suffix
from eyechart.results.records import Record, read_run


@pytest.fixture
def records(run_folder: Path) -> list[Record]:
    """A case that passed, one that a gate failed, and one whose test ended in an error."""
    first, second, third = read_run(run_folder).records
    failed = msgspec.structs.replace(second, status="failed", test="test_own.py::test_case[a]")
    return [first, failed, msgspec.structs.replace(third, status="error", test="test_own.py::test_case[b]")]


def test_a_name_has_the_status_of_a_test_that_did_not_pass(records: list[Record]) -> None:
    assert [status_suffix(record) for record in records] == ["", " (test failed)", " (test error)"]


def test_a_sentence_names_case_protocol_and_test(records: list[Record]) -> None:
    assert [*failure_notes(records)] == [
        f"{record.case} ({record.protocol}): the test failed after it recorded these numbers ({record.test})."
        for record in records[1:]
    ]
