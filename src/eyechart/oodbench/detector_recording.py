"""What cases about detectors and features write down: what is flagged, how logits lie, how far splits are apart."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset import Dataset
from eyechart.estimates import Estimate
from eyechart.gate.evidence import Floats
from eyechart.metrics.clusters import clustered_wilson
from eyechart.oodbench.detection import Detection
from eyechart.oodbench.distribution import Distribution
from eyechart.oodbench.division_files import truth_of
from eyechart.oodbench.flags import BEATEN, UNLIKELY
from eyechart.oodbench.scoring import LABELS
from eyechart.protocol.result import FoundRecording, Rows, about, answered_images, named
from eyechart.records import Outcomes

LOGIT_BINS, SHARE_BINS = 40, 20
APART = "OOD"


class DetectionRecording(FoundRecording[Detection]):
    """Collects the numbers of a case of detection."""

    @property
    def errors(self) -> list[str]:
        """Every image without logits."""
        return [named(self.found.keys[row], error) for row, error in self.found.detected.errors.items()]

    @property
    def asked(self) -> str:
        """How many answers were wanted."""
        return f"{len(self.dataset)} images"

    def detection(self, found: Detection) -> None:
        """Count the pairs that the detector fails on; several are of one image."""
        codes, n = found.flags.codes[found.flags.present], int(found.flags.present.sum())
        images = np.nonzero(found.flags.present)[0]
        method = "wilson" if len(np.unique(images)) == n else "clustered wilson"
        for name, mask in (
            ("flagged", codes > 0),
            ("case1", codes & BEATEN > 0),
            ("case2", codes & UNLIKELY > 0),
        ):
            hits = int(mask.sum())
            value, ci = (hits / n, clustered_wilson(mask.astype(np.float64), images)) if n else (None, None)
            self.scored.append(Estimate(name=name, labels=LABELS, value=value, n=n, interval=ci, method=method))

    def truths(self) -> Mapping[str, str]:
        """The sha256 of the annotation."""
        return {LABELS: self.found.notation.sha256}

    def outcomes(self) -> Outcomes:
        """A pair that is flagged is one that the detector got wrong."""
        codes = self.found.flags.codes[self.found.flags.present]
        return Outcomes(correct=int((codes == 0).sum()), wrong=int((codes > 0).sum()), error=len(self.errors))

    def answered(self) -> Floats:
        """Whether each image has logits."""
        return answered_images(np.arange(len(self.dataset)), self.found.detected.errors, len(self.dataset))

    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know, and what of the annotation was left out."""
        return (*super().notes(), *about(self.case, self.found.notation.excluded))

    def answer_rows(self) -> Rows:
        """Every present pair: whether it is flagged, and its purified probability."""
        yield ["key", "category", "name", "case1", "case2", "probability"]
        flags = self.found.flags
        codes = flags.codes
        for row, category in zip(*(part.tolist() for part in np.nonzero(flags.present)), strict=True):
            code, share = int(codes[row, category]), flags.probability[row, category]
            cells = [int(code & BEATEN > 0), int(code & UNLIKELY > 0), f"{share:.6g}"]
            yield [self.found.keys[row], category, self.found.names[category], *cells]

    def artifact_rows(self) -> dict[str, Rows]:
        """How logits and probabilities lie."""
        return {"logits": self.histogram_rows()}

    def histogram_rows(self) -> Rows:
        """Every category's counts in bins of logits, present and absent, and of purified probabilities."""
        yield ["what", "category", "name", "present", "low", "high", "count"]
        found, seen = self.found, self.found.usable[:, None]
        logits = np.asarray(found.detected.logits, np.float64)
        masks = {1: found.notation.present & seen, 0: found.notation.absent & seen}
        edges = edges_of(logits[masks[0] | masks[1]])
        for category, name in enumerate(found.names):
            for here, mask in masks.items():
                values = logits[mask[:, category], category]
                yield from binned(["logit", category, name, here], values, edges)
            shares = found.flags.probability[masks[1][:, category], category]
            yield from binned(["probability", category, name, 1], shares, np.linspace(0, 1, SHARE_BINS + 1))


def edges_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ends of the bins that all categories share."""
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    return np.linspace(low, high if high > low else low + 1, LOGIT_BINS + 1)


def binned(head: list[Any], values: NDArray[np.float64], edges: NDArray[np.float64]) -> Rows:
    """The bins that hold something."""
    counts, _ = np.histogram(values, edges)
    for place in np.flatnonzero(counts).tolist():
        yield [*head, f"{edges[place]:.6g}", f"{edges[place + 1]:.6g}", int(counts[place])]


def hashes(dataset: Dataset) -> set[str]:
    """The sha256 of every image in play."""
    return {dataset.index[row].sha256 for row in dataset.selected}


class DistributionRecording(FoundRecording[Distribution]):
    """Collects the numbers of a case of distribution."""

    @property
    def samples(self) -> dict[str, Any]:
        """Both sides by their names."""
        return {"split": self.found.here, "reference": self.found.reference}

    @property
    def errors(self) -> list[str]:
        """Every image without features."""
        return [named(key, error) for sample in self.samples.values() for key, error in sample.errors.items()]

    @property
    def asked(self) -> str:
        """How many answers were wanted."""
        return f"{sum(len(sample.dataset) for sample in self.samples.values())} images"

    def distribution(self, found: Distribution) -> None:
        """Take the numbers down."""
        apart, n = found.found, len(found.here.places) + len(found.reference.places)
        for name, value, ci, how in (
            ("mmd2", apart.mmd2, apart.ci, "bootstrap"),
            ("mmd2_tau", apart.tau, None, "half-splits"),
            ("mmd2_null", apart.null, None, "permutation"),
            ("mmd2_p", apart.p, None, "permutation"),
        ):
            self.scored.append(
                Estimate(name=name, labels=LABELS, category=APART, value=value, n=n, interval=ci, method=how)
            )

    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know, and whether the second sample is the first again."""
        here, other = (hashes(sample.dataset) for sample in self.samples.values())
        copied = (
            f"{self.case}: {len(here & other):,} of {len(here):,} images are in {self.found.reference.dataset.split} "
            "too, byte for byte: what they share makes the samples look alike."
        )
        return (*super().notes(), *((copied,) if here & other else ()))

    def truths(self) -> Mapping[str, str]:
        """The sha256 of the pairs of both divisions."""
        here, other = self.found.here, self.found.reference
        return {
            LABELS: truth_of(here.division, here.dataset),
            f"{LABELS}, reference": truth_of(other.division, other.dataset),
        }

    def outcomes(self) -> Outcomes:
        """Features are neither right nor wrong."""
        return Outcomes(error=len(self.errors))

    def answered(self) -> Floats:
        """Whether each image of the split has features; those of the reference are images of another split."""
        keys, failed = self.dataset.keys, self.found.here.errors
        return answered_images(np.arange(len(keys)), [row for row, key in enumerate(keys) if key in failed], len(keys))

    def answer_rows(self) -> Rows:
        """Every pair that is compared."""
        yield ["sample", "key", "category", "name", "set"]
        for side, sample in self.samples.items():
            for place in sample.places.tolist():
                category = int(sample.division.categories[place])
                key = sample.dataset.keys[sample.division.rows[place]]
                yield [side, key, category, sample.dataset.names[category], sample.division.sets[place]]
