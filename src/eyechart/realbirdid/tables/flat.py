"""Compare a flat list of species and genera with a tree: Figure 4 of arXiv 2603.27033."""

import pandas as pd

from eyechart.realbirdid.tables.bird_pages import FLAT, PAPER, SETS, SPECIES, create_page, metric_cells, select_pages
from eyechart.realbirdid.tables.summary_tables import BRACKETS
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page
from eyechart.results.records import ANSWERABLE, UNANSWERABLE, WHOLE

FLAT_LIST, TREE = "Flat list", "TreeGT"
PARTS = {"Answerable": ("acc", ANSWERABLE), "Unanswerable": ("acc", UNANSWERABLE), "HM": ("hm", WHOLE)}
TREE_PARTS = {head: (f"tree_{name}", of) for head, (name, of) in PARTS.items()}
# Of the flat list alone: the tree's numbers are of no one threshold.
ABSTAINED = {"A abstained": ("abstained", ANSWERABLE), "UA abstained": ("abstained", UNANSWERABLE)}

MEASURES = (
    "Answerable: the species is right; Unanswerable: the genus is named, not a species, and right; HM: the harmonic "
    "mean of both."
)
METHODS = (
    "Flat list: species and genera among one another, a genus is an abstention. TreeGT: the most informative node with "
    "a probability of at least a threshold, which is chosen on one half of the images and scored on the other."
)


def _method_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return the pages of models with a flat list and a tree of the same images; flat lists of a model stand first."""
    flat, trees = (select_pages(runs, protocol, labels) for protocol in (FLAT, SPECIES))
    pairs = [_join_pages(first, second) for first in flat for second in trees if _same_images(first, second)]
    return [page for page in pairs if page.cases]


def _same_images(left: Page, right: Page) -> bool:
    """Return whether both have the same images and observations."""
    first, second = left.cases[0].record.data, right.cases[0].record.data
    return (left.title, first.fingerprint, first.labels) == (right.title, second.fingerprint, second.labels)


def _join_pages(flat: Page, trees: Page) -> Page:
    """Return the cases of both pages whose models are on both, model by model."""
    named = [
        (case, {**names, "Method": method})
        for page, method in ((flat, FLAT_LIST), (trees, TREE))
        for case, names in zip(page.cases, page.names.to_dict("records"), strict=True)
    ]
    models = dict.fromkeys(case.model for case in flat.cases if case.model in {other.model for other in trees.cases})
    kept = [(case, names) for model in models for case, names in named if case.model == model]
    return create_page([case for case, _ in kept], flat.title, flat.labels, pd.DataFrame([names for _, names in kept]))


def method_cells(page: Page) -> pd.DataFrame:
    """Return the accuracies of both methods, their harmonic mean, and how often a flat list abstains."""
    flat, tree = (page.names["Method"] == method for method in (FLAT_LIST, TREE))
    parts = [metric_cells(page, PARTS | ABSTAINED, rows=flat), metric_cells(page, TREE_PARTS, rows=tree)]
    return pd.concat(parts).sort_values("row", kind="stable", ignore_index=True)


FLAT_AND_TREE = TableDefinition(
    name="realbirdid-flat-list",
    alias="realbirdid-F4",
    source=PAPER,
    summary="One list of species and genera against a tree: accuracies on answerable and unanswerable images.",
    pages=_method_pages,
    needs="compares a flat list with a tree of the same model about the same images",
    command='pytest -k "realbirdid and (flat_list or species)"',
    title="{page}: a flat list of species and genera against a tree (%)",
    cells=method_cells,
    rows=("Family", "Model", "Method"),
    columns=(*PARTS, *ABSTAINED),
    sections="Family",
    notes=(MEASURES, METHODS, SETS, f"{BRACKETS}: of HM by bootstrap, of all else Wilson's."),
)
TABLES = (FLAT_AND_TREE,)
