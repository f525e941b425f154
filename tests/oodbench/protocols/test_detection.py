"""Proper scores of detectors, against plain loops: how probable the present categories of an image are."""

from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np
import pytest

from eyechart.gate.comparison.compare_metrics import SCORES, compare_metrics
from eyechart.oodbench.protocols.detection import DetectionPredictions, detection_scores
from eyechart.protocol.registry import get_protocol
from eyechart.results.evidence import Evidence, collect_evidence
from eyechart.statistics.least_probability import LEAST


def found(world: Any, **more: Any) -> DetectionPredictions:
    """Return what the first detector says of the pictures."""
    context = world.sit(world.get_model("first[]"), "detection", dataset=world.dataset(**more))
    predictions: DetectionPredictions = get_protocol("detection").predict(context)
    return predictions


def plain(predictions: DetectionPredictions) -> list[float]:
    """Return the log score of each image, by loops over its categories."""
    scores = []
    annotation, logits = predictions.annotation, predictions.output.logits.tolist()
    for row, usable in enumerate(predictions.usable):
        present = [exp(x) for x, here in zip(logits[row], annotation.present[row], strict=True) if here]
        absent = [exp(x) for x, away in zip(logits[row], annotation.known_absent[row], strict=True) if away]
        known = usable and present and absent
        share = sum(present) / (sum(present) + sum(absent)) if known else float("nan")
        scores.append(log(max(share, LEAST)) if known else float("nan"))
    return scores


def test_the_score_of_an_image_is_that_of_its_present_categories(pair_world: Any) -> None:
    predictions = found(pair_world, broken=frozenset({0}))
    mean, brier = detection_scores(predictions)
    expected = plain(predictions)
    assert mean.scores is not None
    assert mean.scores.tolist() == pytest.approx(expected, nan_ok=True, abs=1e-6)
    counted = [score for score in expected if score == score]
    assert np.isnan(expected[0])
    assert (mean.n, mean.value) == (len(counted), pytest.approx(sum(counted) / len(counted)))
    assert brier.value == pytest.approx(sum((1 - exp(score)) ** 2 for score in counted) / len(counted))


def test_what_is_not_annotated_does_not_count(pair_world: Any) -> None:
    known = np.ones(np.shape(pair_world.counts), bool)
    known[:, 1::2] = False
    partial = replace(pair_world, annotation={"known": known})
    predictions = found(partial)
    mean, _ = detection_scores(predictions)
    assert mean.scores is not None
    assert mean.scores.tolist() == pytest.approx(plain(predictions), nan_ok=True, abs=1e-6)
    assert 0 < mean.n < len(predictions.keys)
    whole, _ = detection_scores(found(pair_world))
    assert mean.value != whole.value


def test_a_damaged_detector_has_worse_scores(pair_world: Any) -> None:
    predictions = found(pair_world)
    output = replace(predictions.output, logits=predictions.output.logits * np.float32(0.3))
    sides = [evidence(side) for side in (predictions, replace(predictions, output=output))]
    log_score, _ = compare_metrics(*sides)
    assert (log_score.family, log_score.metric.name, log_score.metric.direction) == (SCORES, "log_score", 1)
    assert log_score.delta < 0


def evidence(predictions: DetectionPredictions) -> Evidence:
    """Return the evidence of the scores."""
    metrics, arrays = collect_evidence(detection_scores(predictions))
    blank = dict.fromkeys(("case", "protocol", "model", "weights_sha256", "fingerprint"), "")
    none: dict[str, str] = {}
    return Evidence(
        **blank,
        label_hashes=none,
        variant=none,
        limit=None,
        seed=0,
        samples=len(predictions.keys),
        environment=none,
        metrics=metrics,
        arrays=arrays,
    )
