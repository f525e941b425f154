"""Species and genera in one flat list, against a tree: Figure 4 of arXiv 2603.27033."""

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
        """The numbers of the figure by their heads."""
        prefix = METHODS[self.name]
        return {head: metric_estimate(self.entry, prefix + name, self.labels, of) for head, (name, of) in PARTS.items()}

    @property
    def abstained(self) -> list[Cell]:
        """How often a flat list's answer was a genus."""
        if self.name == TREE:
            return [None] * len(LEFT)
        return [metric_estimate(self.entry, "abstained", self.labels, of) for of in LEFT.values()]


@dataclass(frozen=True)
class MethodComparison:
    """The methods of the models about the same images, a model's beneath one another."""

    table_cases: TableCases
    methods: tuple[Method, ...]


def compare_methods(pool: Runs, labels: str | None, name: str = "realbirdid-F4") -> list[MethodComparison]:
    """The flat lists, and the trees of the same models about the same images."""
    flat, trees = (select_cases(pool, protocol, name, labels) for protocol in (FLAT, SPECIES))
    pairs = [(one, other) for one in flat for other in trees if same_images(one, other)]
    found = [MethodComparison(join_cases(one, other), tuple(iterate_methods(one, other))) for one, other in pairs]
    if not any(each.methods for each in found):
        what = "compares a flat list with a tree of the same model about the same images"
        raise nothing_to_show(pool, name, what, 'pytest -k "realbirdid and (flat_list or species)"')
    return [each for each in found if each.methods]


def same_images(one: TableCases, other: TableCases) -> bool:
    """Whether both are about the same images and observations."""
    first, second = one.group.cases[0].record.data, other.group.cases[0].record.data
    return (one.title, first.fingerprint, first.labels) == (other.title, second.fingerprint, second.labels)


def join_cases(one: TableCases, other: TableCases) -> TableCases:
    """The cases of both protocols, those of models that stand in both."""
    both = {e.model for e in one.group.cases} & {e.model for e in other.group.cases}
    entries = [e for each in (one, other) for e in each.group.cases if e.model in both]
    return TableCases(one.group.select(entries), one.labels)


def iterate_methods(flat: TableCases, trees: TableCases) -> Iterator[Method]:
    """Every model that stands in both, its flat lists first."""
    models = dict.fromkeys(entry.model for entry in flat.group.cases)
    for model in models:
        sides = [(FLAT_LIST, flat), (TREE, trees)]
        found = [
            Method(e, of.names[id(e)], name, of.labels)
            for name, of in sides
            for e in of.group.cases
            if e.model == model
        ]
        if len({method.name for method in found}) == len(METHODS):
            yield from found


def f4(pool: Runs, labels: str | None) -> list[Table]:
    """Figure 4 as a table: both accuracies and their harmonic mean, a row a model and method."""
    return [f4_table(each) for each in compare_methods(pool, labels)]


def f4_table(each: MethodComparison) -> Table:
    """The models about the same images."""
    rows: list[Row] = [(m.model, m.name, *m.numbers.values(), *m.abstained) for m in each.methods]
    columns = ("Model", "Method", *PARTS, *LEFT)
    what = "a flat list of species and genera against a tree (%)"
    table = each.table_cases.table(what, columns, rows, RIGHT, HOW, SETS, BRACKETS)
    families = [model_family(method.entry) for method in each.methods]
    plain = [(of, *row) for of, row in zip(families, rows, strict=True)]
    return replace(table, data=each.table_cases.table(what, ("Family", *columns), plain))


TABLES: dict[str, Callable[[Runs, str | None], list[Table]]] = {"realbirdid-F4": f4}
