"""Figures are drawn by their names, as SVG that parses and is the same every time."""

import sys
from xml.etree import ElementTree

import pytest

from eyechart import load_run
from eyechart.errors import ReportError
from eyechart.reports.figures.registry import draw, draw_main_metrics, figure_drawers
from eyechart.reports.page.case_rows import first_metric
from eyechart.reports.runs import load
from eyechart.reports.tables.registry import table_builders


@pytest.mark.deep
def test_a_figure_is_the_same_every_time(run_folder, tmp_path):
    one, two = (draw("F3", load([run_folder]), "ReGT", tmp_path / f"{name}.svg", tmp_path) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.deep
@pytest.mark.parametrize("file", ["", "records.json"])
def test_a_figure_goes_beside_the_run_if_nothing_is_said(run_folder, file):
    run = load_run(run_folder / file)
    assert run.folder == run_folder
    assert run.figure("f3") == run_folder / "reports" / "label-change.svg"


@pytest.mark.deep
def test_a_name_is_no_mathematics_and_no_markup(make_run, tmp_path):
    folder = make_run(models={"hf[$x^2$<b>]": ("supervised", [0] * 18)})
    path = draw("F3", load([folder]), "ReGT", tmp_path / "f.svg", tmp_path)
    assert any("hf[$x^2$<b>]" in (text.text or "") for text in ElementTree.parse(path).iter())


@pytest.mark.deep
def test_an_unknown_figure_gets_the_nearest(run_folder, tmp_path):
    with pytest.raises(ReportError, match=r"no figure 'F33'; did you mean F3"):
        draw("F33", load([run_folder]), None, None, tmp_path)


@pytest.mark.deep
def test_every_figure_is_a_table_too():
    assert {*figure_drawers()} <= {*table_builders()}


@pytest.mark.deep
def test_a_table_asked_for_as_a_figure_is_named_with_its_command(run_folder, tmp_path):
    with pytest.raises(ReportError) as raised:
        draw("realbirdid-t2", load([run_folder]), None, None, tmp_path)
    command = "eyechart table realbirdid-summary RUN…"
    assert str(raised.value) == f"realbirdid-summary is a table, not a figure. Print it with: {command}"


@pytest.mark.deep
def test_without_matplotlib_the_remedy_is_named(run_folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ReportError, match=r"pip install 'eyechart\[figures\]'"):
        draw("F3", load([run_folder]), None, None, tmp_path)


@pytest.mark.deep
def test_the_main_metric_of_each_case_is_a_point_on_its_interval(run_folder):
    runs = load([run_folder])
    (group,) = runs.groups
    (ax,) = draw_main_metrics(runs).axes
    found = [first_metric(case) for case in group.cases]
    assert [(*line.get_xdata(), *line.get_ydata()) for line in ax.lines] == [
        (metric.value, index) for index, metric in enumerate(found)
    ]
    intervals = [lines.get_segments()[0][:, 0].tolist() for lines in ax.collections]
    assert intervals == [[*metric.ci] for metric in found]
    names = ["".join(label.get_text().split("\n")) for label in ax.get_yticklabels()]
    assert [name.partition(",")[0] for name in names] == [case.model.partition(",")[0] for case in group.cases]
    assert len({metric.value for metric in found}) > 1
