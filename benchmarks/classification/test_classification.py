"""Image classification: one test function a protocol, one case a split and model."""

import pytest

from eyechart.data.labels import LabelSet
from eyechart.recording import Recording
from eyechart.repeats import Repeated
from eyechart.scoring import Predictions


@pytest.mark.benchmark("imagenet", "toybox", protocol="zero_shot")
def test_zero_shot(predictions: Predictions, label_sets: list[LabelSet], record: Recording) -> None:
    """Class names in prompts, the nearest one to the image wins."""
    for labels in label_sets:
        record.accuracy(predictions, labels)


@pytest.mark.benchmark("imagenet", protocol="supervised")
def test_supervised(predictions: Predictions, label_sets: list[LabelSet], record: Recording) -> None:
    """The classifier's own vocabulary."""
    for labels in label_sets:
        record.accuracy(predictions, labels)


@pytest.mark.benchmark("imagenet", protocol="knn")
def test_knn(predictions: Predictions, label_sets: list[LabelSet], record: Recording) -> None:
    """The nearest images of a labelled split vote."""
    for labels in label_sets:
        record.accuracy(predictions, labels)


@pytest.mark.benchmark("imagenet", "toybox", protocol="mcq")
def test_mcq(predictions: Predictions, label_sets: list[LabelSet], record: Recording) -> None:
    """Mill's ten options, one letter."""
    for labels in label_sets:
        record.accuracy(predictions, labels)


@pytest.mark.benchmark("imagenet", "toybox", protocol="closed_world")
def test_closed_world(predictions: Predictions, label_sets: list[LabelSet], record: Recording) -> None:
    """All class names in the prompt, one of them as the answer."""
    for labels in label_sets:
        record.accuracy(predictions, labels)


@pytest.mark.benchmark("imagenet", "toybox", protocol="closed_world_plus")
def test_closed_world_plus(predictions: Predictions, label_sets: list[LabelSet], record: Recording) -> None:
    """The same answers, those out of the prompt taken for the nearest class."""
    for labels in label_sets:
        record.accuracy(predictions, labels)


@pytest.mark.benchmark("imagenet", "toybox", protocol="open_world")
def test_open_world(predictions: Predictions, label_sets: list[LabelSet], record: Recording) -> None:
    """No list: an answer in free words is taken for the nearest class."""
    for labels in label_sets:
        record.accuracy(predictions, labels)


@pytest.mark.benchmark("imagenet", "toybox", protocol="multiple_choice")
def test_multiple_choice(predictions: Repeated, label_sets: list[LabelSet], record: Recording) -> None:
    """One letter of four, options and their order redrawn in every repeat."""
    for labels in label_sets:
        record.accuracy(predictions, labels)


@pytest.mark.benchmark("imagenet", "toybox", protocol="posterior")
def test_posterior(predictions: Predictions, label_sets: list[LabelSet], record: Recording) -> None:
    """How likely each class name is as the whole answer to the closed world's question."""
    for labels in label_sets:
        record.accuracy(predictions, labels)


@pytest.mark.benchmark("imagenet", protocol="replay")
def test_replay(predictions: Predictions, label_sets: list[LabelSet], record: Recording) -> None:
    """Answers that were collected elsewhere."""
    for labels in label_sets:
        record.accuracy(predictions, labels)
