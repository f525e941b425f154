"""OODBench: what models say of image–category pairs in and out of distribution; one test function a protocol."""

import pytest

from eyechart.asking.detection import Detection
from eyechart.asking.distribution import Distribution
from eyechart.pairs.answers import Existence, Progression
from eyechart.pairs.detector_recording import DetectionRecording, DistributionRecording
from eyechart.pairs.recording import ExistenceRecording, ProgressionRecording


@pytest.mark.benchmark("oodbench", protocol="existence")
def test_existence(predictions: Existence, record: ExistenceRecording) -> None:
    """Is it there, is it not there: two opposite questions a pair."""
    record.existence(predictions)


@pytest.mark.benchmark("oodbench", protocol="progression")
def test_progression(predictions: Progression, record: ProgressionRecording) -> None:
    """Is one there, how many are there of another, and are there more of the one."""
    record.progression(predictions)


@pytest.mark.benchmark("oodbench", protocol="detection")
def test_detection(predictions: Detection, record: DetectionRecording) -> None:
    """Which pairs a detector fails on, and how its logits are distributed."""
    record.detection(predictions)


@pytest.mark.benchmark("oodbench", protocol="distribution")
def test_distribution(predictions: Distribution, record: DistributionRecording) -> None:
    """Whether the pairs of two splits come from one distribution, in an encoder's eyes."""
    record.distribution(predictions)
