"""OODBench: image–category pairs in and out of distribution; one test function per protocol."""

import pytest

from eyechart.evaluation.evaluate import Evaluate
from eyechart.oodbench.answers.pair_predictions import ExistencePredictions, ProgressionPredictions
from eyechart.oodbench.metrics.pair_estimates import answer_shares, degradation, stage_accuracies, yes_no_measures
from eyechart.oodbench.protocols.detection import DetectionPredictions, detection_scores, flagged_shares
from eyechart.oodbench.protocols.distribution import DistributionPredictions, distribution_distance


@pytest.mark.eyechart("oodbench", protocol="existence")
def test_existence(evaluate: Evaluate[ExistencePredictions]) -> None:
    """Two opposite yes/no questions per pair: whether the category is in the image, and whether it is not."""
    evaluate(yes_no_measures, answer_shares, degradation)


@pytest.mark.eyechart("oodbench", protocol="progression")
def test_progression(evaluate: Evaluate[ProgressionPredictions]) -> None:
    """Three questions per sample: existence, counting, and comparison of counts."""
    evaluate(stage_accuracies)


@pytest.mark.eyechart("oodbench", protocol="detection")
def test_detection(evaluate: Evaluate[DetectionPredictions]) -> None:
    """The pairs on which a detector fails, and the distribution of its logits."""
    evaluate(flagged_shares, detection_scores)


@pytest.mark.eyechart("oodbench", protocol="distribution")
def test_distribution(evaluate: Evaluate[DistributionPredictions]) -> None:
    """Whether the features of two splits come from one distribution."""
    evaluate(distribution_distance)
