"""The main results of RealBirdID: Tables 2 and 3 and Figure 16 of arXiv 2603.27033."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..render import Cell, NumberCell, Row, Table
from ..runs import CaseRun, Runs
from .cases import FREE, SPECIES, WORDS, metric_estimate
from .model_families import LEGEND, SETS, TableCases, mark_best, select_cases

MEASURES = {"IG": ("ig", "A"), "UA/A": ("ua_a", "all")}  # the published rows
LEVEL_COLUMNS = {"A Species": "A.species", "A Genus": "A.genus", "UA Genus": "UA.genus"}  # the published columns
MICRO = {"AUC": "auc", "Acc": "acc"}
AVERAGED = {"AUC macro": "auc_macro", "AUC balanced": "auc_balanced", "Acc macro": "acc_macro"}
FREE_FORM_COLUMNS = {
    "A Species": ("acc", "A.species"), "A Genus": ("acc", "A.genus"), "UA Genus": ("acc", "UA.genus"),
    "Unanswerable": ("acc", "UA"), "HM": ("hm", "all"), "A abstained": ("abstained", "A"),
    "UA abstained": ("abstained", "UA"),
}  # fmt: skip
SAID = (
    "Species and Genus: named, or named by one of its species, and right. Unanswerable: no species and no wrong genus "
    "is named. HM: the harmonic mean of A Species and Unanswerable. Abstained: no species is named. An answer that "
    "cannot be read is wrong and no abstention."
)
EITHER = (
    "Brackets: 95 % intervals over observations, each with all its images: of HM by bootstrap, of all else Wilson's."
)
BOOTSTRAP = "Brackets: 95 % intervals, bootstrap over observations, each with all its images."
WILSON = "Brackets: 95 % intervals over observations, each with all its images: of AUC by bootstrap, of Acc Wilson's."
STRATIFIED = (
    "Brackets: 95 % intervals over observations, each with all its images: of AUC by bootstrap, of Acc macro within "
    "each class."
)
GAIN = "IG: the area under accuracy by information gain, of the answerable images, over all thresholds."
TRADEOFF = "UA/A: the area under unanswerable by answerable images abstained on, by max probability; 50 is chance."
COVERAGE = "AUC: the mean over coverage of the accuracy among the images kept, by max probability. Acc: all are kept."
CLASSES = (
    "Macro: each species or genus counts alike, at each coverage those with an image kept. Balanced: each image counts "
    "by one over the images of its species or genus."
)


def t2(pool: Runs, labels: str | None) -> list[Table]:
    """Return Table 2: IG and UA/A, one column per model."""
    return [t2_table(table_cases) for table_cases in select_cases(pool, SPECIES, "realbirdid-T2", labels)]


def t2_table(table_cases: TableCases) -> Table:
    """Return the table of models on the same images; in a csv one row per model."""
    entries = table_cases.group.cases
    columns = {
        head: [metric_estimate(e, name, table_cases.labels, of) for e in entries]
        for head, (name, of) in MEASURES.items()
    }
    names = [table_cases.names[id(entry)] for entry in entries]
    what = "classification and abstention (%)"
    rows = [metric_row(head, numbers) for head, numbers in columns.items()]
    legend = [LEGEND] * (len(entries) > 1)
    table = table_cases.table(what, ("Metric", *names), rows, GAIN, TRADEOFF, *legend, SETS, BOOTSTRAP)
    plain = list(zip(names, *columns.values(), strict=True))
    return replace(table, data=table_cases.table(what, ("Model", *MEASURES), plain))


def metric_row(head: str, numbers: Sequence[NumberCell]) -> Row:
    """Return one row with a metric of all models; a common n is part of its title."""
    sizes = {number.n for number in numbers}
    shared = next(iter(sizes)) if len(sizes) == 1 else None
    alike = numbers if shared is None else [replace(number, n=None) for number in numbers]
    return (head if shared is None else f"{head} (n={shared:,})", *mark_best(alike))


def t3(pool: Runs, labels: str | None) -> list[Table]:
    """Return Table 3: AUC and accuracy of species and genus."""
    what, notes = "AUC and accuracy by level (%)", (COVERAGE, SETS, WILSON)
    return [
        level_table(table_cases, what, MICRO, *notes)
        for table_cases in select_cases(pool, SPECIES, "realbirdid-T3", labels)
    ]


def f16(pool: Runs, labels: str | None) -> list[Table]:
    """Return Figure 16 as a table: class-averaged AUC and accuracy."""
    what, notes = "class-averaged AUC and accuracy by level (%)", (COVERAGE, CLASSES, SETS, STRATIFIED)
    return [
        level_table(table_cases, what, AVERAGED, *notes)
        for table_cases in select_cases(pool, SPECIES, "realbirdid-F16", labels)
    ]


def level_table(table_cases: TableCases, what: str, measures: dict[str, str], *notes: str) -> Table:
    """Return a table of measures of every level, one row per model."""
    spots = [(head, name, of) for at, of in LEVEL_COLUMNS.items() for head, name in measure_columns(at, measures)]

    def cells(entry: CaseRun) -> list[Cell]:
        return [metric_estimate(entry, name, table_cases.labels, of) for _, name, of in spots]

    return table_cases.sections(what, [head for head, *_ in spots], cells, *notes)


def measure_columns(at: str, measures: dict[str, str]) -> list[tuple[str, str]]:
    """Return the column names and metric names of a level."""
    return [(f"{at} {head}", name) for head, name in measures.items()]


def free_form(pool: Runs, _: str | None) -> list[Table]:
    """Return the results of free form: accuracies by level, abstention rates, and the harmonic mean."""
    return [
        free_form_table(table_cases) for table_cases in select_cases(pool, FREE, "realbirdid-free-form", None, WORDS)
    ]


def free_form_table(table_cases: TableCases) -> Table:
    """Return the table of models on the same images."""

    def cells(entry: CaseRun) -> list[Cell]:
        return [metric_estimate(entry, name, table_cases.labels, of) for name, of in FREE_FORM_COLUMNS.values()]

    return table_cases.sections("species in free words (%)", list(FREE_FORM_COLUMNS), cells, SAID, SETS, EITHER)


TABLES: dict[str, Callable[[Runs, str | None], list[Table]]] = {
    "realbirdid-T2": t2,
    "realbirdid-T3": t3,
    "realbirdid-F16": f16,
    "realbirdid-free-form": free_form,
}
