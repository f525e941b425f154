"""OODBench: image–category pairs in and out of distribution; one test function per protocol."""

from typing import Any

import pytest

from eyechart.evaluation.evaluate import Evaluate


@pytest.mark.eyechart(protocol="existence")
def test_existence(evaluate: Evaluate[Any]) -> None:
    """Two opposite yes/no questions per pair: whether the category is in the image, and whether it is not."""
    evaluate()


@pytest.mark.eyechart(protocol="progression")
def test_progression(evaluate: Evaluate[Any]) -> None:
    """Three questions per sample: existence, counting, and comparison of counts."""
    evaluate()


@pytest.mark.eyechart(protocol="detection")
def test_detection(evaluate: Evaluate[Any]) -> None:
    """The pairs on which a detector fails, and the distribution of its logits."""
    evaluate()


@pytest.mark.eyechart(protocol="distribution")
def test_distribution(evaluate: Evaluate[Any]) -> None:
    """Whether the features of two splits come from one distribution."""
    evaluate()
