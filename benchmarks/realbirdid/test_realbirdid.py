"""RealBirdID: identification of birds, and abstention on unanswerable images; one test function per protocol."""

import pytest

from eyechart.evaluation.evaluate import Evaluate
from eyechart.realbirdid.metrics.abstention_estimates import abstention_rates, abstention_reasons, prompt_effects
from eyechart.realbirdid.metrics.species_estimates import (
    abstention_tradeoffs,
    information_gains,
    level_accuracies,
    range_changes,
    selective_accuracies,
    species_scores,
    tree_accuracies,
)
from eyechart.realbirdid.protocols.abstention import AbstentionPredictions
from eyechart.realbirdid.protocols.flat_list import FlatListPredictions, flat_list_accuracies, flat_list_scores
from eyechart.realbirdid.protocols.free_form import FreeFormPredictions, free_form_accuracies
from eyechart.realbirdid.protocols.species import SpeciesPredictions


@pytest.mark.eyechart("realbirdid", protocol="species")
def test_species(evaluate: Evaluate[SpeciesPredictions]) -> None:
    """A probability for every species, and by summation for every genus."""
    evaluate(
        information_gains,
        abstention_tradeoffs,
        tree_accuracies,
        level_accuracies,
        selective_accuracies,
        range_changes,
        species_scores,
    )


@pytest.mark.eyechart("realbirdid", protocol="flat_list")
def test_flat_list(evaluate: Evaluate[FlatListPredictions]) -> None:
    """Species and genera in one list; predicting a genus is an abstention."""
    evaluate(flat_list_accuracies, flat_list_scores)


@pytest.mark.eyechart("realbirdid", protocol="free_form")
def test_free_form(evaluate: Evaluate[FreeFormPredictions]) -> None:
    """The name of the bird in free text."""
    evaluate(free_form_accuracies)


@pytest.mark.eyechart("realbirdid", protocol="abstention")
def test_abstention(evaluate: Evaluate[AbstentionPredictions]) -> None:
    """Whether and why a model abstains, and how much this depends on the prompt."""
    evaluate(abstention_rates, prompt_effects, abstention_reasons)
