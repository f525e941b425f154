"""The main results of RealBirdID: Tables 2 and 3 and Figure 16 of arXiv 2603.27033, and free-form answers."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from eyechart.realbirdid.tables.bird_pages import (
    COMMANDS,
    FREE,
    LEVELS,
    NEEDS,
    OBSERVATIONS,
    PAPER,
    SETS,
    SPECIES,
    metric_cells,
    pages_of,
)
from eyechart.reports.tables.definition import TableDefinition, mark_best
from eyechart.reports.tables.selection import Page
from eyechart.results.records import ANSWERABLE, UNANSWERABLE, WHOLE

MEASURES = {"IG": ("ig", ANSWERABLE), "UA/A": ("ua_a", WHOLE)}  # the published rows
AVERAGES = {"AUC macro": "auc_macro", "AUC balanced": "auc_balanced", "Acc macro": "acc_macro"}
GAIN = (
    "IG: the area under accuracy by information gain, of the answerable images, over all thresholds, on the tree of "
    "species, genera and the root, or with tree=all of all levels of the taxonomy."
)
TRADEOFF = "UA/A: the area under unanswerable by answerable images abstained on, by max probability; 50 is chance."
LEGEND = "Bold: the highest; underlined: the next."
COVERAGE = "AUC: the mean over coverage of the accuracy among the images kept, by max probability. Acc: all are kept."
CLASSES = (
    "Macro: each species or genus counts alike, at each coverage those with an image kept. Balanced: each image counts "
    "by one over the images of its species or genus."
)
FREE_FORM_NOTE = (
    "Species and Genus: named, or named by one of its species, and right. Unanswerable: no species and no wrong genus "
    "is named. HM: the harmonic mean of A Species and Unanswerable. Abstained: no species is named. An answer that "
    "cannot be parsed is wrong and no abstention."
)
BRACKETS = "Brackets: 95 % intervals over observations, each with all its images"


def _summary_cells(page: Page) -> pd.DataFrame:
    """Return IG and UA/A of every model, with the best two marked."""
    return mark_best(metric_cells(page, MEASURES))


def _summary_notes(page: Page) -> Iterator[str]:
    """Yield the explanation of the table."""
    yield from (GAIN, TRADEOFF, *[LEGEND] * (len(page.cases) > 1), SETS)
    yield "Brackets: 95 % intervals, bootstrap over observations, each with all its images."


def _level_columns(measures: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of some measures at every level."""
    return {f"{head} {name}": (metric, *of) for head, of in LEVELS.items() for name, metric in measures.items()}


MICRO, AVERAGED = _level_columns({"AUC": "auc", "Acc": "acc"}), _level_columns(AVERAGES)
SUMMARY = TableDefinition(
    name="realbirdid-summary",
    alias="realbirdid-T2",
    source=f"{PAPER}, Table 2",
    summary="Classification of answerable images by information gain, and abstention on unanswerable ones.",
    pages=pages_of(SPECIES),
    needs=NEEDS[SPECIES],
    command=COMMANDS[SPECIES],
    title="{page}: classification and abstention (%)",
    cells=_summary_cells,
    rows=("Model",),
    columns=tuple(MEASURES),
    transposed="Metric",
    notes=_summary_notes,
)
BY_LEVEL = replace(
    SUMMARY,
    name="realbirdid-levels",
    alias="realbirdid-T3",
    source=f"{PAPER}, Table 3",
    summary="Accuracy of species and genus, over all images and over coverage.",
    title="{page}: AUC and accuracy by level (%)",
    cells=lambda page: metric_cells(page, MICRO),
    rows=("Family", "Model"),
    columns=tuple(MICRO),
    transposed="",
    sections="Family",
    notes=(COVERAGE, SETS, f"{BRACKETS}: of AUC by bootstrap, of Acc Wilson's."),
)
CLASS_AVERAGES = replace(
    BY_LEVEL,
    name="realbirdid-class-averages",
    alias="realbirdid-F16",
    source=f"{PAPER}, Figure 16",
    summary="Accuracy of species and genus, averaged over classes.",
    title="{page}: class-averaged AUC and accuracy by level (%)",
    cells=lambda page: metric_cells(page, AVERAGED),
    columns=tuple(AVERAGED),
    notes=(COVERAGE, CLASSES, SETS, f"{BRACKETS}: of AUC by bootstrap, of Acc macro within each class."),
)
FREE_FORM_COLUMNS = {
    **{head: ("acc", *of) for head, of in LEVELS.items()},
    "Unanswerable": ("acc", UNANSWERABLE),
    "HM": ("hm", WHOLE),
    "A abstained": ("abstained", ANSWERABLE),
    "UA abstained": ("abstained", UNANSWERABLE),
}
FREE_FORM = replace(
    BY_LEVEL,
    name="realbirdid-free-form",
    alias="",
    source="",
    summary="Free-form answers: accuracies, abstention rates, and the harmonic mean.",
    pages=pages_of(FREE, OBSERVATIONS),
    needs=NEEDS[FREE],
    command=COMMANDS[FREE],
    title="{page}: species in free words (%)",
    cells=lambda page: metric_cells(page, FREE_FORM_COLUMNS),
    columns=tuple(FREE_FORM_COLUMNS),
    notes=(FREE_FORM_NOTE, SETS, f"{BRACKETS}: of HM by bootstrap, of all else Wilson's."),
)
TABLES = (SUMMARY, BY_LEVEL, CLASS_AVERAGES, FREE_FORM)
