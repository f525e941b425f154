"""The curves of RealBirdID, swept over every threshold: Figures 5, 9, 10, 17 and 18 of arXiv 2603.27033 as tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..answers import Floats, Ints, clustered_proportion
from ..oodbench.cases import nothing_to_show
from ..oodbench.pairs import PREDICTIONS, Columns, read_artifact
from ..render import NumberCell, Row, Table
from ..runs import CaseRun, Runs
from .cases import ALL, ELIGIBLE, RANGE, SPECIES, metric_estimate
from .model_families import SETS as KINDS
from .model_families import TableCases, select_cases

CRITERIA = {"max_probability": "max probability", "entropy": "entropy", "margin": "margin"}
SETS = {"A.species": "A species", "A.genus": "A genus", "UA.genus": "UA genus"}
SHARES = (0.25, 0.5, 0.75)  # of the images abstained on, where a table reads a curve
MEANING = (
    "Areas under curves over every distinct threshold.",
    KINDS,
    "Brackets: 95 % intervals over observations, each with all its images: of areas by bootstrap, else Wilson's.",
)


@dataclass(frozen=True)
class Curve:
    """A curve of an artifact: (points,) x and y, x rising."""

    x: Floats
    y: Floats

    def at(self, x: float) -> tuple[float, float]:
        """The point at x, or the next one to its right: no threshold has those between; NaN beyond the last."""
        place = int(np.searchsorted(self.x, x - 1e-9))
        return (float(self.x[place]), float(self.y[place])) if place < len(self.x) else (np.nan, np.nan)


Curves = Mapping[tuple[str, str], Curve]  # by labels and name


@dataclass(frozen=True)
class Images:
    """The images that a curve is of, those with the highest probability first.

    `correct` (n,) is 1 for a right answer and 0 for a wrong one, `observations` (n,) numbers their observations.
    """

    correct: Floats
    observations: Ints


@dataclass(frozen=True)
class Case:
    """A case under its name beside others, and all its curves."""

    entry: CaseRun
    name: str
    curves: Curves

    @cached_property
    def images(self) -> Mapping[tuple[str, str], Images]:
        """The images of each set, by labels and set."""
        return read_artifact(self.entry.record, self.entry.folder, PREDICTIONS, sort_images)


@dataclass(frozen=True)
class CurveSpec:
    """A curve that a figure shows: its name in the artifact, the number that sums it up, and what it is called.

    `of` is the category of that number; with `falls`, x runs from abstaining on nothing to abstaining on all.
    """

    curve: str
    area: str
    of: str
    head: str
    x: str
    y: str
    falls: bool = False

    def read_curve(self, case: Case, labels: str) -> Curve | None:
        """The curve of a case, if there is one under these labels."""
        curve = case.curves.get((labels, self.curve))
        return Curve(1 - curve.x[::-1], curve.y[::-1]) if curve is not None and self.falls else curve

    def area_estimate(self, case: Case, labels: str) -> NumberCell:
        """The area under it, with its interval."""
        return metric_estimate(case.entry, self.area, labels, self.of)

    def estimates(self, case: Case, labels: str) -> list[NumberCell]:
        """The area; and the accuracy at some shares that are abstained on, of a curve over these."""
        area, curve = self.area_estimate(case, labels), self.read_curve(case, labels)
        if not self.falls:
            return [area]
        shares = [curve.at(share)[0] if curve else np.nan for share in SHARES]
        return [area, *(selective_accuracy(case.images[labels, self.of], share) for share in shares)]

    @property
    def short_name(self) -> str:
        """What the area is called in short."""
        return {"i": "IG", "u": "UA/A"}.get(self.area[0], "AUC")

    @property
    def column_names(self) -> list[str]:
        """What the numbers are called."""
        return [self.head, *(f"{self.head}, {100 * share:g} % left out" for share in SHARES * self.falls)]


def selective_accuracy(images: Images, share: float) -> NumberCell:
    """Return the accuracy among the images that remain when a share of them is abstained on, the least sure first.

    The share is a point of the curve, so that images of equal probability are all kept or none; NaN keeps none.
    """
    count = 0 if np.isnan(share) else round((1 - share) * len(images.correct))
    return clustered_proportion(images.correct[:count], images.observations[:count])


def sort_images(columns: Columns) -> dict[tuple[str, str], Images]:
    """Return the images of every set under all labels from the columns of the answers."""
    answerable = np.array(columns["answerable"]) == "1"
    observations = np.unique(columns["observation"], return_inverse=True)[1].astype(np.int64)
    listed = np.array(columns["range.species.p"]) != ""
    prefixes = {ALL: ("all", True), ELIGIBLE: ("all", listed), RANGE: ("range", listed)}
    images = {}
    for labels, (prefix, eligible) in prefixes.items():
        for of in SETS:
            kind, level = of.split(".")
            correct, sure = (parse_numbers(columns[f"{prefix}.{level}.{name}"]) for name in ("correct", "p"))
            rows = np.flatnonzero(eligible & (answerable == (kind == "A")) & ~np.isnan(correct))
            rows = rows[np.argsort(-sure[rows], kind="stable")]
            images[labels, of] = Images(correct[rows], observations[rows])
    return images


def parse_numbers(texts: Sequence[str]) -> Floats:
    """Return texts as numbers, NaN for an empty one."""
    return np.array([float(text or "nan") for text in texts], np.float64)


def accuracy_curve(of: str, criterion: str = "", *, falls: bool = False) -> CurveSpec:
    """Accuracy by coverage, or by the share that is abstained on; by the main criterion where none is named."""
    end = "" if criterion == "max_probability" else criterion
    head = SETS[of] + (f", by {CRITERIA[criterion]}" if criterion else "")
    x = "abstained on (%)" if falls else "coverage (%)"
    return CurveSpec(f"accuracy {of} {end}".strip(), f"auc_{end}".strip("_"), of, head, x, "accuracy (%)", falls)


def abstention_curve(criterion: str) -> CurveSpec:
    """Of the unanswerable images the share that is abstained on, by that of the answerable ones."""
    area = "ua_a" if criterion == "max_probability" else f"ua_a_{criterion}"
    head = f"UA/A, by {CRITERIA[criterion]}"
    return CurveSpec(f"abstention {criterion}", area, "all", head, "A abstained on (%)", "UA abstained on (%)")


GAIN = CurveSpec("ig", "ig", "A", "IG", "information gain (%)", "accuracy (%)")
Panel = tuple[CurveSpec, str]  # with its labels
Grid = Sequence[Sequence[Panel]]


def f5(labels: str) -> Grid:
    """Figure 5: accuracy by depth, by coverage, and the abstention tradeoff."""
    species, genus, tradeoff = (
        accuracy_curve("A.species"),
        accuracy_curve("A.genus"),
        abstention_curve("max_probability"),
    )
    return [[(GAIN, labels), (species, labels)], [(tradeoff, labels), (genus, labels)]]


def f9(labels: str) -> Grid:
    """Figure 9: the abstention tradeoff by each criterion."""
    return [[(abstention_curve(criterion), labels) for criterion in CRITERIA]]


def f10(labels: str) -> Grid:
    """Figure 10: accuracy over coverage by each criterion."""
    return [[(accuracy_curve(of, criterion), labels) for criterion in CRITERIA] for of in SETS]


def f17(labels: str) -> Grid:
    """Figure 17: accuracy by the share abstained on, without range lists and with them."""
    return [[(accuracy_curve(of, falls=True), shown) for shown in (labels, RANGE)] for of in ("A.species", "UA.genus")]


def f18(labels: str) -> Grid:
    """Figure 18: information gain, and the abstention tradeoff by entropy, without range lists and with them."""
    return [[(sweep, shown) for shown in (labels, RANGE)] for sweep in (GAIN, abstention_curve("entropy"))]


GRIDS: Mapping[str, Callable[[str], Grid]] = {
    "realbirdid-F5": f5,
    "realbirdid-F9": f9,
    "realbirdid-F10": f10,
    "realbirdid-F17": f17,
    "realbirdid-F18": f18,
}


@dataclass(frozen=True)
class CurveBlock:
    """The cases about one set of birds, and the panels of a figure that they have curves for."""

    table_cases: TableCases
    cases: tuple[Case, ...]
    grid: Grid


def collect_curves(pool: Runs, name: str, labels: str | None) -> list[CurveBlock]:
    """What a figure of curves shows, of all cases about the same birds together; birds without a curve are left out."""
    blocks = [build_block(kept, GRIDS[name](kept.labels)) for kept in select_cases(pool, SPECIES, name, labels)]
    kept = [block for block in blocks if block.grid]
    if not kept:
        both = all(sweep.of == "all" for row in GRIDS[name](ALL) for sweep, _ in row)
        kinds = "answerable and unanswerable birds together" if both else "answerable birds"
        raise nothing_to_show(pool, name, f"needs {kinds}", f'pytest -k "realbirdid and {SPECIES}"')
    return kept


def build_block(table_cases: TableCases, grid: Grid) -> CurveBlock:
    """The cases about some birds; panels that would have no curve are left out."""
    cases = tuple(read_case(entry, table_cases.names[id(entry)]) for entry in table_cases.group.cases)
    rows = [[panel for panel in dict.fromkeys(row) if has_curve(panel, cases)] for row in grid]
    return CurveBlock(table_cases, cases, [row for row in rows if row])


def has_curve(panel: Panel, cases: Sequence[Case]) -> bool:
    """Whether a case has the curve of a panel."""
    sweep, labels = panel
    return any(sweep.read_curve(case, labels) is not None for case in cases)


def read_case(entry: CaseRun, name: str) -> Case:
    """One case."""
    return Case(entry, name, read_artifact(entry.record, entry.folder, "curves", parse_curves))


def parse_curves(columns: Columns) -> Curves:
    """The columns of a csv of curves."""
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    points = zip(map(float, columns["x"]), map(float, columns["y"]), strict=True)
    for key, point in zip(zip(columns["labels"], columns["curve"], strict=True), points, strict=True):
        rows.setdefault(key, []).append(point)
    return {key: sort_by_x(np.array(points, np.float64)) for key, points in rows.items()}


def sort_by_x(points: Floats) -> Curve:
    """Points (n, 2) with x rising, those without a number left out."""
    kept = points[~np.isnan(points).any(axis=1)]
    kept = kept[np.argsort(kept[:, 0], kind="stable")]
    return Curve(kept[:, 0], kept[:, 1])


def table_function(name: str) -> Callable[[Runs, str | None], list[Table]]:
    """A figure of curves as a table: the area under each, a row a model."""
    return lambda pool, labels: [area_table(block) for block in collect_curves(pool, name, labels)]


def area_table(block: CurveBlock) -> Table:
    """One set of birds."""
    panels = [panel for row in block.grid for panel in row]
    several = len({labels for _, labels in panels}) > 1
    heads = [f"{head} ({labels})" if several else head for sweep, labels in panels for head in sweep.column_names]
    rows: list[Row] = [
        (case.name, *(number for sweep, labels in panels for number in sweep.estimates(case, labels)))
        for case in block.cases
    ]
    return block.table_cases.table("areas under curves (%)", ("Model", *heads), rows, *MEANING)


TABLES = {name: table_function(name) for name in GRIDS}
