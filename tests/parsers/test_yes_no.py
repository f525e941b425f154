"""Tests of `eyechart.parsers.yes_no`."""

from hypothesis import given
from hypothesis import strategies as st

from eyechart.parsers import yes_no
from eyechart.parsers.text import fold
from tests.parsers.pieces import PIECES

made = st.lists(st.sampled_from(PIECES), max_size=12).flatmap(
    lambda parts: st.sampled_from((" ", "")).map(lambda by: by.join(parts))
)
anything = st.text(max_size=60)
texts = made | anything


@given(texts)
def test_a_yes_or_no_that_is_read_was_said(text: str) -> None:
    read = yes_no.parse(text).lenient
    assert read is None or ("y" if read else "n") in fold(text)
