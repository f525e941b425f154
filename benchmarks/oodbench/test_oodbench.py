"""OODBench: what models say of image–category pairs in and out of distribution; one test function a protocol."""

import pytest

from eyechart.oodbench.detection import DetectionPredictions, flagged_shares
from eyechart.oodbench.distribution import DistributionPredictions, distribution_distance
from eyechart.oodbench.metrics import answer_shares, degradation, stage_accuracies, yes_no_measures
from eyechart.oodbench.predictions import ExistencePredictions, ProgressionPredictions
from eyechart.protocol.evaluate import Evaluate


@pytest.mark.eyechart("oodbench", protocol="existence")
def test_existence(evaluate: Evaluate[ExistencePredictions]) -> None:
    """Is it there, is it not there: two opposite questions a pair."""
    evaluate(yes_no_measures, answer_shares, degradation)


@pytest.mark.eyechart("oodbench", protocol="progression")
def test_progression(evaluate: Evaluate[ProgressionPredictions]) -> None:
    """Is one there, how many are there of another, and are there more of the one."""
    evaluate(stage_accuracies)


@pytest.mark.eyechart("oodbench", protocol="detection")
def test_detection(evaluate: Evaluate[DetectionPredictions]) -> None:
    """Which pairs a detector fails on, and how its logits are distributed."""
    evaluate(flagged_shares)


@pytest.mark.eyechart("oodbench", protocol="distribution")
def test_distribution(evaluate: Evaluate[DistributionPredictions]) -> None:
    """Whether the pairs of two splits come from one distribution, in an encoder's eyes."""
    evaluate(distribution_distance)
