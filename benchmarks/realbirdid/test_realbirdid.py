"""RealBirdID: how deep a model can go, and whether it stops where nobody could go on; one test function a protocol."""

import pytest

from eyechart.realbirdid.abstention import Abstention
from eyechart.realbirdid.abstention_recording import AbstentionRecording
from eyechart.realbirdid.flat_list import FlatList
from eyechart.realbirdid.flat_list_recording import FlatListRecording
from eyechart.realbirdid.free_form import FreeForm, FreeFormRecording
from eyechart.realbirdid.species import Species
from eyechart.realbirdid.species_recording import SpeciesRecording


@pytest.mark.eyechart("realbirdid", protocol="species")
def test_species(eye_predictions: Species, eye_record: SpeciesRecording) -> None:
    """A probability for every species, and so for every genus."""
    eye_record.species(eye_predictions)


@pytest.mark.eyechart("realbirdid", protocol="flat_list")
def test_flat_list(eye_predictions: FlatList, eye_record: FlatListRecording) -> None:
    """Species and genera in one list, where a genus is an abstention."""
    eye_record.flat_list(eye_predictions)


@pytest.mark.eyechart("realbirdid", protocol="free_form")
def test_free_form(eye_predictions: FreeForm, eye_record: FreeFormRecording) -> None:
    """What bird is it, in the model's own words."""
    eye_record.free_form(eye_predictions)


@pytest.mark.eyechart("realbirdid", protocol="abstention")
def test_abstention(eye_predictions: Abstention, eye_record: AbstentionRecording) -> None:
    """Whether a model says that it cannot tell, why, and how much that hangs on the wording."""
    eye_record.abstention(eye_predictions)
