"""The table of label categories over 50,000 images and ten models, beside a script of plain pandas over its files."""

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables

from .page import IMAGES, MODELS, run
from .paired import ratio

TABLE = "label-categories"
COLUMNS = ["ImGT.correct", "ReGT.correct", "ReGT.category"]


def facts(pairs: int) -> Iterator[str]:
    """The time of the script over that of the table."""
    with tempfile.TemporaryDirectory() as folder:
        made = run(Path(folder) / "run", 0.0)
        median, low, high = ratio(lambda: tables(TABLE, load([made])), lambda: group_files(made), pairs)
    yield f"{TABLE} of {IMAGES:,} x {MODELS}, plain pandas over ours: {median:.2f} ({low:.2f}–{high:.2f})"


def group_files(folder: Path) -> list[pd.DataFrame]:
    """Return means and numbers by model and category, without intervals, ranks, names or checks."""
    frames = []
    for path in sorted((folder / "predictions").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file))
        frames.append(pd.read_csv(path, usecols=[name for name in header if name in COLUMNS]).assign(model=path.stem))
    samples = pd.concat(frames).dropna()
    samples["change"] = samples["ReGT.correct"] - samples["ImGT.correct"]
    samples["both"] = samples["ReGT.correct"] * samples["ImGT.correct"]
    values = ["ImGT.correct", "ReGT.correct", "change", "both"]
    coarse = samples.assign(category=samples["ReGT.category"].str[0])
    return [samples.groupby(by)[values].agg(["mean", "count"]) for by in ("model", ["model", "ReGT.category"])] + [
        coarse.groupby(["model", "category"])[values].agg(["mean", "count"])
    ]
