"""Agreement of models, Figure 9 of arXiv 2603.06578: Spearman of per-class recall, phi of correctness."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import fill
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from eyechart.classification.tables.best_variant import best_variants
from eyechart.classification.tables.class_pages import PAPER, check_same_images, label_outcomes, single_labels
from eyechart.reports.figures.charts import CustomFigure, draw_matrix
from eyechart.reports.figures.panels import create_panels, format_counts, text_width, wrap_name
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import CORRELATION, format_cell, one_line
from eyechart.reports.tables.selection import Page, create_page
from eyechart.statistics.agreement import phi_matrix, spearman_matrix
from eyechart.statistics.categories import NO_LABEL
from eyechart.statistics.intervals import fisher_interval
from eyechart.statistics.recall import per_class_recall

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SPEARMAN, PHI = "Spearman, recall per class", "phi, correctness"

CELL, NAMES = 0.85, 7  # inches of a matrix entry, and points of the names beside it


def _agreement_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page of each coefficient for every group and label set with at least two rows.

    The original labels are the last row; under themselves they are left out.
    """
    pages = []
    for group, names in runs.select_labels(labels):
        for name in names:
            selected = best_variants(group, name)
            cases, with_originals = selected.scored_under(name), name != selected.reference
            if not cases or len(cases) + with_originals < 2:
                continue
            models, protocols = [case.model for case in cases], selected.protocol_names()
            rows = [e.model if models.count(e.model) == 1 else f"{e.model} ({protocols[id(e)]})" for e in cases]
            page = create_page(selected, name)
            page = replace(
                page,
                cases=(*cases, *cases[:with_originals]),
                names=pd.DataFrame({"model": [*rows, *[page.reference] * with_originals]}),
            )
            pages += [replace(page, context={**page.context, "coefficient": kind}) for kind in (SPEARMAN, PHI)]
    return pages


def _agreement_cells(page: Page) -> pd.DataFrame:
    """Return the coefficient of every two rows, with the number of classes or images that both have."""
    originals = len(page.cases) - 1 if page.labels != page.reference else -1
    outcomes = label_outcomes(page, page.labels, originals)
    check_same_images(page.cases, outcomes)
    correct = outcomes["correct"].to_numpy().reshape(len(page.cases), -1)
    first = outcomes[outcomes["row"] == 0]
    method: Literal["spearman", "pearson"]
    if page.context["coefficient"] == SPEARMAN:
        single = single_labels(first).to_numpy()
        classes = int(single.max(initial=-1)) + 1
        scores = np.array([per_class_recall(row, single, classes).values for row in correct])
        matrix, method = spearman_matrix(scores), "spearman"
    else:  # phi is Pearson's correlation of two binary vectors
        scores = correct[:, first["category"].notna() & (first["category"] != NO_LABEL)]
        matrix, method = phi_matrix(scores), "pearson"
    defined = (~np.isnan(scores)).astype(np.int64)
    cells = []
    for (row, column), n in np.ndenumerate(defined @ defined.T):
        low, high = fisher_interval(float(matrix[row, column]), n, method)
        cells.append((row, page.names["model"][column], matrix[row, column], n, low, high, column <= row))
    columns = ["row", "other", "value", "n", "low", "high", "repeated"]
    return pd.DataFrame(cells, columns=columns).assign(column="value")


def _agreement_notes(page: Page) -> Iterator[str]:
    """Yield the explanation of a matrix."""
    spearman = page.context["coefficient"] == SPEARMAN
    unit = "classes; only images with one label count" if spearman else "images with a valid label"
    yield f"n: {unit}. Brackets: 95 % intervals by Fisher's transformation. A dash: one of the two is constant."
    if page.labels != page.reference:
        yield f"The row {page.reference} treats the original labels as predictions."


AGREEMENT = TableDefinition(
    name="agreement",
    alias="F9",
    source=PAPER,
    summary="Agreement of every two models and the original labels: Spearman of recall per class, phi of correctness.",
    pages=_agreement_pages,
    needs=(
        "correlates two or more models on the same images, or one with the original labels under a second label set"
    ),
    command="pytest -k imagenet --eye-model=A --eye-model=B",
    title="{page}: {coefficient}, under {labels}",
    cells=_agreement_cells,
    rows=("model", "other"),
    across="other",
    columns=("value",),
    heads={"model": ""},
    formats={"value": CORRELATION},
    notes=(_agreement_notes,),
)


def _draw_agreements(pages: Sequence[Page]) -> "Figure":
    """Draw both matrices side by side, one row of panels for each split and label set."""
    sizes = [len(page.cases) for page in pages[::2]]
    name_width = text_width([wrap_name(name) for page in pages for name in page.names["model"]], NAMES)
    heights = [CELL * size + name_width + 0.8 for size in sizes]
    figure, axes = create_panels(heights, 2, 2 * (CELL * max(sizes) + name_width) + 1)
    for ax, page in zip(axes.flat, pages, strict=True):
        _draw_agreement(ax, page, AGREEMENT.cells(page))
    return figure


def _draw_agreement(ax: "Axes", page: Page, cells: pd.DataFrame) -> None:
    names = [wrap_name(name) for name in page.names["model"]]
    values = cells["value"].to_numpy().reshape(len(names), len(names))
    texts = (format_cell(AGREEMENT.make_cell(cell), with_n=False) for cell in cells.to_dict("records"))
    draw_matrix(ax, values, (text.replace(" ", "\n", 1) for text in texts), "RdBu_r", low=-1)
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=NAMES)
    ax.set_yticks(range(len(names)), names, fontsize=NAMES)
    under, counts = one_line(f"{page.title}, {page.labels}"), format_counts(sorted({*cells["n"]}))
    ax.set_title(f"{page.context['coefficient']}\n{fill(under, 60)}, {counts}", fontsize=8)


AGREEMENTS = CustomFigure(
    table=AGREEMENT,
    summary="Spearman's correlation of recalls and the phi coefficient of correctness for every two models.",
    make=_draw_agreements,
)
