"""Threads that answer with one model: they take turns with it, and read images while another one has its turn."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from eyechart.data.readers.in_memory import build_pairs
from eyechart.errors import ModelError
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.engines.work_units import Job, WorkUnit, answer_work_unit
from eyechart.inference.requests.row_requests import Classify
from eyechart.models.types import Classifier, Floats, Identity

SHADES, SIZE = 12, 3
PATIENCE = 30


class Shade(Classifier):
    """Answers with the shade of an image, after the images of all work units are prepared."""

    batch_size = SIZE

    def __init__(self) -> None:
        self.prepared, self.working, self.all_prepared = 0, Lock(), Event()

    @property
    def identity(self) -> Identity:
        """No more than a name."""
        return Identity("shade", "shade", weights_sha256="", dtype="", device="", processor={}, libraries={})

    def prepare(self, image: Image.Image) -> Any:
        """Count the images."""
        self.prepared += 1
        if self.prepared == SHADES:
            self.all_prepared.set()
        return image.getpixel((0, 0))

    def classify(self, images: Sequence[Any]) -> Floats:
        """Wait for the images of the other work unit; fail if another thread has its turn."""
        assert self.working.acquire(blocking=False)
        assert self.all_prepared.wait(PATIENCE)
        self.working.release()
        return np.array(images, np.float32)[:, :1]


def test_images_of_a_work_unit_are_read_while_the_model_works_on_another() -> None:
    """The answers have the numbers of the work unit."""
    pairs = [(Image.new("RGB", (2, 2), (20 * shade,) * 3), "grey") for shade in range(SHADES)]
    job = Job(Classify(), build_pairs(pairs, "shades", "all", ("grey",)))
    work_units = [WorkUnit(tuple(range(0, SHADES, 2))), WorkUnit(tuple(range(1, SHADES, 2)))]
    engine, model = LocalEngine(Lock()), Shade()

    def answer(work_unit: WorkUnit) -> list[tuple[tuple[int, ...], Any]]:
        return [*answer_work_unit(engine, model, job.sent_once, work_unit.numbers, job.images(work_unit))]

    with ThreadPoolExecutor(2) as threads:
        parts = [part for parts in threads.map(answer, work_units) for part in parts]
    assert job.sent_once.dataset is None
    found = {
        index: float(value) for _, part in parts for index, (value,) in zip(part.indices, part.values, strict=True)
    }
    assert found == {shade: 20.0 * shade for shade in range(SHADES)}
    assert [numbers for numbers, _ in parts[:2]] == [(0, 2, 4), (6, 8, 10)]


def test_a_file_that_changed_is_an_error_of_its_number(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.png" for number in range(4)]
    for path in paths:
        Image.new("RGB", (2, 2)).save(path)
    job = Job(Classify(), build_pairs([(path, "grey") for path in paths], "shades", "all", ("grey",)))
    Image.new("RGB", (2, 2), (9, 9, 9)).save(paths[3])
    model = Shade()
    model.all_prepared.set()
    ((numbers, part),) = answer_work_unit(LocalEngine(), model, job.sent_once, (1, 3), job.images(WorkUnit((1, 3))))
    assert (numbers, part.indices) == ((1, 3), (1,))
    assert "changed after the data set was indexed" in part.errors[3]


class Given(Classifier):
    """Answers with what it is given."""

    identity = Identity(
        backend="given", name="given", weights_sha256="", dtype="", device="", processor={}, libraries={}
    )

    def __init__(self, values: Any) -> None:
        self.values = values

    def prepare(self, image: Image.Image) -> Any:
        """Do nothing."""
        return image

    def classify(self, images: Sequence[Any]) -> Any:
        """Return what is given."""
        return self.values


def ask(values: Any) -> Floats:
    job = Job(Classify(), build_pairs([(Image.new("RGB", (2, 2)), "grey")], "shades", "all", ("grey",)))
    ((_, part),) = answer_work_unit(LocalEngine(), Given(values), job.sent_once, (0,), job.images(WorkUnit((0,))))
    return part.values


def test_an_answer_may_be_a_tensor_in_any_precision_and_a_list() -> None:
    for values in (torch.ones(1, 2, dtype=torch.bfloat16), torch.ones(1, 2, requires_grad=True), [[1, 1]]):
        np.testing.assert_array_equal(ask(values), [[1, 1]])


@pytest.mark.parametrize("kind", [complex, str])
def test_an_answer_that_is_no_numbers_is_refused(kind: type) -> None:
    with pytest.raises(ModelError, match=r"given gave numbers of the type .*\. Expected floats\."):
        ask(np.ones((1, 2)).astype(kind))
