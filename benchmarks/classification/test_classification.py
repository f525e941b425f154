"""Image classification: one test function a protocol, one case a split and model."""

import pytest

from eyechart.classification.recording import Recording
from eyechart.classification.scoring import Predictions, Repeated
from eyechart.data.labels import LabelSet


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="zero_shot")
def test_zero_shot(eye_predictions: Predictions, eye_label_sets: list[LabelSet], eye_record: Recording) -> None:
    """Class names in prompts, the nearest one to the image wins."""
    for labels in eye_label_sets:
        eye_record.accuracy(eye_predictions, labels)


@pytest.mark.eyechart("imagenet", "*", protocol="supervised")
def test_supervised(eye_predictions: Predictions, eye_label_sets: list[LabelSet], eye_record: Recording) -> None:
    """The classifier's own vocabulary."""
    for labels in eye_label_sets:
        eye_record.accuracy(eye_predictions, labels)


@pytest.mark.eyechart("imagenet", "*", protocol="knn")
def test_knn(eye_predictions: Predictions, eye_label_sets: list[LabelSet], eye_record: Recording) -> None:
    """The nearest images of a labelled split vote."""
    for labels in eye_label_sets:
        eye_record.accuracy(eye_predictions, labels)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="mcq")
def test_mcq(eye_predictions: Predictions, eye_label_sets: list[LabelSet], eye_record: Recording) -> None:
    """Mill's ten options, one letter."""
    for labels in eye_label_sets:
        eye_record.accuracy(eye_predictions, labels)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="closed_world")
def test_closed_world(eye_predictions: Predictions, eye_label_sets: list[LabelSet], eye_record: Recording) -> None:
    """All class names in the prompt, one of them as the answer."""
    for labels in eye_label_sets:
        eye_record.accuracy(eye_predictions, labels)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="closed_world_plus")
def test_closed_world_plus(eye_predictions: Predictions, eye_label_sets: list[LabelSet], eye_record: Recording) -> None:
    """The same answers, those out of the prompt taken for the nearest class."""
    for labels in eye_label_sets:
        eye_record.accuracy(eye_predictions, labels)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="open_world")
def test_open_world(eye_predictions: Predictions, eye_label_sets: list[LabelSet], eye_record: Recording) -> None:
    """No list: an answer in free words is taken for the nearest class."""
    for labels in eye_label_sets:
        eye_record.accuracy(eye_predictions, labels)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="multiple_choice")
def test_multiple_choice(eye_predictions: Repeated, eye_label_sets: list[LabelSet], eye_record: Recording) -> None:
    """One letter of four, options and their order redrawn in every repeat."""
    for labels in eye_label_sets:
        eye_record.accuracy(eye_predictions, labels)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="posterior")
def test_posterior(eye_predictions: Predictions, eye_label_sets: list[LabelSet], eye_record: Recording) -> None:
    """How likely each class name is as the whole answer to the closed world's question."""
    for labels in eye_label_sets:
        eye_record.accuracy(eye_predictions, labels)


@pytest.mark.eyechart("imagenet", "*", protocol="replay")
def test_replay(eye_predictions: Predictions, eye_label_sets: list[LabelSet], eye_record: Recording) -> None:
    """Answers that were collected elsewhere."""
    for labels in eye_label_sets:
        eye_record.accuracy(eye_predictions, labels)
