"""The main results of RealBirdID: Tables 2 and 3 and Figure 16 of arXiv 2603.27033, free-form answers, correlations."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
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
    select_pages,
)
from eyechart.reports.tables.definition import TableDefinition, mark_best
from eyechart.reports.tables.render import CORRELATION
from eyechart.reports.tables.selection import Page
from eyechart.results.records import ANSWERABLE, UNANSWERABLE, WHOLE
from eyechart.statistics.intervals import fisher_interval

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
ALL_MODELS = "All models"
CORRELATED = {"IG": ("ig", ANSWERABLE), "Acc": ("acc", ANSWERABLE, "species"), "UA/A": ("ua_a", WHOLE)}
COLUMNS = {"IG and UA/A": "IG", "A Species Acc and UA/A": "Acc"}  # and the measure of classification
FEWEST = 3  # models that make a correlation informative
CORRELATION_NOTE = (
    "Pearson's correlation over models with both numbers. Brackets: 95 % intervals by Fisher's transformation, of four "
    "models or more. The paper prints 0.60 for encoders; its Tables 2 and 3 give −0.24 and −0.20."
)


def _level_columns(measures: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of some measures at every level."""
    return {f"{head} {name}": (metric, *of) for head, of in LEVELS.items() for name, metric in measures.items()}


MICRO, AVERAGED = _level_columns({"AUC": "auc", "Acc": "acc"}), _level_columns(AVERAGES)
SUMMARY = TableDefinition(
    name="realbirdid-summary",
    alias="realbirdid-T2",
    source=PAPER,
    summary="Classification of answerable images by information gain, and abstention on unanswerable ones.",
    pages=pages_of(SPECIES),
    needs=NEEDS[SPECIES],
    command=COMMANDS[SPECIES],
    title="{page}: classification and abstention (%)",
    cells=lambda page: mark_best(metric_cells(page, MEASURES)),
    rows=("Model",),
    columns=tuple(MEASURES),
    transposed="Metric",
    notes=(
        GAIN,
        TRADEOFF,
        lambda page: [LEGEND] * (len(page.cases) > 1),
        SETS,
        "Brackets: 95 % intervals, bootstrap over observations, each with all its images.",
    ),
)
BY_LEVEL = replace(
    SUMMARY,
    name="realbirdid-levels",
    alias="realbirdid-T3",
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


def _correlation_cells(page: Page) -> pd.DataFrame:
    """Return the correlations over the models of each family, and over all models."""
    numbers = metric_cells(page, CORRELATED).pivot_table(index="row", columns="column", values="value")
    families = {name: group.index for name, group in page.names.groupby("Family", sort=False)}
    groups = families | {ALL_MODELS: page.names.index} if len(families) > 1 else families
    cells = [
        {"row": 0, "Models": name, "Place": index, "column": column, **_correlate(numbers, rows, measure)}
        for index, (name, rows) in enumerate(groups.items())
        for column, measure in COLUMNS.items()
        if {measure, "UA/A"} <= {*numbers.columns}
    ]
    frame = pd.DataFrame(cells, columns=["row", "Models", "Place", "column", "value", "n", "low", "high"])
    return frame[frame["n"] >= FEWEST]


def _correlate(numbers: pd.DataFrame, rows: pd.Index, measure: str) -> dict[str, float]:
    """Return Pearson's correlation of a measure with UA/A over some models, with its interval, as a cell."""
    both = numbers.reindex(rows)[[measure, "UA/A"]].dropna()
    varied = len(both) >= FEWEST and (both.nunique() > 1).all()
    value = float(np.clip(np.corrcoef(both.to_numpy().T)[0, 1], -1, 1)) if varied else np.nan
    low, high = fisher_interval(value, len(both))
    return {"value": value, "n": len(both), "low": low, "high": high}


CORRELATIONS = TableDefinition(
    name="realbirdid-correlation",
    source=PAPER,
    summary="Whether models that classify better also abstain better: correlations of IG and accuracy with UA/A.",
    pages=lambda runs, labels: [
        page for page in select_pages(runs, SPECIES, labels) if not _correlation_cells(page).empty
    ],
    needs=f"{NEEDS[SPECIES]}, of at least {FEWEST} models",
    command=COMMANDS[SPECIES],
    title="{page}: correlation of classification and abstention over models",
    cells=_correlation_cells,
    rows=("Models",),
    order=("Place",),
    columns=tuple(COLUMNS),
    formats=dict.fromkeys(COLUMNS, CORRELATION),
    notes=(CORRELATION_NOTE, GAIN, TRADEOFF, SETS),
)
TABLES = (SUMMARY, BY_LEVEL, CLASS_AVERAGES, FREE_FORM, CORRELATIONS)
