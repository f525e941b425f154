"""The image–category pairs of OODBench and their answers, as frames."""

from hashlib import sha256

import numpy as np
import pandas as pd

from eyechart.errors import ReportError
from eyechart.oodbench.division.pairs import OOD_H, OOD_S, SETS
from eyechart.reports.runs import CaseRun
from eyechart.reports.tables.selection import Page

INITIAL = "'"  # marks a set of the initial benchmark: everything that was flagged, before downsampling
OOD_SETS = (OOD_S, OOD_H)
INITIAL_SETS = (OOD_S + INITIAL, OOD_H + INITIAL)
SET_TYPE = pd.CategoricalDtype([*SETS, *INITIAL_SETS], ordered=True)
CONFUSION = ["tp", "fp", "fn", "tn"]
RATE_COUNTS = ["yes", "unparsed", "answers"]
COUNTS = [*CONFUSION, *RATE_COUNTS]
PAIR = ["pair", "key", "category", "subset", "main", "present"]
CELLS = {  # the texts that a column may have
    "question": ("positive", "negative"),
    "target": ("yes", "no"),
    "prediction": ("yes", "no", ""),
    "main": ("0", "1"),
    "present": ("0", "1"),
}


def read_pairs(case: CaseRun) -> pd.DataFrame:
    """Return the pairs of a case of existence, one row each, sorted by image and category.

    Columns: `pair` (its number in the division), `key`, `image` (a number), `category` (its index), `subset`; `main`:
    of the main benchmark; `present`: the category is in the image; `tp`, `fp`, `fn`, `tn`, `yes`, `unparsed` and
    `answers`: how many of the two answers are such; `answered`: both questions have an answer.
    Raises ReportError for cells that no run writes.
    """
    samples = case.samples([*PAIR, "question", "target", "prediction", "correct"])
    _check_cells(case, samples)
    wanted, right = samples["target"] == "yes", samples["correct"]
    outcomes = {
        "tp": wanted & (right == 1), "fp": ~wanted & (right == 0), "fn": wanted & (right == 0),
        "tn": ~wanted & (right == 1), "yes": right.notna() & (samples["prediction"] == "yes"),
        "unparsed": right.notna() & (samples["prediction"] == ""), "answers": right.notna(),
    }  # fmt: skip
    numbers = {"pair": samples["pair"].astype(np.int64), "category": samples["category"].astype(np.int64)}
    samples = samples[PAIR].assign(**numbers, **outcomes)
    counts = samples.groupby("pair")[COUNTS].sum()
    pairs = samples[PAIR].drop_duplicates("pair").sort_values("pair").join(counts, on="pair")
    return pairs.assign(
        image=pd.factorize(pairs["key"])[0], main=pairs["main"] == "1", present=pairs["present"] == "1",
        answered=pairs["answers"] == len(CELLS["question"]),
    ).sort_values(["key", "category"], kind="stable", ignore_index=True)  # fmt: skip


def _check_cells(case: CaseRun, samples: pd.DataFrame) -> None:
    """Raise ReportError for cells that no run writes, and for a question that was asked twice."""
    known = {name: samples[name].isin(texts) for name, texts in CELLS.items()}
    known |= {name: samples[name].str.fullmatch("[0-9]+") for name in ("pair", "category")}
    problems = [
        f"{name} {samples.loc[~valid, name].iloc[0]!r} in row {int(np.argmin(valid)) + 2}"
        for name, valid in known.items()
        if not valid.all()
    ]
    if samples.duplicated(["pair", "question"]).any():
        problems.append("a question was asked twice")
    if problems:
        file = case.record.predictions
        path = case.folder / file.path if file else case.folder
        raise ReportError(f"{path} cannot be read as answers ({problems[0]}). Run the case again.")


def pairs_sha256(case: CaseRun) -> str:
    """Return the sha256 of the pairs of the main benchmark; cases with the same hash have the same pairs."""
    pairs = case.compute(read_pairs)
    pairs = pairs[pairs["main"] & pairs["subset"].isin(SETS)]
    numbers = pairs["category"].astype(str) + " " + pairs["present"].astype(str)
    rows = pairs["subset"] + " " + numbers + " " + pairs["key"]
    return sha256("\n".join(sorted(rows)).encode()).hexdigest()


def page_pairs(page: Page) -> pd.DataFrame:
    """Return the pairs of a page of existence cases, set by set; see `read_pairs`.

    `row` is the first row of the cases that are pooled, `data` the row of the case, and `set` the name of the set, such
    as OOD-S of the main benchmark or OOD-S' of the initial one, which contains it and is there if all pooled cases
    asked about it.
    """
    parts = [case.compute(read_pairs).assign(data=row) for row, case in enumerate(page.cases)]
    pairs = pd.concat(parts, ignore_index=True)
    pairs["row"] = page.names["Pooled"].loc[pairs["data"]].to_numpy()
    initial = pd.Series([case.option("division_scope") == "initial" for case in page.cases])
    whole = initial.groupby(page.names["Pooled"].loc[initial.index]).all()
    flagged = pairs[pairs["row"].map(whole) & pairs["subset"].isin(OOD_SETS)]
    every = [
        pairs[pairs["main"] & pairs["subset"].isin(SETS)].assign(set=pairs["subset"]),
        flagged.assign(set=flagged["subset"] + INITIAL),
    ]
    return pd.concat(every, ignore_index=True).astype({"set": SET_TYPE})
