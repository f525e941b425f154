"""The distribution protocol: whether the out-of-distribution pairs of two splits come from one distribution."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError
from eyechart.inference.requests.row_requests import Encode
from eyechart.models.types import Floats
from eyechart.oodbench.answers.pair_predictions import LABELS
from eyechart.oodbench.division.case_division import load_division
from eyechart.oodbench.division.division_files import labels_sha256
from eyechart.oodbench.division.division_options import DIVIDED, REFERENCE, unused, warnings
from eyechart.oodbench.division.pairs import OOD_H, OOD_S, Division
from eyechart.oodbench.protocols.existence import division_parameters
from eyechart.oodbench.statistics.mmd import MmdEquivalence, mmd_equivalence
from eyechart.protocol.base import Example, Predictions, Protocol, Rows, with_key
from eyechart.protocol.context import Context
from eyechart.protocol.options import OptionValues, RequestedValues, flag
from eyechart.results.estimates import Estimate
from eyechart.results.records import OutcomeCounts
from eyechart.results.sample_table import SHARED_COLUMNS, shared_cells

APART = "OOD"
MIN_PAIRS, NONE = 4, "none"  # pairs a side; no reference


@dataclass(frozen=True)
class _PairFeatures:
    """The compared pairs of a split: their indices in its division, their image features and their categories."""

    dataset: Dataset
    division: Division
    indices: np.ndarray
    features: Floats
    categories: np.ndarray
    errors: dict[str, str]


@dataclass(frozen=True)
class DistributionPredictions(Predictions):
    """The pairs of a split and of the reference split, and the distance between both samples."""

    split: _PairFeatures
    reference: _PairFeatures
    result: MmdEquivalence
    variant: Mapping[str, str]

    @property
    def keys(self) -> tuple[str, ...]:  # type: ignore[override]
        """The keys of the split's images."""
        return self.split.dataset.keys

    @property
    def errors(self) -> Mapping[int, str]:  # type: ignore[override]
        """The errors of the split's images without features, by index; images of the reference are not included."""
        return {row: self.split.errors[key] for row, key in enumerate(self.keys) if key in self.split.errors}

    @property
    def sides(self) -> dict[str, _PairFeatures]:
        """Both samples by name."""
        return {"split": self.split, "reference": self.reference}

    def error_messages(self) -> list[str]:
        """Return the error of every image of both samples without features."""
        return [with_key(key, error) for sample in self.sides.values() for key, error in sample.errors.items()]

    def describe_count(self) -> str:
        """Return the number of images that both samples are drawn from."""
        return f"{sum(len(sample.dataset) for sample in self.sides.values())} images"

    def notes(self) -> Iterator[str]:
        """Yield a note if both samples share images."""
        here, other = ({*sample.dataset.selected_digests} for sample in self.sides.values())
        if here & other:
            yield (
                f"{len(here & other):,} of {len(here):,} images are in {self.reference.dataset.split} too, byte for "
                "byte: shared images make the samples look more similar."
            )

    def label_hashes(self) -> dict[str, str]:
        """Return the sha256 of the pairs of both divisions."""
        here, other = self.split, self.reference
        return {
            LABELS: labels_sha256(here.division, here.dataset),
            f"{LABELS}, reference": labels_sha256(other.division, other.dataset),
        }

    def count_outcomes(self) -> OutcomeCounts:
        """Count the errors; features are neither right nor wrong."""
        return OutcomeCounts(error=len(self.error_messages()))

    def samples(self) -> Rows:
        """Yield every pair that is compared; a pair has no answer."""
        yield [*SHARED_COLUMNS, "side", "category", "category_name"]
        for side, sample in self.sides.items():
            for index in sample.indices.tolist():
                category = int(sample.division.categories[index])
                key = sample.dataset.keys[sample.division.rows[index]]
                shared = shared_cells(key=key, subset=sample.division.sets[index])
                yield [*shared, side, category, sample.dataset.names[category]]


def distribution_distance(predictions: DistributionPredictions) -> Iterator[Estimate]:
    """Yield the squared maximum mean discrepancy of the two samples, its bounds, and the p-value of the test.

    Source: arXiv 2602.18094, appendix on S-MMD; Gretton et al. 2012, "A Kernel Two-Sample Test".
    """
    apart, n = predictions.result, len(predictions.split.indices) + len(predictions.reference.indices)
    for name, value, interval, method in (
        ("mmd2", apart.mmd2, apart.ci, "bootstrap"),
        ("mmd2_tau", apart.tau, None, "half-splits"),
        ("mmd2_null", apart.null, None, "permutation"),
        ("mmd2_p", apart.p, None, "permutation"),
    ):
        title = f"{APART} MMD² (× 100)" if name == "mmd2" else ""
        named = partial(Estimate, name=name, labels=LABELS, subset=APART, title=title)
        yield named(value=value, n=n, interval=interval, method=method)


class Distribution(Protocol[DistributionPredictions]):
    """Tests whether the OOD pairs of two splits come from one distribution, in the features of an encoder."""

    name = "distribution"
    example = Example(
        "oodbench/sample-coco/open_clip[toybox-clip]@reference=oodbench/sample-lvis", ("mmd2 OOD", "mmd2_p OOD")
    )
    summary = "The features of two sets of images are compared as distributions."
    source = "arXiv 2602.18094"
    requires = ("image_encoder",)
    options = (*DIVIDED, REFERENCE)
    benchmarks = ("oodbench",)
    metrics = (distribution_distance,)
    steps = (mmd_equivalence,)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:  # noqa: ARG002
        """Return the options that have no effect because the division is read from a file."""
        return unused(options)

    def warnings(self, requested: RequestedValues) -> str:
        """Return a warning if given options have no effect because the division is read from a file."""
        return warnings(self.name, requested)

    def expand_grid(self, requested: RequestedValues, capabilities: Collection[str] = ()) -> Iterator[OptionValues]:
        """Yield the combinations of options with a reference split; without one there is nothing to compare."""
        yield from (options for options in super().expand_grid(requested, capabilities) if options["reference"] != NONE)

    def unavailable(self, context: Context) -> str:
        """Return why the split cannot be compared with the reference, "" if it can."""
        return _reference_problem(context.options, context.dataset, context.open_split)

    def predict(self, context: Context) -> DistributionPredictions:
        """Compare the split's OOD pairs with those of the reference."""
        benchmark, _, split = context.options["reference"].rpartition("/")
        if why := _reference_problem(context.options, context.dataset, context.open_split):
            raise DataError(
                f"{flag(self.name, 'reference', why)}. "
                "Expected a split of the same data set, such as its training images."
            )
        other = context.open_split(benchmark, split)
        here, reference = _pair_features(context), _pair_features(replace(context, dataset=other))
        result = mmd_equivalence(
            reference.features, reference.categories, here.features, here.categories, seed=context.runner.seed
        )
        variant = {
            **context.options,
            **division_parameters(context, here.division),
            "bandwidth": f"{result.bandwidth:.6g}",
        }
        return DistributionPredictions(here, reference, result, variant)


def _reference_problem(chosen: OptionValues, dataset: Dataset, open_split: Callable[[str, str], Dataset]) -> str:
    """Return why a split cannot be compared with the reference; "" if it can, or if there is no reference."""
    other_split, here = chosen.get("reference", NONE), f"{dataset.benchmark}/{dataset.split}"
    if other_split == NONE:
        return ""
    if other_split == here:
        return f"{other_split} is the split itself, not a second sample"
    benchmark, _, split = other_split.rpartition("/")
    other = open_split(benchmark, split).names != dataset.names
    return f"the categories of {other_split} differ from those of {here}" if other else ""


def _pair_features(context: Context) -> _PairFeatures:
    """Return the OOD pairs of the main benchmark with the features of their images.

    Raises DataError if there are fewer than MIN_PAIRS.
    """
    division = load_division(context)
    cached = context.runner.run(Encode(), context.image_encoder, context.dataset)
    wanted = np.isin(np.array(division.sets), (OOD_S, OOD_H)) & division.main
    indices = np.flatnonzero(wanted & ~np.isin(division.rows, [*cached.errors]))
    if len(indices) < MIN_PAIRS:
        name = f"{context.dataset.benchmark}/{context.dataset.split}"
        raise DataError(
            f"{name} has {len(indices)} OOD pairs with features, expected at least {MIN_PAIRS}. Use more images, or "
            "another threshold."
        )
    errors = {context.dataset.keys[row]: error for row, error in cached.errors.items()}
    features = np.asarray(cached.values[division.rows[indices]])
    return _PairFeatures(context.dataset, division, indices, features, division.categories[indices], errors)
