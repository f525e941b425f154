"""Tests of `eyechart.oodbench.division.detectors`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ModelError, SpecError
from eyechart.inference.store.entries import Store
from eyechart.models.types import Encoder, Floats
from eyechart.oodbench.division.pairs import HARD_SAMPLES, LeftOutImage
from tests.oodbench.division.judges import Bench, Judge, judges, sets

Make = Callable[..., Dataset]
NAN = float("nan")
SEEN = [[0, 0, 9], [9, 0, 0], [0, 9, 8], [0, 0, 0]]  # a detector's logits over cat, dog and crème brûlée
HERE = [[1, 0, 0], [1, 0, 0], [1, 2, 0], [1, 1, 1]]  # which of them are in the picture


@dataclass
class Reader(Encoder):
    """Sees every picture alike, and reads no word that begins with a d."""

    templates: str = "1"
    batch_size: int = 2
    loads: int = 0
    identity = Judge("reader", ()).identity
    prepare = Judge.prepare

    def encode_images(self, images: Sequence[int]) -> Floats:
        return np.ones((len(images), 2), np.float32)

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        return np.array([[NAN if "dog" in text else 1, 1] for text in texts], np.float32)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(Store(tmp_path / "store"))


def test_a_detector_is_asked_once_and_the_division_is_the_same(bench: Bench, annotated: Make) -> None:
    asked = judges(SEEN)
    first, second = bench(annotated(HERE), asked), bench(annotated(HERE), asked)
    assert asked["judge[0]"].asked == len(HERE)
    assert sets(first) == sets(second)


def test_an_image_without_numbers_is_left_out_counted_and_listed(bench: Bench, annotated: Make) -> None:
    found = bench(annotated(HERE), judges(SEEN, [SEEN[0], [NAN, 0, 0], *SEEN[2:]]))
    assert 1 not in found.division.rows
    (left,) = found.division.left_out
    assert left == LeftOutImage("s01", "judge[1]", left.reason)
    assert "judge[1] answered with NaN or infinity" in left.reason
    note, _ = found.division.notes
    assert note.startswith(
        "1 × image left out of the division: judge[1] has no logits; the first error is imagenet/memory:"
    )


def test_no_numbers_at_all_are_refused(bench: Bench, annotated: Make) -> None:
    with pytest.raises(ModelError, match=r"judge\[0\] failed on 4 of 4, the first error is imagenet/memory: s00"):
        bench(annotated(HERE), judges([[NAN, 0, 0]] * 4))


def test_a_category_that_cannot_be_read_is_named(bench: Bench, annotated: Make) -> None:
    with pytest.raises(ModelError, match=r"judge\[\] gave NaN or infinity for 1 of 3 categories, the first 'dog'"):
        bench(annotated(HERE), {"judge[]": Reader()})


def test_another_vocabulary_is_refused(bench: Bench, annotated: Make) -> None:
    with pytest.raises(ModelError, match=r"has 1,000 classes, but imagenet/memory has 3 categories"):
        bench(annotated(HERE), judges(np.zeros((4, 1000)).tolist()))


def test_a_detector_named_twice_is_refused(bench: Bench, annotated: Make) -> None:
    with pytest.raises(SpecError, match=r"judge\[0\] is given 2 times"):
        bench(annotated(HERE), judges(SEEN), detectors="judge[0]+judge[ 0 ]")


def test_detections_of_a_file_are_named_by_their_bytes(bench: Bench, annotated: Make, tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    path.write_text('[{"image_id": "id 0", "category_id": "c0", "score": 0.5}]')
    found = bench(annotated(HERE), judges(SEEN), hard_samples=str(path)).division
    assert found.parameters["hard_samples"] == f"found.json ({sha256(path.read_bytes()).hexdigest()[:8]})"
    assert found.sets.count(HARD_SAMPLES) == 1
