"""Images that processes prepare: the items of threads to the last bit, whatever happens to a process."""

import os
import signal
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.readers.in_memory import build_pairs
from eyechart.errors import DataError, ImageError
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.engines.preparation import feed
from eyechart.inference.engines.preparation.feed import Feeds, PreparationProcesses
from eyechart.inference.engines.preparation.prepare import prefetch_images
from eyechart.inference.requests.row_requests import Classify
from eyechart.models.registry import create_model
from eyechart.models.runtime.pixels import PixelTransform
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec

COUNT, SIZE = 50, 7
MODEL = """
import os
import numpy as np
import torch
from eyechart.models.types import Classifier, Identity

class Shade(Classifier):
    batch_size = 7
    def __init__(self, spec, *, device, starts=True):
        if not starts and device == "cpu":
            os._exit(3)
        self.device = device
    @property
    def identity(self):
        return Identity(
            backend="shade", name="shade", weights_sha256="", dtype="", device=self.device, processor={}, libraries={}
        )
    def prepare(self, image):
        shade = image.getpixel((0, 0))[0]
        if shade == 13 and "OMP_NUM_THREADS" in os.environ:
            os._exit(5)  # a decoder that crashes
        return {"shade": np.full(1 + shade % 3, shade, np.float32), "process": os.getpid(), "half": torch.ones(2) / 2}
    def classify(self, items):
        return np.array([[item["shade"][0], item["half"].sum()] for item in items], np.float32)
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The specification of a model in a module of the working folder."""
    folder = tmp_path_factory.mktemp("model")
    name = f"shades_{os.urandom(4).hex()}"
    (folder / f"{name}.py").write_text(MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        patch.delenv("OMP_NUM_THREADS", raising=False)
        yield f"{name}:Shade"


@pytest.fixture
def shades(tmp_path: Path) -> Dataset:
    """Images of so many shades; the last one is broken."""
    (tmp_path / "images").mkdir()
    paths = [tmp_path / "images" / f"{shade:02d}.png" for shade in range(COUNT)]
    for shade, path in enumerate(paths):
        Image.new("RGB", (3, 2), (shade, 0, 0)).save(path)
    paths[-1].write_bytes(paths[-1].read_bytes()[:40])
    return build_pairs([(path, "grey") for path in paths], "shades", "all", ("grey",))


@pytest.fixture(scope="module")
def started(module: str) -> Iterator[PreparationProcesses]:
    """Processes that the tests share; one that a test ends is started again."""
    processes = start(module)
    yield processes
    processes.close()


def start(spec: str) -> PreparationProcesses:
    parsed = parse_spec(spec)
    return PreparationProcesses(create_model(parsed, device="cuda", offline=True), parsed, 2)


def wait(processes: PreparationProcesses, dataset: Dataset) -> None:
    """Let the processes start, and wait until they are ready."""
    [*processes.prefetch(dataset, range(2), 1)]
    for process in processes.processes:
        process.is_ready(wait=True)


@pytest.mark.deep
def test_processes_prepare_what_threads_prepare(started: PreparationProcesses, shades: Dataset) -> None:
    wait(started, shades)
    indices = [index for index in range(COUNT) if index != 13]
    found = [*started.prefetch(shades, indices, SIZE)]
    expected = [*prefetch_images(shades, indices, SIZE, started.model.prepare)]
    assert [[index for index, _ in batch] for batch in found] == [[index for index, _ in batch] for batch in expected]
    for (_, item), (_, other) in zip([*chain.from_iterable(found)], [*chain.from_iterable(expected)], strict=True):
        if isinstance(other, ImageError):
            assert str(item) == str(other)
            continue
        np.testing.assert_array_equal(item["shade"], other["shade"])
        assert torch.equal(item["half"], other["half"])
        item["shade"] += 1  # an array of its own
    assert os.getpid() not in {item["process"] for _, item in [*chain.from_iterable(found)][:-1]}


@pytest.mark.deep
def test_a_killed_process_costs_no_image(started: PreparationProcesses, shades: Dataset) -> None:
    wait(started, shades)
    ((_, item),) = next(started.prefetch(shades, [0], 1))
    os.kill(item["process"], signal.SIGKILL)
    found = [*chain.from_iterable(started.prefetch(shades, range(13), SIZE))]
    assert [(index, item["shade"][0]) for index, item in found] == [(index, index) for index in range(13)]


@pytest.mark.deep
def test_only_the_image_that_ends_processes_is_an_error(started: PreparationProcesses, shades: Dataset) -> None:
    wait(started, shades)
    found = dict(chain.from_iterable(started.prefetch(shades, range(COUNT - 1), SIZE)))
    assert [index for index, item in found.items() if isinstance(item, ImageError)] == [13]
    assert "ended without an answer" in str(found[13])
    assert "13.png" in str(found[13])


@pytest.mark.deep
def test_processes_that_cannot_start_leave_the_work_to_threads(module: str, shades: Dataset) -> None:
    processes = start(f"{module}[starts=false]")
    with pytest.warns(RuntimeWarning, match="processes that prepare images cannot start"):
        processes.threads.submit(processes.is_ready, wait=True).result()
    found = [*chain.from_iterable(processes.prefetch(shades, range(10), SIZE))]
    assert {item["process"] for _, item in found} == {os.getpid()}
    processes.close()


@pytest.mark.deep
def test_files_that_are_gone_are_the_same_error(started: PreparationProcesses, shades: Dataset, tmp_path: Path) -> None:
    wait(started, shades)
    (tmp_path / "images" / "05.png").unlink()
    with pytest.raises((DataError, ImageError)) as threads:
        [*prefetch_images(shades, range(9), SIZE, started.model.prepare)]
    with pytest.raises(type(threads.value)) as processes:
        [*started.prefetch(shades, range(9), SIZE)]
    assert str(processes.value) == str(threads.value)


def test_only_many_images_for_an_accelerator_start_processes(
    module: str, shades: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "MANY_IMAGES", COUNT)
    monkeypatch.setattr(feed, "count_decoders", lambda: 2)
    indices = [index for index in range(COUNT) if index != 13]
    for device, expected in (("cpu", [False, False]), ("cuda", [False, True])):
        engine, model = LocalEngine(), create_model(parse_spec(f"{module}[]"), device=device, offline=True)
        for there in expected:
            answers = [*engine.answer_images(Classify(), model, shades, indices)]
            assert (model.made_from in engine.feeds.started) == there
            rows = {index: row for part in answers for index, row in zip(part.indices, part.values, strict=True)}
            assert {index: row.tolist() for index, row in rows.items()} == {index: [index, 1] for index in indices[:-1]}
            assert [index for part in answers for index in part.errors] == [COUNT - 1]
        engine.release(model)
        assert not engine.feeds.started
        assert Feeds().processes(model, 1) is None


@pytest.mark.parametrize("library", ["open_clip", "timm", "function"])
def test_floats_are_those_of_the_transform(library: str) -> None:
    transform = make_transform(library)
    noise = np.random.default_rng(0).integers(0, 256, (4, 300, 400, 3), dtype=np.uint8)
    images = [*map(Image.fromarray, noise)]
    pixels = PixelTransform(transform)
    prepared = [pixels.prepare(image) for image in images]
    batch = pixels.stack(prepared, "cpu")
    assert torch.equal(batch, torch.stack([transform(image) for image in images]))
    assert batch.is_contiguous(memory_format=torch.channels_last)
    assert prepared[0].dtype == (torch.float32 if library == "function" else np.uint8)


def make_transform(library: str) -> Any:
    repair()
    from open_clip.transform import PreprocessCfg, image_transform_v2
    from timm.data import create_transform
    from torchvision.transforms.functional import resize, to_tensor

    if library == "open_clip":
        return image_transform_v2(PreprocessCfg(size=64), is_train=False)
    return (
        create_transform(64, is_training=False) if library == "timm" else lambda image: to_tensor(resize(image, [64]))
    )
