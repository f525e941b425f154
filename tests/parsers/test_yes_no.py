"""Tests of `eyechart.parsers.yes_no`."""

from hypothesis import given

from eyechart.parsers import yes_no
from eyechart.parsers.text import fold
from tests.parsers.pieces import texts


@given(texts)
def test_a_yes_or_no_that_is_read_was_said(text: str) -> None:
    read = yes_no.parse(text).lenient
    assert read is None or ("y" if read else "n") in fold(text)
