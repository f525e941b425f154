"""The curves of RealBirdID over all thresholds: Figures 5, 9, 10, 17 and 18 of arXiv 2603.27033 as tables."""

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
    """A curve of an artifact: x and y (points,), x ascending."""

    x: Floats
    y: Floats

    def at(self, x: float) -> tuple[float, float]:
        """Return the point at x, or the next point to the right; NaN after the last."""
        place = int(np.searchsorted(self.x, x - 1e-9))
        return (float(self.x[place]), float(self.y[place])) if place < len(self.x) else (np.nan, np.nan)


Curves = Mapping[tuple[str, str], Curve]  # by labels and name


@dataclass(frozen=True)
class Images:
    """The images of a curve, in descending order of probability.

    `correct` (n,) is 1 for a right answer and 0 for a wrong one, `observations` (n,) numbers their observations.
    """

    correct: Floats
    observations: Ints


@dataclass(frozen=True)
class Case:
    """A case with its display name and all its curves."""

    entry: CaseRun
    name: str
    curves: Curves

    @cached_property
    def images(self) -> Mapping[tuple[str, str], Images]:
        """The images by label set and image set."""
        return read_artifact(self.entry.record, self.entry.folder, PREDICTIONS, sort_images)


@dataclass(frozen=True)
class CurveSpec:
    """The specification of a curve: its name in the artifact, the metric that is its area, and its titles.

    `of` is the category of the metric. With `falls`, x is the share of images abstained on, from 0 to 1.
    """

    curve: str
    area: str
    of: str
    head: str
    x: str
    y: str
    falls: bool = False

    def read_curve(self, case: Case, labels: str) -> Curve | None:
        """Return the curve of a case under a label set, None if it does not exist."""
        curve = case.curves.get((labels, self.curve))
        return Curve(1 - curve.x[::-1], curve.y[::-1]) if curve is not None and self.falls else curve

    def area_estimate(self, case: Case, labels: str) -> NumberCell:
        """Return the area under the curve with its interval."""
        return metric_estimate(case.entry, self.area, labels, self.of)

    def estimates(self, case: Case, labels: str) -> list[NumberCell]:
        """Return the area and, for a curve over the share abstained on, the accuracy at some shares."""
        area, curve = self.area_estimate(case, labels), self.read_curve(case, labels)
        if not self.falls:
            return [area]
        shares = [curve.at(share)[0] if curve else np.nan for share in SHARES]
        return [area, *(selective_accuracy(case.images[labels, self.of], share) for share in shares)]

    @property
    def short_name(self) -> str:
        """The short name of the area."""
        return {"i": "IG", "u": "UA/A"}.get(self.area[0], "AUC")

    @property
    def column_names(self) -> list[str]:
        """The names of the table columns."""
        return [self.head, *(f"{self.head}, {100 * share:g} % left out" for share in SHARES * self.falls)]


def selective_accuracy(images: Images, share: float) -> NumberCell:
    """Return the accuracy among the images that remain after abstaining on a share of the least confident images.

    The share is a point of the curve, so images of equal probability are kept or dropped together; NaN keeps none.
    """
    count = 0 if np.isnan(share) else round((1 - share) * len(images.correct))
    return clustered_proportion(images.correct[:count], images.observations[:count])


def sort_images(columns: Columns) -> dict[tuple[str, str], Images]:
    """Return the sorted images of every label set and image set from the sample table."""
    answerable = np.array(columns["subset"]) == "A"
    observations = np.unique(columns["observation"], return_inverse=True)[1].astype(np.int64)
    listed = np.array(columns["range.species.probability"]) != ""
    prefixes = {ALL: ("all", True), ELIGIBLE: ("all", listed), RANGE: ("range", listed)}
    images = {}
    for labels, (prefix, eligible) in prefixes.items():
        for of in SETS:
            kind, level = of.split(".")
            correct, sure = (parse_numbers(columns[f"{prefix}.{level}.{name}"]) for name in ("correct", "probability"))
            rows = np.flatnonzero(eligible & (answerable == (kind == "A")) & ~np.isnan(correct))
            rows = rows[np.argsort(-sure[rows], kind="stable")]
            images[labels, of] = Images(correct[rows], observations[rows])
    return images


def parse_numbers(texts: Sequence[str]) -> Floats:
    """Return texts as numbers, NaN for empty text."""
    return np.array([float(text or "nan") for text in texts], np.float64)


def accuracy_curve(of: str, criterion: str = "", *, falls: bool = False) -> CurveSpec:
    """Return the specification of accuracy by coverage, or, with `falls`, by the share abstained on."""
    end = "" if criterion == "max_probability" else criterion
    head = SETS[of] + (f", by {CRITERIA[criterion]}" if criterion else "")
    x = "abstained on (%)" if falls else "coverage (%)"
    return CurveSpec(f"accuracy {of} {end}".strip(), f"auc_{end}".strip("_"), of, head, x, "accuracy (%)", falls)


def abstention_curve(criterion: str) -> CurveSpec:
    """Return the specification of the abstention rate on unanswerable images by that on answerable images."""
    area = "ua_a" if criterion == "max_probability" else f"ua_a_{criterion}"
    head = f"UA/A, by {CRITERIA[criterion]}"
    return CurveSpec(f"abstention {criterion}", area, "all", head, "A abstained on (%)", "UA abstained on (%)")


GAIN = CurveSpec("ig", "ig", "A", "IG", "information gain (%)", "accuracy (%)")
Panel = tuple[CurveSpec, str]  # with its labels
Grid = Sequence[Sequence[Panel]]


def f5(labels: str) -> Grid:
    """Return the panels of Figure 5: information gain, accuracy by coverage, and the abstention tradeoff."""
    species, genus, tradeoff = (
        accuracy_curve("A.species"),
        accuracy_curve("A.genus"),
        abstention_curve("max_probability"),
    )
    return [[(GAIN, labels), (species, labels)], [(tradeoff, labels), (genus, labels)]]


def f9(labels: str) -> Grid:
    """Return the panels of Figure 9: the abstention tradeoff by each criterion."""
    return [[(abstention_curve(criterion), labels) for criterion in CRITERIA]]


def f10(labels: str) -> Grid:
    """Return the panels of Figure 10: accuracy by coverage for each criterion."""
    return [[(accuracy_curve(of, criterion), labels) for criterion in CRITERIA] for of in SETS]


def f17(labels: str) -> Grid:
    """Return the panels of Figure 17: accuracy by the share abstained on, without and with range lists."""
    return [[(accuracy_curve(of, falls=True), shown) for shown in (labels, RANGE)] for of in ("A.species", "UA.genus")]


def f18(labels: str) -> Grid:
    """Return the panels of Figure 18: information gain and the tradeoff by entropy, without and with range lists."""
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
    """Comparable cases, and the panels of a figure for which they have curves."""

    table_cases: TableCases
    cases: tuple[Case, ...]
    grid: Grid


def collect_curves(pool: Runs, name: str, labels: str | None) -> list[CurveBlock]:
    """Return the blocks of a figure, one per group of comparable cases; raises ReportError if no case has curves."""
    blocks = [build_block(kept, GRIDS[name](kept.labels)) for kept in select_cases(pool, SPECIES, name, labels)]
    kept = [block for block in blocks if block.grid]
    if not kept:
        both = all(sweep.of == "all" for row in GRIDS[name](ALL) for sweep, _ in row)
        kinds = "answerable and unanswerable birds together" if both else "answerable birds"
        raise nothing_to_show(pool, name, f"needs {kinds}", f'pytest -k "realbirdid and {SPECIES}"')
    return kept


def build_block(table_cases: TableCases, grid: Grid) -> CurveBlock:
    """Return the block of comparable cases, without panels that have no curve."""
    cases = tuple(read_case(entry, table_cases.names[id(entry)]) for entry in table_cases.group.cases)
    rows = [[panel for panel in dict.fromkeys(row) if has_curve(panel, cases)] for row in grid]
    return CurveBlock(table_cases, cases, [row for row in rows if row])


def has_curve(panel: Panel, cases: Sequence[Case]) -> bool:
    """Return whether any case has the curve of a panel."""
    sweep, labels = panel
    return any(sweep.read_curve(case, labels) is not None for case in cases)


def read_case(entry: CaseRun, name: str) -> Case:
    """Return a case with its curves."""
    return Case(entry, name, read_artifact(entry.record, entry.folder, "curves", parse_curves))


def parse_curves(columns: Columns) -> Curves:
    """Return the curves of a csv by label set and name."""
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    points = zip(map(float, columns["x"]), map(float, columns["y"]), strict=True)
    for key, point in zip(zip(columns["labels"], columns["curve"], strict=True), points, strict=True):
        rows.setdefault(key, []).append(point)
    return {key: sort_by_x(np.array(points, np.float64)) for key, points in rows.items()}


def sort_by_x(points: Floats) -> Curve:
    """Return the curve of points (n, 2), sorted by x, without NaN."""
    kept = points[~np.isnan(points).any(axis=1)]
    kept = kept[np.argsort(kept[:, 0], kind="stable")]
    return Curve(kept[:, 0], kept[:, 1])


def table_function(name: str) -> Callable[[Runs, str | None], list[Table]]:
    """Return the function that makes the table of a figure: the area under each curve, one row per model."""
    return lambda pool, labels: [area_table(block) for block in collect_curves(pool, name, labels)]


def area_table(block: CurveBlock) -> Table:
    """Return the table of one block."""
    panels = [panel for row in block.grid for panel in row]
    several = len({labels for _, labels in panels}) > 1
    heads = [f"{head} ({labels})" if several else head for sweep, labels in panels for head in sweep.column_names]
    rows: list[Row] = [
        (case.name, *(number for sweep, labels in panels for number in sweep.estimates(case, labels)))
        for case in block.cases
    ]
    return block.table_cases.table("areas under curves (%)", ("Model", *heads), rows, *MEANING)


TABLES = {name: table_function(name) for name in GRIDS}
