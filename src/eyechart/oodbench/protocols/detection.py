"""The detection protocol: the pairs that one detector flags, and the distribution of its logits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.oodbench.answers.pair_predictions import LABELS
from eyechart.oodbench.data.annotation import Annotation
from eyechart.oodbench.division.detectors import run_detector
from eyechart.oodbench.division.division_options import DETECTOR_TEMPLATES, THRESHOLD
from eyechart.oodbench.division.flags import OUTSCORED, UNLIKELY, Flags
from eyechart.oodbench.division.pairs import DetectorOutput, flag_failures, require_annotation
from eyechart.protocol.base import Example, Predictions, Protocol, Rows
from eyechart.protocol.context import Context
from eyechart.protocol.sample_view import Line, SampleView
from eyechart.results.estimates import Estimate, score_estimates
from eyechart.results.records import OutcomeCounts
from eyechart.results.sample_table import SHARED_COLUMNS, shared_cells
from eyechart.statistics.proper_scores import log_scores

_LOGIT_BINS, _SHARE_BINS = 40, 20
_DETECTED, _MISSED = "detected", "missed"  # a pair that is flagged is missed


@dataclass(frozen=True)
class DetectionPredictions(Predictions):
    """A detector's logits (n, k) and flags, the images that have logits (`usable`, (n,)), and the annotation."""

    output: DetectorOutput
    flags: Flags
    annotation: Annotation
    usable: np.ndarray
    keys: tuple[str, ...]
    names: tuple[str, ...]
    variant: Mapping[str, str]

    @property
    def errors(self) -> Mapping[int, str]:  # type: ignore[override]
        """The error message of every image without logits."""
        return self.output.errors

    def label_hashes(self) -> dict[str, str]:
        """Return the sha256 of the annotation."""
        return {LABELS: self.annotation.sha256}

    def count_outcomes(self) -> OutcomeCounts:
        """Count the pairs; a flagged pair counts as wrong."""
        codes = self.flags.codes[self.flags.present]
        return OutcomeCounts(correct=int((codes == 0).sum()), wrong=int((codes > 0).sum()), error=len(self.errors))

    def data_notes(self) -> Iterator[str]:
        """Yield what was left out of the annotation."""
        yield from map(str, self.annotation.excluded)

    def samples(self) -> Rows:
        """Yield every present pair with its two flags and its purified probability, both "" for an error."""
        yield [*SHARED_COLUMNS, "category", "category_name", "outscored", "unlikely", "probability"]
        flags, codes = self.flags, self.flags.codes
        pairs = flags.present | (self.annotation.present & ~self.usable[:, None])
        for row, category in zip(*(part.tolist() for part in np.nonzero(pairs)), strict=True):
            code, error = int(codes[row, category]), self.errors.get(row, "")
            shared = shared_cells(
                key=self.keys[row],
                target=_DETECTED,
                prediction="" if error else _MISSED if code else _DETECTED,
                correct=None if error else code == 0,
                error=error,
            )
            flagged = [int(code & OUTSCORED > 0), int(code & UNLIKELY > 0), f"{flags.probability[row, category]:.6g}"]
            yield [*shared, category, self.names[category], *([""] * 3 if error else flagged)]

    def files(self) -> dict[str, Rows]:
        """Return the histograms of logits and probabilities."""
        return {"logits": self.histogram_rows()}

    def histogram_rows(self) -> Rows:
        """Yield per category the histograms of its logits (present, absent) and of its purified probabilities."""
        yield ["what", "category", "name", "present", "low", "high", "count"]
        usable = self.usable[:, None]
        logits = np.asarray(self.output.logits, np.float64)
        masks = {1: self.annotation.present & usable, 0: self.annotation.known_absent & usable}
        edges = bin_edges(logits[masks[0] | masks[1]])
        for category, name in enumerate(self.names):
            for here, mask in masks.items():
                values = logits[mask[:, category], category]
                yield from _histogram_rows(["logit", category, name, here], values, edges)
            shares = self.flags.probability[masks[1][:, category], category]
            yield from _histogram_rows(["probability", category, name, 1], shares, np.linspace(0, 1, _SHARE_BINS + 1))


def flagged_shares(predictions: DetectionPredictions) -> Iterator[Estimate]:
    """Yield the share of pairs that the detector fails on, with intervals clustered by image.

    Source: arXiv 2602.18094, section 3.1.
    """
    flags = predictions.flags
    codes, images = flags.codes[flags.present], np.nonzero(flags.present)[0]
    for name, mask in (("flagged", codes > 0), ("case1", codes & OUTSCORED > 0), ("case2", codes & UNLIKELY > 0)):
        title = name if name == "flagged" else ""
        outcomes = mask.astype(np.float64)
        yield Estimate.proportion(name, outcomes, images, compared=False, labels=LABELS, title=title)


def detection_scores(predictions: DetectionPredictions) -> Iterator[Estimate]:
    """Yield `log_score` and `target_brier` of the present categories of each image, among those that are annotated.

    Images without a present or without an absent category do not count, since detection compares one with the other.
    """
    present, absent = predictions.annotation.present, predictions.annotation.known_absent
    logits = np.where(present | absent, predictions.output.logits, -np.inf)
    categories = np.where(present, np.arange(present.shape[1]), -1)
    counted = predictions.usable & present.any(axis=1) & absent.any(axis=1)
    yield from score_estimates(LABELS, np.where(counted, log_scores(logits, categories), np.nan))


def _describe_flags(row: Line) -> str:
    """Return the cases by which a pair is flagged."""
    flags = [name for name in ("outscored", "unlikely") if row[name] == "1"]
    return "" if row["error"] else f"flagged: {', '.join(flags)}" if flags else "not flagged"


class Detection(Protocol[DetectionPredictions]):
    """Evaluates a detector: which pairs it fails on, and how its logits are distributed."""

    name = "detection"
    example = Example("oodbench/sample-coco/open_clip[toybox-clip]", ("flagged all",))
    summary = "A detector scores every category of the image; pairs that it fails on divide the data."
    sample_view = SampleView(
        lambda _: {LABELS: ("correct", "target")},
        unit="pair",
        question=lambda row: f"{row['category_name']} ({row['category']})",
        answer=_describe_flags,
        details=lambda row: [("purified probability", row["probability"])],
    )
    source = "arXiv 2602.18094"
    requires = ("encoder", "classifier", "matcher")
    options = (DETECTOR_TEMPLATES, THRESHOLD)
    benchmarks = ("oodbench",)
    metrics = (flagged_shares, detection_scores)
    steps = (run_detector, flag_failures)

    def predict(self, context: Context) -> DetectionPredictions:
        """Compute the logits of every image and category, and flag the failures."""
        notation, chosen = require_annotation(context.dataset), context.options
        output = run_detector(
            context.runner, context.model, context.spec, context.dataset, chosen["detector_templates"]
        )
        usable = np.ones(len(context.dataset), np.bool_)
        usable[[*output.errors]] = False
        sources = {"names": "split", "templates": output.detector.templates, "source": notation.source}
        return DetectionPredictions(
            output=output,
            flags=flag_failures(output, notation, usable, float(chosen["threshold"])),
            annotation=notation,
            usable=usable,
            keys=context.dataset.keys,
            names=context.dataset.names,
            variant={**chosen, **sources},
        )


def bin_edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bin edges that all categories share."""
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    return np.linspace(low, high if high > low else low + 1, _LOGIT_BINS + 1)


def _histogram_rows(head: list[Any], values: NDArray[np.float64], edges: NDArray[np.float64]) -> Rows:
    """Yield one row per non-empty bin."""
    counts, _ = np.histogram(values, edges)
    for index in np.flatnonzero(counts).tolist():
        yield [*head, f"{edges[index]:.6g}", f"{edges[index + 1]:.6g}", int(counts[index])]
