"""OODBench: what models say of image–category pairs in and out of distribution; one test function a protocol."""

import pytest

from eyechart.oodbench.detection import Detection
from eyechart.oodbench.detector_recording import DetectionRecording, DistributionRecording
from eyechart.oodbench.distribution import Distribution
from eyechart.oodbench.predictions import Existence, Progression
from eyechart.oodbench.recording import ExistenceRecording, ProgressionRecording


@pytest.mark.eyechart("oodbench", protocol="existence")
def test_existence(eye_predictions: Existence, eye_record: ExistenceRecording) -> None:
    """Is it there, is it not there: two opposite questions a pair."""
    eye_record.existence(eye_predictions)


@pytest.mark.eyechart("oodbench", protocol="progression")
def test_progression(eye_predictions: Progression, eye_record: ProgressionRecording) -> None:
    """Is one there, how many are there of another, and are there more of the one."""
    eye_record.progression(eye_predictions)


@pytest.mark.eyechart("oodbench", protocol="detection")
def test_detection(eye_predictions: Detection, eye_record: DetectionRecording) -> None:
    """Which pairs a detector fails on, and how its logits are distributed."""
    eye_record.detection(eye_predictions)


@pytest.mark.eyechart("oodbench", protocol="distribution")
def test_distribution(eye_predictions: Distribution, eye_record: DistributionRecording) -> None:
    """Whether the pairs of two splits come from one distribution, in an encoder's eyes."""
    eye_record.distribution(eye_predictions)
