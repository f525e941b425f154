"""Batches: every missing picture once, and a resumed run's are those that a first run would have cut."""

from hypothesis import given
from hypothesis import strategies as st

from eyechart.answering import spans

sizes = st.integers(1, 7)
rows = st.sets(st.integers(0, 40)).map(sorted)


@given(rows, sizes)
def test_every_row_is_in_one_span(missing: list[int], size: int) -> None:
    assert [row for start, stop in spans(missing, size) for row in range(start, stop)] == missing


@given(rows, sizes)
def test_no_span_is_longer_than_a_batch_or_crosses_its_border(missing: list[int], size: int) -> None:
    for start, stop in spans(missing, size):
        assert start < stop
        assert start // size == (stop - 1) // size


@given(st.integers(0, 60), sizes, st.data())
def test_a_resumed_run_cuts_as_the_first_would_have(count: int, size: int, data: st.DataObject) -> None:
    whole = list(spans(range(count), size))
    kept = data.draw(st.sets(st.sampled_from(whole))) if whole else set()
    missing = [row for start, stop in whole if (start, stop) not in kept for row in range(start, stop)]
    assert list(spans(missing, size)) == [span for span in whole if span not in kept]
