"""The columns that the sample tables of all protocols share: what is refused."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from eyechart.errors import ReportError
from eyechart.results.sample_table import SHARED_COLUMNS, check_rows, shared_cells

HEAD = [*SHARED_COLUMNS, "response"]
ROW = [*shared_cells(key="a", target="hen", prediction="hen", correct=1.0), "A hen."]


def rows(*lines: list[Any]) -> Iterator[list[Any]]:
    return iter([list(line) for line in lines])


def test_a_table_with_the_shared_columns_is_unchanged() -> None:
    failed = [*shared_cells(key="b", target="owl", error="refused"), ""]
    assert list(check_rows("mine", rows(HEAD, ROW, failed))) == [HEAD, ROW, failed]
    assert list(check_rows("mine", rows(HEAD))) == [HEAD]


@pytest.mark.parametrize("column", SHARED_COLUMNS)
def test_a_missing_column_is_refused_with_the_protocol_and_its_name(column: str) -> None:
    head = [name for name in HEAD if name != column]
    with pytest.raises(
        ReportError, match=rf"of the protocol mine has no column {column}\. Expected it to begin with key"
    ):
        list(check_rows("mine", rows(head)))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "has no column key, target, prediction, correct, subset, error"),
        ([["response", *SHARED_COLUMNS]], "begins with response, key, target, prediction, correct, subset"),
        ([[*HEAD, "response"]], "has the column response twice"),
        ([HEAD, ROW, ROW[:-1]], "row 2 has 6 cells. Expected 7"),
        ([HEAD, [*ROW[:3], "yes", *ROW[4:]]], "in row 1 (a) correct is 'yes'. Expected 1, 0"),
        ([HEAD, [*ROW[:5], "refused", ""]], "in row 1 (a) correct is '1' beside the error 'refused'"),
    ],
)
def test_what_breaks_the_contract_is_refused(lines: list[list[Any]], message: str) -> None:
    with pytest.raises(ReportError, match=re.escape(message)):
        list(check_rows("mine", rows(*lines)))
