"""Tests of `eyechart.oodbench.figures.division_charts`."""

from functools import partial

import pytest

from eyechart.reports.figures.registry import draw
from tests.oodbench.division_answers import answered, divided


@pytest.fixture
def asked(bench):
    """Two models asked about one division."""
    for model, name in enumerate(("hf[a]", "hf[b]")):
        bench.case("existence", name, rows=answered(model), files={"division": divided()}, detectors="clip+blip2")
    return bench


@pytest.fixture
def drawn(asked, drawing):
    """Draw a figure and give its texts."""
    return partial(drawing, asked.pool())


@pytest.mark.parametrize(("name", "texts"), [
    ("oodbench-F2", {"dog", "cat", "OOD-S", "OOD-H", "oodbench/coco, clip+blip2: 4 pairs"}),
    ("oodbench-F8", {"dog", "cat", "éclair", "OOD-S'", "OOD-H'", "oodbench/coco, clip+blip2: 6 pairs"}),
    ("oodbench-F6", {"hf[a]", "hf[b]", "66.67", "33.33", "oodbench/coco, n=3 pairs"}),
])  # fmt: skip
def test_the_figures_have_what_the_tables_have(drawn, name, texts):
    assert texts <= {*drawn(name)}


@pytest.mark.deep
def test_categories_after_the_eightieth_share_a_bar(bench, tmp_path):
    rows = [divided()[1] | {"name": f"thing {number}"} for number in range(100)]
    bench.case("existence", files={"division": rows})
    text = draw("oodbench-F2", bench.pool(), None, tmp_path / "f.svg", tmp_path).read_text(encoding="utf-8")
    assert "20 more" in text
    assert text.count(">thing ") == 80
