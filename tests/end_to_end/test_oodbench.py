"""Every table of OODBench comes out of runs over the packaged pairs, in its layout; figures: oodbench/figures."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from itertools import product
from typing import Any

import pytest

from eyechart.oodbench.catalogue import TABLES
from eyechart.reports.tables.render import RENDERERS

pytestmark = pytest.mark.deep

CLIPS = ("open_clip[toybox-clip]", "open_clip[toybox-clip-b]")
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


def test_every_table_is_looked_at() -> None:
    assert {f"oodbench-{name}" for name in COLUMNS} == {table.alias or table.name for table in TABLES} - {
        "oodbench-population",
        *(f"oodbench-T{index}" for index in (12, 13, 16, 17)),  # of nuScenes and Cityscapes: tables/every
    }


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
