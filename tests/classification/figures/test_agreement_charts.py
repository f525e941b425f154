"""The figures are SVG that parses, holds the tables' numbers, and is the same every time."""

import sys
from xml.etree import ElementTree

import pytest

from eyechart import load_run
from eyechart.errors import ReportError
from eyechart.reports.figures.registry import draw, figure_drawers
from eyechart.reports.runs import load
from eyechart.reports.tables.registry import table_builders

pytestmark = pytest.mark.deep


@pytest.fixture
def drawn(run_folder, tmp_path):
    """Draw a figure of the run, and give its texts."""

    def drawn(name, labels="ReGT", out="figure.svg"):
        path = draw(name, load([run_folder]), labels, tmp_path / out, tmp_path)
        return [text.text for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]

    return drawn


def test_figure_3_names_every_model_and_its_change(drawn):
    texts = drawn("F3")
    name = {"ViT-B-32/laion2b_s34b_b79k,", "zero_shot"}  # in two lines
    assert {"+29.4", "-23.5", "+5.9", *name, "imagenet/val, n=17"} <= {*texts}


def test_figure_9_has_both_matrices_with_every_entry(drawn):
    texts = drawn("F9")
    assert {"Spearman, recall per class", "phi, correctness", "ImGT", "-0.09", "[-0.79, 0.71]"} <= {*texts}
    assert texts.count("1.00") == 2 * 5


def test_a_figure_is_the_same_every_time(drawn, tmp_path):
    drawn("F3", out="one.svg")
    drawn("F3", out="two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_all_ground_truths_have_their_panels(drawn):
    assert len([text for text in drawn("F3", None) if text.startswith("imagenet/val, n=")]) == 2


@pytest.mark.parametrize("file", ["", "records.json"])
def test_a_figure_goes_beside_the_run_if_nothing_is_said(run_folder, file):
    run = load_run(run_folder / file)
    assert run.folder == run_folder
    assert run.figure("f3") == run_folder / "reports" / "label-change.svg"


def test_a_name_is_no_mathematics_and_no_markup(make_run, tmp_path):
    folder = make_run(models={"hf[$x^2$<b>]": ("supervised", [0] * 18)})
    path = draw("F3", load([folder]), "ReGT", tmp_path / "f.svg", tmp_path)
    assert any("hf[$x^2$<b>]" in (text.text or "") for text in ElementTree.parse(path).iter())


def test_an_unknown_figure_gets_the_nearest(run_folder, tmp_path):
    with pytest.raises(ReportError, match=r"no figure 'F33'; did you mean F3"):
        draw("F33", load([run_folder]), None, None, tmp_path)


def test_every_figure_is_a_table_too():
    assert {*figure_drawers()} <= {*table_builders()}


def test_a_table_asked_for_as_a_figure_is_named_with_its_command(run_folder, tmp_path):
    with pytest.raises(ReportError) as raised:
        draw("realbirdid-t2", load([run_folder]), None, None, tmp_path)
    command = "eyechart table realbirdid-summary RUN…"
    assert str(raised.value) == f"realbirdid-summary is a table, not a figure. Print it with: {command}"


def test_without_matplotlib_the_remedy_is_named(run_folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ReportError, match=r"pip install 'eyechart\[figures\]'"):
        draw("F3", load([run_folder]), None, None, tmp_path)
