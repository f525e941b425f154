"""Every figure can be read with long names of models: all texts are inside, large enough and apart."""

from pathlib import Path
from runpy import run_path

import pytest

from eyechart.reports.figures.registry import figure_drawers, matplotlib_defaults
from eyechart.reports.tables.registry import names_by_number

pytestmark = pytest.mark.deep

lay_out = run_path(str(Path(__file__).parents[2] / "layout.py"))["lay_out"]
ELSEWHERE = {"F7"}  # in tests/classification/tables/test_annotation_outcomes.py
BY_POOL = (
    ("worded", ("F3", "F9")),
    ("classified", ("F3", "F9")),
    ("asked", ("oodbench-F9", "oodbench-F10")),
    ("detected", ("oodbench-F13",)),
    ("paired", ("oodbench-F6",)),
    ("hard", tuple(f"oodbench-{name}" for name in ("F2", "F6", "F8", "F11", "F12", "F14", "F15", "F16"))),
    ("birds", tuple(name for name in figure_drawers() if name.startswith("realbirdid-"))),
)


def test_every_figure_is_drawn_here_or_elsewhere() -> None:
    listed = {name for _, names in BY_POOL for name in names} | ELSEWHERE
    assert {names_by_number().get(name, name) for name in listed} == {*figure_drawers()}


@pytest.mark.parametrize(("pool", "names"), BY_POOL)
def test_every_figure_can_be_read(
    pool: str, names: tuple[str, ...], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = request.getfixturevalue(pool)
    for name in names:
        with matplotlib_defaults():
            layout = lay_out(figure_drawers()[names_by_number().get(name, name)](runs, None), monkeypatch)
        assert (name, [*layout.problems()]) == (name, [])
