"""Asking: batches in order and ahead of the model, memory that runs out, answers that are none, threads that end."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ModelError, RequestError
from eyechart.inference.engines.preparation.prepare import BATCHES_AHEAD
from eyechart.inference.requests.row_requests import Encode
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.arrays import CachedArray
from eyechart.inference.store.entries import Store
from eyechart.models.options import DtypeOption, ModelOptions
from eyechart.models.types import Floats, Identity, ImageEncoder

COUNT, SIZE = 22, 4
IDENTITY = Identity(
    backend="test", name="counter", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={}
)


@dataclass
class Counter(ImageEncoder):
    """A model whose answer is the picture's number and its double; `at` is called with every batch of numbers."""

    at: Callable[[list[int]], Any] = lambda _: None
    prepared: Callable[[int], Any] = lambda _: None
    asked: list[list[int]] = field(default_factory=list)
    batch_size: int = SIZE
    loads: int = 0
    identity: Identity = IDENTITY

    def prepare(self, image: Image.Image) -> int:
        number = int(np.asarray(image)[0, 0, 0])
        self.prepared(number)
        return number

    def encode_images(self, images: Sequence[int]) -> Floats:
        self.at([*images])
        self.asked.append([*images])
        return np.array([[number, 2 * number] for number in images], np.float32)


Asks = Callable[..., CachedArray]


@pytest.fixture
def ask(tmp_path: Path, pictures: Callable[..., Dataset]) -> Asks:
    """Put a data set to a model, with one store for the whole test."""

    def ask(
        model: Counter,
        broken: frozenset[int] = frozenset(),
        dataset: Dataset | None = None,
        told: Callable[[int, int, str], None] = lambda *_: None,
    ) -> CachedArray:
        dataset = dataset or pictures([-1] * COUNT, broken)
        return Runner(Store(tmp_path), None, 0, told).run(Encode(), model, dataset)

    return ask


BATCHES = [[min(number, COUNT - 1) for number in range(start, start + SIZE)] for start in range(0, COUNT, SIZE)]
WANTED = np.array([[number, 2 * number] for number in range(COUNT)], np.float32)


def test_every_picture_is_asked_once_in_order(ask: Asks) -> None:
    model = Counter()
    assert np.array_equal(ask(model).values, WANTED)
    assert model.asked == BATCHES


def test_complete_answers_are_not_asked_again(ask: Asks) -> None:
    ask(Counter())
    again = Counter()
    assert np.array_equal(ask(again).values, WANTED)
    assert again.asked == []


def test_pictures_are_decoded_while_the_model_works(ask: Asks) -> None:
    ready = [threading.Event() for _ in range(COUNT)]

    def work(batch: list[int]) -> None:
        following = batch[-1] + 1
        assert following == COUNT or ready[following].wait(30), f"nobody decoded {following} while {batch} was asked"

    ask(Counter(at=work, prepared=lambda number: ready[number].set()))


def test_only_some_batches_are_read_ahead(ask: Asks, pictures: Callable[..., Dataset]) -> None:
    dataset, ready = pictures([-1] * COUNT), [threading.Event() for _ in range(COUNT)]
    ahead = (BATCHES_AHEAD + 1) * SIZE

    def work(batch: list[int]) -> None:
        if batch[0] == 0:
            assert ready[ahead - 1].wait(30)
            assert dataset.source.read_rows == [*range(ahead)]

    ask(Counter(at=work, prepared=lambda number: ready[number].set()), dataset=dataset)


def stop_at(index: int) -> Callable[[list[int]], None]:
    def stop(batch: list[int]) -> None:
        if index in batch:
            raise ConnectionResetError("stopped")

    return stop


@pytest.mark.parametrize("index", [0, 9, 21])
def test_a_stopped_run_goes_on_with_the_same_batches(ask: Asks, index: int) -> None:
    with pytest.raises(ConnectionResetError):
        ask(first := Counter(at=stop_at(index)))
    assert np.array_equal(ask(second := Counter()).values, WANTED)
    assert first.asked + second.asked == BATCHES
    assert {len(batch) for batch in first.asked + second.asked} == {SIZE}


def no_memory_for(most: int, allocate: Callable[[], Any]) -> Callable[[list[int]], None]:
    def work(batch: list[int]) -> None:
        if len(batch) > most:
            allocate()

    return work


def with_torch() -> None:
    import torch

    torch.empty(2**60, dtype=torch.uint8)


def with_numpy() -> None:
    np.empty(2**60, np.uint8)


@pytest.mark.parametrize("allocate", [with_torch, with_numpy])
def test_when_memory_runs_out_the_batch_is_halved_and_asking_goes_on(ask: Asks, allocate: Callable[[], Any]) -> None:
    model = Counter(at=no_memory_for(2, allocate))
    with pytest.warns(RuntimeWarning, match="Memory ran out with 4 images at once; going on with 2") as said:
        found = ask(model)
    assert np.array_equal(found.values, WANTED)
    assert len(said) == 1
    assert {len(batch) for batch in model.asked} == {2}


@pytest.mark.filterwarnings("ignore:Memory ran out with:RuntimeWarning")
def test_no_memory_for_a_single_picture_ends_with_the_remedy(ask: Asks) -> None:
    with pytest.raises(ModelError, match=r"Memory ran out on a single image.*smaller model, dtype=bfloat16"):
        ask(Counter(at=no_memory_for(0, with_numpy)))


def test_any_other_error_of_a_model_is_its_own(ask: Asks) -> None:
    def fail(_: list[int]) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        ask(Counter(at=fail))


def test_a_broken_picture_is_an_error_and_the_others_are_answered(ask: Asks) -> None:
    found = ask(model := Counter(), frozenset({5}))
    assert [*found.errors] == [5]
    assert "imagenet/memory: s05" in found.errors[5]
    assert np.array_equal(np.delete(found.values, 5, axis=0), np.delete(WANTED, 5, axis=0))
    assert np.isnan(found.values[5]).all()
    assert model.asked[1] == [4, 6, 7, 7]


def test_a_picture_that_cannot_be_prepared_is_an_error_and_the_others_are_answered(ask: Asks) -> None:
    def refuse(number: int) -> None:
        if number == 5:
            raise ValueError("absolute aspect ratio must be smaller than 200")

    found = ask(model := Counter(prepared=refuse))
    assert [*found.errors] == [5]
    assert "imagenet/memory: s05 cannot be prepared for the model (ValueError: absolute aspect" in found.errors[5]
    assert np.array_equal(np.delete(found.values, 5, axis=0), np.delete(WANTED, 5, axis=0))
    assert model.asked[1] == [4, 6, 7, 7]


def test_a_package_that_is_missing_to_prepare_a_picture_ends_the_run(ask: Asks) -> None:
    def refuse(_: int) -> None:
        raise ModuleNotFoundError("No module named 'torchvision'")

    with pytest.raises(ModuleNotFoundError):
        ask(Counter(prepared=refuse))


def test_requests_that_a_model_refuses_are_errors_and_the_others_are_asked_without_them(ask: Asks) -> None:
    def refuse(batch: list[int]) -> None:
        if odd := {index: f"picture {number} is odd" for index, number in enumerate(batch) if number in (5, 6, 21)}:
            raise RequestError(odd)

    found = ask(model := Counter(at=refuse))
    assert found.errors == {index: f"imagenet/memory: s{index:02d}: picture {index} is odd" for index in (5, 6, 21)}
    assert np.array_equal(np.delete(found.values, [5, 6, 21], axis=0), np.delete(WANTED, [5, 6, 21], axis=0))
    assert model.asked[1] == [4, 7, 7, 7]


def test_a_data_set_of_broken_pictures_is_all_errors_and_nothing_is_asked(ask: Asks) -> None:
    found = ask(model := Counter(), frozenset(range(COUNT)))
    assert len(found.errors) == len(found.values) == COUNT
    assert model.asked == []


class Sick(Counter):
    """Answers one picture with infinity and one with NaN."""

    def encode_images(self, images: Sequence[int]) -> Floats:
        found = super().encode_images(images)
        found[found[:, 0] == 3, 0] = np.inf
        found[found[:, 0] == 4, 1] = np.nan
        return found


class _Precise(ModelOptions):
    dtype: DtypeOption = None


class Tunable(Sick):
    """One whose precision is an option."""

    declared_options = _Precise


def test_what_is_no_number_is_an_error_naming_picture_and_remedy(ask: Asks) -> None:
    found = ask(Sick())
    assert [*found.errors] == [3, 4]
    assert found.errors[4].startswith("imagenet/memory: s04: counter answered with NaN or infinity in float32.")
    assert found.errors[4].endswith("in float32. Check the weights and how images are prepared.")
    assert np.isnan(found.values[[3, 4]]).all()
    half = msgspec.structs.replace(IDENTITY, dtype="float16")
    (*_, error) = ask(Sick(identity=half)).errors.values()
    assert error.endswith("in float16. Check the weights and how images are prepared.")
    (*_, error) = ask(Tunable(identity=half)).errors.values()
    assert error.endswith("in float16. Try dtype=float32, and check the weights and how images are prepared.")


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((SIZE + 1, 2), r"counter gave an array of shape \(5, 2\) for 4 images"),
        ((SIZE - 1, 2), r"counter gave an array of shape \(3, 2\) for 4 images"),
        ((SIZE,), r"counter gave an array of shape \(4,\) for 4 images"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused(
    ask: Asks, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], sentence: str
) -> None:
    monkeypatch.setattr(Counter, "encode_images", lambda *_: np.zeros(shape, np.float32))
    with pytest.raises(ModelError, match=sentence):
        ask(Counter())


def test_an_error_in_a_thread_comes_out_and_the_threads_end(ask: Asks) -> None:
    def fail(number: int) -> None:
        if number == 9:
            raise ImportError("in a thread")

    before = threading.active_count()
    with pytest.raises(ImportError, match="in a thread"):
        ask(Counter(prepared=fail))
    assert threading.active_count() == before


def test_an_error_of_the_model_ends_the_threads(ask: Asks) -> None:
    before = threading.active_count()
    with pytest.raises(ConnectionResetError):
        ask(Counter(at=stop_at(9)))
    assert threading.active_count() == before


def test_progress_counts_from_what_is_kept(ask: Asks) -> None:
    with pytest.raises(ConnectionResetError):
        ask(Counter(at=stop_at(9)))
    told: list[tuple[int, int, str]] = []
    ask(Counter(), told=lambda *counts: told.append(counts))
    assert told == [(done, COUNT, "images") for done in (8, 12, 16, 20, 22)]
