"""Image classification: one test function per protocol, one case per split, model and options."""

from typing import Any

import pytest

from eyechart.evaluation.evaluate import Evaluate


@pytest.mark.eyechart(protocol="zero_shot")
def test_zero_shot(evaluate: Evaluate[Any]) -> None:
    """The class whose prompt embedding is most similar to the image embedding."""
    evaluate()


@pytest.mark.eyechart(protocol="supervised")
def test_supervised(evaluate: Evaluate[Any]) -> None:
    """A classifier with its own vocabulary."""
    evaluate()


@pytest.mark.eyechart(protocol="knn")
def test_knn(evaluate: Evaluate[Any]) -> None:
    """A vote of the nearest images of a labelled split."""
    evaluate()


@pytest.mark.eyechart(protocol="mcq")
def test_mcq(evaluate: Evaluate[Any]) -> None:
    """Mill's multiple choice: one letter of ten options."""
    evaluate()


@pytest.mark.eyechart(protocol="closed_world")
def test_closed_world(evaluate: Evaluate[Any]) -> None:
    """All class names in the prompt; the answer is one of them."""
    evaluate()


@pytest.mark.eyechart(protocol="closed_world_plus")
def test_closed_world_plus(evaluate: Evaluate[Any]) -> None:
    """The answers of the closed world, with those out of the prompt mapped to the nearest class."""
    evaluate()


@pytest.mark.eyechart(protocol="open_world")
def test_open_world(evaluate: Evaluate[Any]) -> None:
    """No class list in the prompt; free text is mapped to the nearest class."""
    evaluate()


@pytest.mark.eyechart(protocol="multiple_choice")
def test_multiple_choice(evaluate: Evaluate[Any]) -> None:
    """One letter of four options, which are redrawn in every epoch."""
    evaluate()


@pytest.mark.eyechart(protocol="posterior")
def test_posterior(evaluate: Evaluate[Any]) -> None:
    """The probability of each class name as the complete answer to the prompt of the closed world."""
    evaluate()


@pytest.mark.eyechart(protocol="replay")
def test_replay(evaluate: Evaluate[Any]) -> None:
    """Answers that were collected elsewhere."""
    evaluate()
