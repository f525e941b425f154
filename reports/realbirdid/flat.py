"""Compare a flat list of species and genera with a tree: Figure 4 of arXiv 2603.27033."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..oodbench.cases import nothing_to_show
from ..render import Cell, NumberCell, Row, Table
from ..runs import CaseRun, Runs
from .cases import FLAT, SPECIES, metric_estimate
from .model_families import SETS, TableCases, model_family, select_cases

FLAT_LIST, TREE = "Flat list", "TreeGT"
PARTS = {"Answerable": ("acc", "A"), "Unanswerable": ("acc", "UA"), "HM": ("hm", "all")}
LEFT = {"A abstained": "A", "UA abstained": "UA"}  # of the flat list: the tree's numbers are of no one threshold
METHODS = {FLAT_LIST: "", TREE: "tree_"}
RIGHT = (
    "Answerable: the species is right; Unanswerable: the genus is named, not a species, and right; HM: the harmonic "
    "mean of both."
)
HOW = (
    "Flat list: species and genera among one another, a genus is an abstention. TreeGT: the most informative node with "
    "a probability of at least a threshold, which is chosen on one half of the images and scored on the other."
)
BRACKETS = (
    "Brackets: 95 % intervals over observations, each with all its images: of HM by bootstrap, of all else Wilson's."
)


@dataclass(frozen=True)
class Method:
    """One model with one method: its accuracies, their harmonic mean, and how often it abstained."""

    entry: CaseRun
    model: str
    name: str
    labels: str

    @property
    def numbers(self) -> dict[str, NumberCell]:
        """The metrics of the figure by column name."""
        prefix = METHODS[self.name]
        return {head: metric_estimate(self.entry, prefix + name, self.labels, of) for head, (name, of) in PARTS.items()}

    @property
    def abstained(self) -> list[Cell]:
        """How often the answer of a flat list is a genus; None for the tree."""
        if self.name == TREE:
            return [None] * len(LEFT)
        return [metric_estimate(self.entry, "abstained", self.labels, of) for of in LEFT.values()]


@dataclass(frozen=True)
class MethodComparison:
    """The methods of the models on the same images, grouped by model."""

    table_cases: TableCases
    methods: tuple[Method, ...]


def compare_methods(pool: Runs, labels: str | None, name: str = "realbirdid-F4") -> list[MethodComparison]:
    """Return flat lists and trees of the same models on the same images; raises ReportError if there are none."""
    flat, trees = (select_cases(pool, protocol, name, labels) for protocol in (FLAT, SPECIES))
    pairs = [
        (flat_cases, tree_cases) for flat_cases in flat for tree_cases in trees if same_images(flat_cases, tree_cases)
    ]
    comparisons = [
        MethodComparison(join_cases(flat_cases, tree_cases), tuple(iterate_methods(flat_cases, tree_cases)))
        for flat_cases, tree_cases in pairs
    ]
    if not any(comparison.methods for comparison in comparisons):
        what = "compares a flat list with a tree of the same model about the same images"
        raise nothing_to_show(pool, name, what, 'pytest -k "realbirdid and (flat_list or species)"')
    return [comparison for comparison in comparisons if comparison.methods]


def same_images(left: TableCases, right: TableCases) -> bool:
    """Return whether both have the same images and observations."""
    first, second = left.group.cases[0].record.data, right.group.cases[0].record.data
    return (left.title, first.fingerprint, first.labels) == (right.title, second.fingerprint, second.labels)


def join_cases(left: TableCases, right: TableCases) -> TableCases:
    """Return the cases of both protocols whose models have both."""
    both = {e.model for e in left.group.cases} & {e.model for e in right.group.cases}
    entries = [e for table_cases in (left, right) for e in table_cases.group.cases if e.model in both]
    return TableCases(left.group.select(entries), left.labels)


def iterate_methods(flat: TableCases, trees: TableCases) -> Iterator[Method]:
    """Yield the methods of every model that has both, flat lists first."""
    models = dict.fromkeys(entry.model for entry in flat.group.cases)
    for model in models:
        sides = [(FLAT_LIST, flat), (TREE, trees)]
        pair = [
            Method(e, of.names[id(e)], name, of.labels)
            for name, of in sides
            for e in of.group.cases
            if e.model == model
        ]
        if len({method.name for method in pair}) == len(METHODS):
            yield from pair


def f4(pool: Runs, labels: str | None) -> list[Table]:
    """Return Figure 4 as a table: both accuracies and their harmonic mean, one row per model and method."""
    return [f4_table(comparison) for comparison in compare_methods(pool, labels)]


def f4_table(comparison: MethodComparison) -> Table:
    """Return the table of models on the same images."""
    rows: list[Row] = [(m.model, m.name, *m.numbers.values(), *m.abstained) for m in comparison.methods]
    columns = ("Model", "Method", *PARTS, *LEFT)
    what = "a flat list of species and genera against a tree (%)"
    table = comparison.table_cases.table(what, columns, rows, RIGHT, HOW, SETS, BRACKETS)
    families = [model_family(method.entry) for method in comparison.methods]
    plain = [(of, *row) for of, row in zip(families, rows, strict=True)]
    return replace(table, data=comparison.table_cases.table(what, ("Family", *columns), plain))


TABLES: dict[str, Callable[[Runs, str | None], list[Table]]] = {"realbirdid-F4": f4}
