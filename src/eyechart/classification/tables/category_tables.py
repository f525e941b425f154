"""Accuracy by label category: Tables 2 and 4 and Figure 3 of arXiv 2603.06578."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from eyechart.classification.tables.class_pages import (
    CATEGORIES,
    CATEGORY_NOTE,
    INTERVALS,
    PAPER,
    coverage_note,
    in_category,
    label_samples,
    second_label_pages,
    share_by_category,
)
from eyechart.reports.figures.charts import FigureDefinition, label_rows
from eyechart.reports.figures.panels import format_counts
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import CHANGE, one_line
from eyechart.reports.tables.selection import Page, create_page
from eyechart.results.frames import change, share, with_wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEFORE, CHANGED, BOTH = "before", "Δ", "both"
NEEDS = "compares a second label set with the original labels, over answers from all classes"
COMMAND = "pytest -k imagenet --eye-labels=ReaL=FILE"


FAMILY = "Family"
LANGUAGE_MODELS, ENCODERS, CLASSIFIERS, REPLAYED = "MLLMs", "VLMs", "Supervised models", "Replayed answers"
FAMILIES = {  # by protocol
    "zero_shot": ENCODERS,
    "supervised": CLASSIFIERS,
    "knn": CLASSIFIERS,
    "linear_probe": CLASSIFIERS,
    "replay": REPLAYED,
}


def _family_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return the pages of a second label set with the family of each model, the blocks of Table 4.

    A k-NN classifier is among the supervised models, since it has the labels of a training set.
    """
    pages = second_label_pages(runs, labels)
    families = [[FAMILIES.get(case.record.protocol, LANGUAGE_MODELS) for case in page.cases] for page in pages]
    return [
        replace(page, names=page.names.assign(**{FAMILY: names})) for page, names in zip(pages, families, strict=True)
    ]


def _label_category_cells(page: Page) -> pd.DataFrame:
    """Return the accuracy under the reference, under the page's labels by category, the change, and under both."""
    samples = label_samples(page).dropna(subset=["before", "correct"])
    samples["joint"] = samples["before"] * samples["correct"]
    cells = [
        share(samples, "before", ["row"]).assign(column=page.reference),
        share_by_category(samples, "correct"),
        change(samples, "before", "correct", ["row"]).assign(column=CHANGED),
        share(samples, "joint", ["row"]).assign(column=BOTH),
    ]
    return pd.concat(cells, ignore_index=True)


LABEL_CATEGORIES = TableDefinition(
    name="label-categories",
    alias="T4",
    source=PAPER,
    summary="Accuracy under the original labels and under new ones by label category, with ranks and the change.",
    pages=_family_pages,
    needs=NEEDS,
    command=COMMAND,
    title="{page}: accuracy (%) on label categories{both}",
    cells=_label_category_cells,
    rows=(FAMILY, "Model", "Protocol"),
    sections=FAMILY,
    section_order=(LANGUAGE_MODELS, ENCODERS, CLASSIFIERS, REPLAYED),
    columns=("{reference}", "A", CHANGED, *CATEGORIES[1:], BOTH),
    heads={BOTH: "{reference} ∩ {labels}"},
    notes=(
        "{reference}: the labels of the data set. A to N: label categories of {labels}.",
        CATEGORY_NOTE,
        coverage_note,
        INTERVALS + " Parentheses: rank, 1 for the highest; equal values share one.",
    ),
    ranked=("{reference}", *CATEGORIES[:-1]),
)


def _label_change_cells(page: Page) -> pd.DataFrame:
    cells = _label_category_cells(page).replace({"column": {page.reference: BEFORE, "A": "after"}})
    return cells[cells["column"].isin([BEFORE, "after", CHANGED])]


LABEL_CHANGE = replace(
    LABEL_CATEGORIES,
    name="label-change",
    alias="F3",
    summary="Accuracy under the original labels and under new ones, and the change.",
    pages=second_label_pages,
    rows=("Model", "Protocol"),
    sections="",
    section_order=(),
    title="{page}: accuracy (%), change from {reference} to {labels}",
    cells=_label_change_cells,
    columns=(BEFORE, "after", CHANGED),
    heads={BEFORE: "{reference}", "after": "{labels}"},
    ranked=(),
    notes=(coverage_note, INTERVALS),
)


def _draw_arrows(ax: "Axes", page: Page, frame: pd.DataFrame) -> None:
    """Draw for each model an arrow from its accuracy under the original labels to that under the new ones."""
    cells = frame.set_index(["column", "row"])
    rows = cells.loc[CHANGED].dropna(subset="value").index
    for index, row in enumerate(rows):
        before, after = (100 * cells["value"][name, row] for name in (BEFORE, "after"))
        low, high = 100 * cells.loc[("after", row), ["low", "high"]].astype(float)
        ax.hlines(index, low, high, color="tab:blue", alpha=0.2, linewidth=6)
        ax.plot(before, index, "o", color="tab:gray", markersize=4)
        ax.annotate("", (after, index), (before, index), arrowprops={"arrowstyle": "->", "color": "tab:blue"})
        ax.annotate(CHANGE(cells["value"][CHANGED, row]), (max(before, after), index), (6, 5),
                    textcoords="offset points", fontsize=8)  # fmt: skip
    label_rows(ax, [f"{model}, {protocol}" for model, protocol in page.names.loc[rows].itertuples(index=False)])
    ax.set_xlim(0, 112)
    what = f"{one_line(page.reference)} → {one_line(page.labels)}"
    ax.set_xlabel(f"accuracy (%), {what}, with the 95 % interval", fontsize=8)
    sizes = sorted(cells.loc["after"].loc[rows, "n"].astype(int).unique())
    ax.set_title(f"{one_line(page.title)}, {format_counts(sizes)}", fontsize=9)


LABEL_CHANGES = FigureDefinition(
    summary="For each model an arrow from its accuracy under the original labels to that under the new ones.",
    table=LABEL_CHANGE,
    draw=_draw_arrows,
    height=lambda page: 0.4 * len(page.cases) + 1.2,
)


def _category_size_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page for every group with cases that were scored under a label set, with all of its label sets."""
    selected = runs.select_labels(labels) if labels else [(group, group.labels) for group in runs.groups]
    pages = []
    for group, names in selected:
        scored = {name: cases[0] for name in names if (cases := group.scored_under(name))}
        if scored:
            page = create_page(group, "")
            pages.append(replace(page, cases=tuple(scored.values()), names=pd.DataFrame({"Labels": [*scored]})))
    return pages


def _category_size_cells(page: Page) -> pd.DataFrame:
    parts = []
    for row, labels in enumerate(page.names["Labels"]):
        categories = page.cases[row].samples([f"{labels}.category"])[f"{labels}.category"].dropna()
        sizes = categories.value_counts()
        hits = [int(sizes[in_category(sizes.index, symbol)].sum()) for symbol in CATEGORIES]
        counts = pd.DataFrame({"row": row, "column": CATEGORIES, "hits": hits})
        parts.append(counts.rename(columns={"hits": "count"}).assign(**{"": "#"}))
        parts.append(with_wilson(counts.assign(n=len(categories))).drop(columns="n").assign(**{"": "%"}))
    return pd.concat(parts, ignore_index=True)


CATEGORY_SIZES = TableDefinition(
    name="category-sizes",
    alias="T2",
    source=PAPER,
    summary="The number of images of each label category under every label set.",
    pages=_category_size_pages,
    needs="counts images by label category",
    command="pytest -k imagenet",
    title="{page}: images per label category",
    cells=_category_size_cells,
    rows=("Labels", ""),
    columns=CATEGORIES,
    notes=("Shares of the images that the label set annotates. Brackets: 95 % Wilson intervals.",),
)
