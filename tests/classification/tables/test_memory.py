"""`memory`: the published draw of mcq beside its redraws, and what the option `redraw` changes."""

from typing import Any

import pytest

from eyechart.classification.protocols.mcq import draw_mill_options
from eyechart.reports.runs import EmptyTableError, load
from eyechart.reports.tables.registry import tables

WRONG, SIZE = 999, 60
TRUTHS = tuple((index, (index,), None) for index in range(SIZE))


@pytest.fixture
def drawn(make_run: Any) -> Any:
    """A run of a model under one draw, which makes it wrong about some of the images."""

    def drawn(redraw: int, wrong: Any) -> Any:
        answers = [WRONG if index in wrong else index for index in range(SIZE)]
        variant = {"prompt": "mill_mcq (0)"} | ({"redraw": str(redraw)} if redraw else {})
        models = {"conse[a]": ("zero_shot", answers)}
        return make_run(f"run{redraw}", models=models, truths=TRUTHS, labels=("ImGT",), variant=variant)

    return drawn


def test_a_learnt_draw_is_found_and_measured(drawn: Any) -> None:
    folders = [drawn(0, range(6)), *(drawn(redraw, range(18)) for redraw in (1, 2))]
    (table,) = tables("memory", load(folders))
    _, _, count, published, redrawn, change, p, learnt, detectable = table.rows[0]
    assert (count, published.value, round(redrawn.value, 9), published.n) == (2, 0.9, 0.7, SIZE)
    assert change.ci[0] < round(change.value, 9) == 0.2 < change.ci[1]
    assert p.value < 0.001
    assert learnt.value == pytest.approx(0.2 / 0.3)
    assert 0 < detectable.value < learnt.value


def test_without_the_published_draw_there_is_no_table(drawn: Any) -> None:
    with pytest.raises(EmptyTableError, match="compares the published draw of mcq with redraws of it"):
        tables("memory", load([drawn(1, ()), drawn(2, ())]))


def test_a_redraw_has_other_options_in_another_order_and_the_same_truth() -> None:
    published, first, second = (draw_mill_options("s0000000", 0, 1000, redraw=redraw) for redraw in (0, 1, 2))
    assert published.classes == draw_mill_options("s0000000", 0, 1000).classes
    assert len({published.classes, first.classes, second.classes}) == 3
    assert published.correct == first.correct == second.correct == (0,)
