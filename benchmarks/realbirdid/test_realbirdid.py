"""RealBirdID: identification of birds, and abstention on unanswerable images; one test function per protocol."""

from typing import Any

import pytest

from eyechart.evaluation.evaluate import Evaluate


@pytest.mark.eyechart(protocol="species")
def test_species(evaluate: Evaluate[Any]) -> None:
    """A probability for every species, and by summation for every genus."""
    evaluate()


@pytest.mark.eyechart(protocol="flat_list")
def test_flat_list(evaluate: Evaluate[Any]) -> None:
    """Species and genera in one list; predicting a genus is an abstention."""
    evaluate()


@pytest.mark.eyechart(protocol="free_form")
def test_free_form(evaluate: Evaluate[Any]) -> None:
    """The name of the bird in free text."""
    evaluate()


@pytest.mark.eyechart(protocol="abstention")
def test_abstention(evaluate: Evaluate[Any]) -> None:
    """Whether and why a model abstains, and how much this depends on the prompt."""
    evaluate()
