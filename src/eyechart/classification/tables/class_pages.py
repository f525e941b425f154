"""Pages of classification tables: cases over the same images, under a label set and the original labels."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from eyechart.classification.tables.best_variant import best_variants
from eyechart.errors import ReportError
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.render import NumberFormat
from eyechart.reports.tables.selection import Page, create_page
from eyechart.results.frames import (
    change,
    count_changes,
    count_hits,
    samples_frame,
    share,
    with_change_interval,
    with_wilson,
)
from eyechart.statistics import categories
from eyechart.statistics.intervals import t_interval

SYMBOLS = {  # the paper's symbols of label categories, which are heads of columns
    "A": categories.ALL,
    "S": categories.SINGLE_LABEL,
    "S+": categories.SINGLE_LABEL_ORIGINAL,
    "S-": categories.SINGLE_LABEL_OTHER,
    "M": categories.MULTI_LABEL,
    "M+": categories.MULTI_LABEL_ORIGINAL,
    "M-": categories.MULTI_LABEL_OTHER,
    "N": categories.NO_LABEL,
}
CATEGORIES = (*SYMBOLS,)
LABELLED = CATEGORIES[:-1]  # of images with labels
SCORES = ("before", "correct", "out_of_prompt")  # columns of answers: 1, 0 or NaN
DELTA = " Δ"  # ends the head of a column of changes
OUT_OF_PROMPT_FORMATS = {"OOP": NumberFormat(1, 0), "OOP Δ": NumberFormat(1, 0, signed=True)}
CATEGORY_NOTE = (
    "S: one label; M: several; N: none. In S+ and M+ the original label is among them, in S- and M- it is not."
)
PAPER = "arXiv 2603.06578"
WILSON = "Brackets: 95 % intervals, Wilson."
INTERVALS = "Brackets: 95 % intervals, Wilson for shares, Bonett and Price for Δ, whose images are paired."


def second_label_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page for every group and label set besides the original labels, with the best variant of each model."""
    selected = [
        (best_variants(group, second), second)
        for group, names in runs.select_labels(labels)
        for second in names
        if second != group.reference
    ]
    return [
        create_page(group.select(cases), second)
        for group, second in selected
        if (cases := group.scored_under(group.reference, second))
    ]


def closed_world_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return the closed-world cases of every group and label set, fewest answers out of the prompt first."""
    pages = []
    for group, label_set in runs.iter_labels(labels):
        if cases := group.with_protocols("closed_world").scored_under(label_set):
            samples = out_of_prompt(create_page(group.select(cases), label_set, with_task=False))
            order = samples.groupby("row")["out_of_prompt"].mean().fillna(0).sort_values(kind="stable").index
            pages.append(create_page(group.select(cases[row] for row in order), label_set, with_task=False))
    return pages


def label_samples(page: Page, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return the answers of a page: `row`, their score under both label sets, and further columns.

    `before` is 1 or 0 under the reference, `correct` under the page's labels; `category` is the image's under the
    page's labels.
    """
    read = [f"{page.reference}.correct", f"{page.labels}.correct", f"{page.labels}.category", *columns]
    samples = page.samples([*dict.fromkeys(read)])
    scores = {
        "before": samples[f"{page.reference}.correct"],
        "correct": samples[f"{page.labels}.correct"],
        "category": samples[f"{page.labels}.category"],
    }
    return samples[["row", *columns]].assign(**scores)


def out_of_prompt(page: Page, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return the answers of a page with `out_of_prompt`: 1, 0, or NaN without an answer; images with labels alone.

    `kind` is the kind of an answer out of the prompt, "" for others.
    """
    read = ["out_of_prompt", "error", "request", *columns]
    samples = label_samples(page, read).rename(columns={"out_of_prompt": "kind"})
    answered = (samples["error"] == "") & (samples["request"] != "")
    outside = (samples["kind"] != "").astype(float)
    return samples.assign(out_of_prompt=outside.where(answered & samples["category"].notna()))


def share_by_category(
    samples: pd.DataFrame,
    column: str,
    symbols: Sequence[str] = CATEGORIES,
    head: str = "column",
    by: Sequence[str] = ("row",),
) -> pd.DataFrame:
    """Return the mean of 0s and 1s per case and label category, with n and Wilson's interval; see `_sum_categories`."""
    return with_wilson(_sum_categories(count_hits(samples, column, [*by, "category"]), symbols, head))


def _sum_categories(groups: pd.DataFrame, symbols: Sequence[str], head: str = "column") -> pd.DataFrame:
    """Return counts by the finest categories as counts by some categories, whose symbols are in the column `head`.

    S is S+ and S- together, M the same, A every image with labels. A category without images has n = 0.
    """
    counts = [name for name in ("hits", "gained", "lost", "n") if name in groups]
    by = [name for name in groups if name not in (*counts, "category")]
    leaves = groups["category"].astype(str).to_list()
    members = [np.flatnonzero(in_category(leaves, symbol)) for symbol in symbols]
    indices = np.repeat(np.arange(len(symbols)), [len(rows) for rows in members])
    sums = (
        groups.iloc[np.concatenate(members)].assign(**{head: indices}).groupby([head, *by])[counts].sum().reset_index()
    )
    return sums[[*by, *counts]].assign(**{head: np.array(symbols, dtype=object)[sums[head]]})


def symbol_of(category: str) -> str:
    """Return the paper's symbol of a label category.

    >>> symbol_of("single_label_other")
    'S-'
    """
    return next((symbol for symbol, name in SYMBOLS.items() if name == category), category)


def in_category(leaves: Iterable[str], symbol: str) -> list[bool]:
    """Return whether each of the finest categories is part of a category, which its symbol names.

    >>> in_category(["single_label_other", "multi_label_other"], "S"), in_category(["no_label"], "A")
    ([True, False], [True])
    """
    return [symbol == "A" or leaf.startswith(SYMBOLS[symbol]) for leaf in leaves]


def accuracy_columns(page: Page, symbols: Sequence[str] = LABELLED) -> tuple[str, ...]:
    """Return the columns of most tables: accuracy under the original labels, then under the page's by category."""
    return page.reference, *([] if page.labels == page.reference else symbols)


def accuracy_cells(
    page: Page, samples: pd.DataFrame, symbols: Sequence[str] = LABELLED, by: Sequence[str] = ("row",)
) -> pd.DataFrame:
    """Return the cells of `accuracy_columns`, for each value of the columns `by`."""
    cells = [share(samples, "before", by).assign(column=page.reference)]
    if page.labels != page.reference:
        cells.append(share_by_category(samples, "correct", symbols, by=by))
    return pd.concat(cells, ignore_index=True)


def accuracy_changes(page: Page, samples: pd.DataFrame, symbols: Sequence[str] = LABELLED) -> pd.DataFrame:
    """Return the cells of `accuracy_columns` with a Δ: the changes from the base of each row; see `with_base`."""
    cells = [change(samples, "before_base", "before", ["row"]).assign(column=page.reference)]
    if page.labels != page.reference:
        groups = count_changes(samples, "correct_base", "correct", ["row", "category"])
        cells.append(with_change_interval(_sum_categories(groups, symbols)))
    return pd.concat(cells, ignore_index=True).assign(column=lambda frame: frame["column"] + DELTA)


def mean_over_epochs(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each `row` and `column` over its epochs with Student's interval; of one epoch, that number.

    n is the smallest of the epochs, since errors leave images out.
    """
    by = ["row", "column"]
    single = shares.groupby(by)["value"].transform("size") == 1
    several = shares[~single].groupby(by, sort=False)
    means = several.agg(value=("value", "mean"), n=("n", "min")).reset_index()
    low, high = np.array([t_interval(values) for _, values in several["value"]], np.float64).reshape(-1, 2).T
    return pd.concat([shares[single], means.assign(low=low, high=high, half_width=True)], ignore_index=True)


def label_outcomes(page: Page, labels: str, originals: int = -1) -> pd.DataFrame:
    """Return the answers of the cases that were scored under a label set.

    The columns are `row`, `key`, `label` (the original class, "" for none), and of the label set `labels` (classes
    separated by ;), `category` and `correct`. In the row `originals` the original labels are the predictions: they are
    correct exactly where they are among the new labels, S+ and M+.
    """
    rows = [row for row, case in enumerate(page.cases) if labels in case.labels]
    heads = {f"{labels}.{name}": name for name in ("labels", "category", "correct")}
    samples = samples_frame([page.cases[row] for row in rows], ["key", "label", *heads])
    outcomes = samples[["key", "label", *heads]].rename(columns=heads).assign(row=np.array(rows)[samples["row"]])
    if originals not in rows:
        return outcomes
    empty = {"correct": 1.0, "wrong": 0.0}.get(page.cases[originals].empty_label_rules.get(labels, ""), np.nan)
    agrees = outcomes["category"].isin([categories.SINGLE_LABEL_ORIGINAL, categories.MULTI_LABEL_ORIGINAL])
    correct = agrees.astype(float).where(outcomes["category"] != categories.NO_LABEL, empty)
    scored = outcomes["category"].notna() & (outcomes["label"] != "")
    replaced = outcomes["row"] == originals
    return outcomes.assign(correct=outcomes["correct"].mask(replaced, correct.where(scored)))


def single_labels(outcomes: pd.DataFrame) -> pd.Series:
    """Return the class of each image with a single label, else -1, from the columns of `label_outcomes`.

    An image whose several labels are one group of equivalent classes has a single label: the smallest of them.
    """
    smallest = {text: min(map(int, filter(None, text.split(";"))), default=-1) for text in outcomes["labels"].unique()}
    is_single = outcomes["category"].astype(str).str.startswith(categories.SINGLE_LABEL)
    return outcomes["labels"].map(smallest).where(is_single, -1).astype("int64")


def with_blocks(page: Page, blocks: Iterable[Hashable], is_base: Iterable[bool]) -> Page:
    """Return the page with two more columns in `names`: `block`, and `base`, the row that a row is compared with.

    The rows of a block cover the same images. The base is the first row of the block for which `is_base` is true; it is
    NaN for this row, and for all rows of a block without one.
    """
    rows, block = page.names.index.to_series(), pd.factorize(pd.Series([*blocks], dtype=object))[0]
    base = rows.where([*is_base]).groupby(block).transform("first")
    return replace(page, names=page.names.assign(block=block, base=base.where(base != rows)))


def cover_blocks(page: Page, samples: pd.DataFrame) -> pd.DataFrame:
    """Return answers whose scores are NaN unless both label sets score the image in all rows of the block.

    `samples` has the column `key`; see `with_blocks`. Raises ReportError unless the rows are about the same images.
    """
    check_same_images(page.cases, samples)
    scored = samples[["before", "correct"]].notna().all(axis=1)
    covered = scored.groupby([samples["row"].map(page.names["block"]), samples["key"]]).transform("all")
    return samples.assign(**{name: samples[name].where(covered) for name in SCORES if name in samples})


def with_base(page: Page, samples: pd.DataFrame) -> pd.DataFrame:
    """Return the answers of the rows that have a base, with the scores of the base: `correct_base` and so on."""
    scores = [name for name in SCORES if name in samples]
    base = samples[["row", "key", *scores]].rename(columns={"row": "base", **{name: f"{name}_base" for name in scores}})
    compared = samples.assign(base=samples["row"].map(page.names["base"])).dropna(subset="base")
    return compared.astype({"base": "int64"}).merge(base, on=["base", "key"], validate="many_to_one")


def check_same_images(cases: Sequence[CaseRun], samples: pd.DataFrame) -> None:
    """Raise ReportError unless the answers of all cases are about the same images in the same order."""
    images = dict(iter(samples.groupby("row")["key"]))
    for row, case in enumerate(cases):
        if not np.array_equal(images[row], images[0]):
            raise ReportError(f"{case.folder}: the answers to {case.record.case} are not about the same images.")


def as_counts(cells: pd.DataFrame) -> pd.DataFrame:
    """Return shares and their intervals as numbers of images."""
    return cells.assign(**{name: cells[name] * cells["n"] for name in ("value", "low", "high")})


def coverage_note(page: Page) -> str:
    """Return the sentence that says which images the columns of a page cover."""
    return describe_coverage((page.reference, page.labels))


def block_coverage_note(page: Page) -> str:
    """Return the sentence that says which images the rows of a model cover; see `cover_blocks`."""
    return f"{coverage_note(page)} The rows of one model cover the images that all of them have an answer to."


def describe_coverage(label_sets: Collection[str], columns: str = "All columns") -> str:
    """Return the sentence that says which images some columns cover."""
    names = [*dict.fromkeys(label_sets)]
    quantifier = "both" if len(names) == 2 else "all"
    if len(names) == 1:
        return f"{columns} are over the images that {names[0]} scores."
    return f"{columns} are over the images that {', '.join(names[:-1])} and {names[-1]} {quantifier} score."
