"""Every table and figure of OODBench comes out of runs over the packaged pairs, in its layout."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from itertools import product
from typing import Any
from xml.etree import ElementTree

import pytest

from eyechart.oodbench.catalogue import FIGURES, TABLES
from eyechart.reports.figures.registry import draw
from eyechart.reports.runs import Runs
from eyechart.reports.tables.render import RENDERERS

pytestmark = pytest.mark.deep

MLLM, CLIPS = "hf[toybox-mllm]", ("open_clip[toybox-clip]", "open_clip[toybox-clip-b]")
Table = Callable[[str], list[dict[str, str]]]
Made = Callable[[str], Any]
MEASURES = ("Accuracy", "F1", "Precision", "Recall", "MCC")
EXISTENCE = ("Model", "Data Type", "Num", *MEASURES)
WITH_PARTS = ("Model", "Image Encoder", "Language Model", *EXISTENCE[1:])
RATES = ("Yes", "Unparsed")
SIZES = ("Data", "Category", "ID", "OOD-S", "OOD-H", "Hard Sample", "OOD")
SPREAD = ("Values", "Num", "5 %", "25 %", "50 %", "75 %", "95 %")
STAGES = ("E-Acc", "C-Acc", "L-Acc")
ABLATED = ("Data Type", "Num", *MEASURES)
FALLS = [f"{name} {what}" for name, what in product(MEASURES, "Δp")]
COLUMNS: Mapping[str, Sequence[str]] = {
    "F2": SIZES,
    "F6": ("Data Type", "Model", "Own", "Additional", "Covered"),
    "F8": [name + "'" * (name in ("OOD-S", "OOD-H")) for name in SIZES],
    "T8": (*EXISTENCE, "ID − Accuracy", "p"),
    "F11": ("Model", "ID − Hard", "ID − Hard p", "ID − OOD-H", "ID − OOD-H p"),
    "F12": ("Evidence", "Statistic", "Value", "Baseline", "p"),
    "F14": ("Detector", *SPREAD),
    "F15": ("Category", *SPREAD),
    "F16": ("Category", *SPREAD),
    "mmd": ("Encoder", "Data", "Reference", "MMD² · 10⁴", "τ · 10⁴", "UCI · 10⁴", "p", "UCI < τ", "Interval < τ",
            "Bandwidth"),
    "T3": ("Model", "Data", "Data Type", *STAGES),
    **{f"T{index}": ("Model", "Data Type", *STAGES, "Time") for index in (14, 15)},
    "T1": (*WITH_PARTS, *RATES),
    **{f"T{index}": (*WITH_PARTS, *RATES, "Time") for index in (10, 11)},
    "T18": EXISTENCE,
    "T2": ("Model", "Threshold T", *ABLATED),
    "T9": ("Model", "OOD Detectors", *ABLATED, "Time"),
    "F13": ("Model", "OOD Detectors", *ABLATED),
    "degradation": ("Model", "Data Type", "Num", *FALLS),
    "F9": ("Model", "Data Type", "Num", "Measure", "Δ", "Shuffled Δ", "p"),
    "signature": ("Model", "Data Type", "Num", "Measure", "Δ", "Band low", "Band high", "Δ lies"),
    "F10": ("Model", "Data Type", "Num", "Measure", "δ", "η", "Equivalent"),
}  # fmt: skip

OF_ONE_RUN = ("oodbench-F2", "oodbench-F8", "oodbench-F9")
# Those with a panel a category, or with many panels, which take long to draw; F9 has both data sets.
OF_ONE_SPLIT = ("oodbench-F10", "oodbench-F14", "oodbench-F15")


def test_every_table_is_looked_at() -> None:
    assert {f"oodbench-{name}" for name in COLUMNS} == {table.alias or table.name for table in TABLES} - {
        "oodbench-population",
        *(f"oodbench-T{index}" for index in (12, 13, 16, 17)),  # of nuScenes and Cityscapes: tables/every
    }


def test_every_figure_is_drawn() -> None:
    assert {f"oodbench-{name}" for name in COLUMNS if name.startswith("F")} == {figure.alias for figure in FIGURES}


def heads(text: str) -> list[list[str]]:
    """The columns of every table in Markdown, without the n that they share."""
    found = [line for line, rule in zip(text.splitlines(), text.splitlines()[1:], strict=False) if rule[:4] == "| --"]
    names = [[cell.strip().replace("\\", "") for cell in line.strip("| ").split(" | ")] for line in found]
    return [[name.partition(" (n=")[0] for name in each] for each in names]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_table_has_its_layout_and_no_title_twice(made: Made, name: str) -> None:
    text = RENDERERS["md"](made(name))
    titles = [line for line in text.splitlines() if line.startswith("### ")]
    first, *more = heads(text)
    assert first == [*COLUMNS[name]]
    assert all(each in (first, [column for column in first if column != "Hard Sample"]) for each in more)
    assert len({*titles}) == len(titles) == 1 + len(more)
    assert "brackets" in text.lower() or name in ("F2", "F8")


@pytest.mark.parametrize("name", COLUMNS)
def test_a_table_comes_as_csv_and_latex(made: Made, table: Table, name: str) -> None:
    rows = table(name)
    text = RENDERERS["tex"](made(name))
    floats = text.count(r"\end{table}") + text.count(r"\end{sidewaystable}")
    assert text.count(r"\toprule") >= floats == text.count(r"\caption{") > 0  # a float may hold several parts
    assert {*COLUMNS[name]} <= {*rows[0]}
    assert not any(None in row or None in row.values() for row in rows)


@pytest.mark.parametrize("name", [figure.alias for figure in FIGURES if figure.alias != "oodbench-F16"])  # as F15
def test_a_figure_is_drawn_of_whom_it_is_about(bench: Any, loaded: Callable[..., Runs], name: str) -> None:
    runs = ("all", "others", "detectors")
    chosen = runs[:1] if name in OF_ONE_RUN else runs[2:] if name == "oodbench-F13" else runs[:2]
    paths = bench.paths(*chosen)
    folders = [bench.part(run, "sample-coco") for run in chosen] if name in OF_ONE_SPLIT else paths
    path = draw(name, loaded(*folders), None, bench.folder / f"{name}.svg", bench.folder)
    texts = " ".join(each.text or "" for each in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text"))
    assert any(who in texts for who in (MLLM, "poor", "toybox-clip", "4 models"))
    assert any(size in texts for size in ("n=", " pairs", " of 31 hard samples"))


def test_the_reports_are_a_command(bench: Any) -> None:
    said = bench.call("eyechart", "table", "oodbench-T1", *bench.paths("others"))
    assert said == bench.report("table", "oodbench-T1", *bench.paths("others"))


def test_a_division_is_looked_for_in_training_texts(bench: Any) -> None:
    """Every image has a text; one model has read the names of all that is in it, the other of nothing."""
    bench.call("eyechart", "divide", "--offline", *(f"--detector={clip}" for clip in CLIPS), "--split=sample-coco")
    division = bench.folder / "divisions" / "sample-coco.json"
    pairs = json.loads(division.read_bytes())["pairs"]
    for model, named in {"all": True, "none": False}.items():
        said = [{"image": key, "text": category if named else "a picture"} for key, category, *_ in pairs]
        (bench.folder / f"{model}.json").write_text(json.dumps(said))
    given = [f"--corpus={model}={bench.folder / model}.json" for model in ("all", "none")]
    rows = list(csv.DictReader(StringIO(bench.report("divide", "overlap", str(division), *given, "--format", "csv"))))
    assert [row["Overlap (%)"] for row in rows if row["Model"]] == ["100.00", "0.00"]
