"""Confidence by the number of candidate species: Figure 11 of arXiv 2603.27033 as a table."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil, log

import numpy as np

from eyechart.metrics.clusters import clustered_t_interval, effective_sample_size
from eyechart.metrics.intervals import fisher_interval

from ..answers import Bools, Floats, Ints, clustered_proportion
from ..oodbench.measures import interval_or_none
from ..oodbench.pairs import PREDICTIONS, Columns, parse_integers, read_artifact
from ..render import CORRELATION, NumberCell, NumberFormat, Row, Table
from ..runs import CaseRun, Runs
from .cases import RANGE, SPECIES
from .model_families import SETS, TableCases, select_cases

MOST = 40  # bins of one figure
KINDS = {"A": "answerable", "UA": "unanswerable"}
MEASURES = {"entropy": "Entropy", "probability": "Max probability"}  # of the species' probabilities
VALUE = NumberFormat(1, 3)
MEANING = (
    "Choices: how many species the image's range list has. Frequency: the share of the set's images, with Wilson's "
    "interval. Entropy (nats) and max probability of the listed species: means, with Student's interval within what so "
    "many choices can have. All brackets are 95 % intervals over observations, each with all its images."
)
RHO = (
    "ρ: Spearman's correlation with the number of choices over a set's images, with Fisher's interval at their "
    "effective number, which several images of one observation lower: {}."
)


@dataclass(frozen=True)
class ImageConfidences:
    """Images with a range list (n,): number of candidates, answerability, observation, and confidence measures."""

    choices: Ints
    answerable: Bools
    observations: Ints
    measures: dict[str, Floats]


@dataclass(frozen=True)
class Bin:
    """Images with `low` to `high` candidates: their proportion of the image set, and the means of the measures."""

    low: int
    high: int
    frequency: NumberCell
    means: dict[str, NumberCell]

    @property
    def name(self) -> str:
        """The range as text: `3`, or `3–5`."""
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


@dataclass(frozen=True)
class BinnedImages:
    """One image set of one model, binned by the number of candidates."""

    entry: CaseRun
    model: str
    kind: str
    n: int
    bins: tuple[Bin, ...]
    correlations: dict[str, NumberCell]

    @property
    def correlation_text(self) -> str:
        """The correlations as text."""
        return ", ".join(
            f"{MEASURES[name]} {estimate.text(with_n=False)}" for name, estimate in self.correlations.items()
        )


@dataclass(frozen=True)
class TableBins:
    """The models on the same images."""

    table_cases: TableCases
    image_sets: tuple[BinnedImages, ...]


def collect_bins(pool: Runs, name: str = "realbirdid-F11") -> list[TableBins]:
    """Return the bins of every model, answerable images first."""
    return [
        TableBins(table_cases, tuple(iterate_image_sets(table_cases)))
        for table_cases in select_cases(pool, SPECIES, name, None, RANGE)
    ]


def iterate_image_sets(table_cases: TableCases) -> Iterator[BinnedImages]:
    """Yield both image sets of every model."""
    for entry in table_cases.group.cases:
        sure = read_artifact(entry.record, entry.folder, PREDICTIONS, parse_columns)
        edges = bin_edges(sure.choices)
        for kind in KINDS:
            selected = sure.answerable == (kind == "A")
            if selected.any():
                yield bin_images(entry, table_cases.names[id(entry)], kind, select_images(sure, selected), edges)


def parse_columns(table: Columns) -> ImageConfidences:
    """Return the images that have an answer under their range list."""
    every = {name: np.array([float(text or "nan") for text in table[f"range.species.{name}"]]) for name in MEASURES}
    answered = ~np.isnan(every["probability"])
    choices, answerable = parse_integers(table["range.candidates"]), np.array(table["subset"]) == "A"
    observations = np.unique(table["observation"], return_inverse=True)[1].astype(np.int64)
    return select_images(ImageConfidences(choices, answerable, observations, every), answered)


def select_images(sure: ImageConfidences, chosen: Bools) -> ImageConfidences:
    """Return a selection of the images."""
    measures = {name: values[chosen] for name, values in sure.measures.items()}
    return ImageConfidences(sure.choices[chosen], sure.answerable[chosen], sure.observations[chosen], measures)


def bin_edges(choices: Ints) -> list[tuple[int, int]]:
    """Return the first and last number of candidates of each bin: one bin per number, or at most 40 equal bins."""
    counts = np.unique(choices).tolist()
    if len(counts) <= MOST:
        return [(number, number) for number in counts]
    width = ceil((counts[-1] - counts[0] + 1) / MOST)
    return [(low, low + width - 1) for low in range(counts[0], counts[-1] + 1, width)]


def bin_images(
    entry: CaseRun, model: str, kind: str, sure: ImageConfidences, edges: list[tuple[int, int]]
) -> BinnedImages:
    """Return the bins and correlations of one image set."""
    bins = [build_bin(sure, low, high) for low, high in edges]
    rho = {name: correlation(sure.choices, values, sure.observations) for name, values in sure.measures.items()}
    return BinnedImages(
        entry,
        model,
        kind,
        len(sure.choices),
        tuple(candidate_bin for candidate_bin in bins if candidate_bin.frequency.value),
        rho,
    )


def build_bin(sure: ImageConfidences, low: int, high: int) -> Bin:
    """Return the bin of images with `low` to `high` candidates."""
    inside = (sure.choices >= low) & (sure.choices <= high)
    possible = {"entropy": (0.0, log(max(high, 1))), "probability": (1 / max(high, 1), 1.0)}
    units = sure.observations[inside]
    means = {name: mean_estimate(values[inside], units, *possible[name]) for name, values in sure.measures.items()}
    frequency = replace(clustered_proportion(inside, sure.observations), n=int(inside.sum()))
    return Bin(low, high, frequency, means)


def mean_estimate(values: Floats, observations: Ints, least: float, most: float) -> NumberCell:
    """Return a mean with Student's interval over observations, clipped to `least` and `most`."""
    if not len(values):
        return NumberCell(None, style=VALUE)
    value, interval = float(values.mean()), interval_or_none(clustered_t_interval(values, observations))
    ci = (min(value, max(least, interval[0])), max(value, min(most, interval[1]))) if interval else None
    return NumberCell(value, ci=ci, style=VALUE)


def correlation(counts: Ints, values: Floats, observations: Ints) -> NumberCell:
    """Return Spearman's correlation with Fisher's interval at the effective n, without a value for constant data.

    The design effect is that of the images' influence on the correlation of ranks (S. J. Devlin, R. Gnanadesikan and
    J. R. Kettenring, Biometrika 62 (1975) 531-545).
    """
    from scipy.stats import rankdata  # half a second that few tables need

    if len({*counts.tolist()}) < 2 or len({*values.tolist()}) < 2:
        return NumberCell(None, len(counts), style=CORRELATION)
    x, y = ((ranks - ranks.mean()) / ranks.std() for ranks in (rankdata(counts), rankdata(values)))
    r = float(np.clip((x * y).mean(), -1, 1))
    n = int(effective_sample_size(x * y - r * (x**2 + y**2) / 2, observations) + 1e-9)
    return NumberCell(r, len(counts), interval_or_none(fisher_interval(r, n, "spearman")), style=CORRELATION)


def f11(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 11 as a table, one row per number of candidates."""
    return [f11_table(bins) for bins in collect_bins(pool)]


def f11_table(bins: TableBins) -> Table:
    """Return the table of models on the same images."""
    rows: list[Row] = [
        (of.model, KINDS[of.kind], candidate_bin.name, candidate_bin.frequency, *candidate_bin.means.values())
        for of in bins.image_sets
        for candidate_bin in of.bins
    ]
    heads = ("Model", "Images", "Choices", "Frequency", *MEASURES.values())
    notes = [RHO.format(f"{of.model}, {of.kind} (n={of.n:,}): {of.correlation_text}") for of in bins.image_sets]
    return bins.table_cases.table("how sure models are by number of choices", heads, rows, MEANING, SETS, *notes)


TABLES: dict[str, Callable[[Runs, str | None], list[Table]]] = {"realbirdid-F11": f11}
