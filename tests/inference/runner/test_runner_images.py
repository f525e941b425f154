"""Rows of numbers are stored by image: limits share them, errors are asked again, and other bytes are never stored."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.requests.row_requests import Encode
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.arrays import CachedArray
from eyechart.inference.store.entries import Store, StoreEntry, request_key
from eyechart.models.types import Floats, Identity, ImageEncoder

COUNT, SIZE = 22, 4
IDENTITY = Identity(
    backend="test", name="counter", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={}
)


@dataclass
class Counter(ImageEncoder):
    """A model whose answer is the image's number and its double, NaN for those in `sick`; it stops before `stop`."""

    sick: frozenset[int] = frozenset()
    stop: int = -1
    batch_size: int = SIZE
    asked: list[list[int]] = field(default_factory=list)
    loads: int = 0
    identity: Identity = IDENTITY

    @property
    def numbers(self) -> list[int]:
        """The images that it was asked about, each batch without its padding."""
        return [number for batch in self.asked for number in dict.fromkeys(batch)]

    def prepare(self, image: Image.Image) -> int:
        return int(np.asarray(image)[0, 0, 0])

    def encode_images(self, images: Sequence[int]) -> Floats:
        if self.stop in images:
            raise ConnectionResetError("stopped")
        self.asked.append([*images])
        return np.array([[number, np.nan if number in self.sick else 2 * number] for number in images], np.float32)


@dataclass
class Changed:
    """Gives the bytes of another image for some rows, or the beginning of their own."""

    source: Any
    others: dict[int, Callable[[bytes], bytes]]

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        for row, data in self.source.read(rows):
            yield row, self.others[row](data) if row in self.others else data

    def location(self, row: int) -> str:
        return str(self.source.location(row))


@dataclass(frozen=True)
class Bench:
    """A store and a split of images."""

    root: Path
    dataset: Dataset

    def entry(self, dataset: Dataset | None = None) -> StoreEntry:
        return Store(self.root).entry(request_key(Encode(), Counter(), dataset or self.dataset))

    def ask(self, model: Counter, dataset: Dataset | None = None) -> CachedArray:
        return Runner(Store(self.root), None, 0, lambda *_: None).run(Encode(), model, dataset or self.dataset)

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.entry().folder.iterdir() if path.name != "lock"}


@pytest.fixture
def bench(tmp_path: Path, pictures: Callable[..., Dataset]) -> Bench:
    return Bench(tmp_path / "store", pictures([-1] * COUNT))


@pytest.fixture
def other(bench: Bench) -> Bench:
    """Another store for the same split."""
    return replace(bench, root=bench.root.with_name("other"))


def test_a_larger_limit_asks_only_for_the_missing_images(bench: Bench) -> None:
    small, large = bench.dataset.subsample(7, 0), bench.dataset.subsample(15, 1)
    first, second = Counter(), Counter()
    assert bench.ask(first, small).values[:, 0].tolist() == [*small.selected]
    assert bench.ask(second, large).values[:, 0].tolist() == [*large.selected]
    assert sorted(first.numbers) == [*small.selected]
    assert sorted(second.numbers) == sorted({*large.selected} - {*small.selected})


def test_a_smaller_limit_asks_nothing_and_writes_nothing(bench: Bench) -> None:
    bench.ask(Counter(), bench.dataset.subsample(15, 0))
    before = bench.files()
    found = bench.ask(again := Counter(), replace(bench.dataset, rows=bench.dataset.subsample(15, 0).selected[3:9]))
    assert found.values[:, 0].tolist() == [*bench.dataset.subsample(15, 0).selected[3:9]]
    assert (again.asked, bench.files()) == ([], before)


def test_a_sealed_split_answers_every_limit(bench: Bench) -> None:
    bench.ask(Counter())
    few = bench.dataset.subsample(5, 3)
    found = bench.ask(again := Counter(), few)
    assert (found.values[:, 1].tolist(), again.asked) == ([2 * row for row in few.selected], [])


@pytest.mark.parametrize("steps", [[7, 15, None], [1, 2, 21, None], [None], [COUNT]])
def test_several_limited_steps_end_byte_for_byte_as_one_run(
    bench: Bench, other: Bench, steps: list[int | None]
) -> None:
    for seed, limit in enumerate(steps):
        bench.ask(Counter(), bench.dataset.subsample(limit, seed))
    other.ask(Counter())
    assert bench.files() == other.files()
    assert set(bench.files()) == {"key.json", "answers.npy", "done.json"}


@pytest.mark.parametrize("stop", [0, 5, 17])
@pytest.mark.parametrize("limit", [18, None])
def test_a_stopped_run_ends_byte_for_byte_as_one_that_was_not(
    bench: Bench, other: Bench, stop: int, limit: int | None
) -> None:
    dataset = bench.dataset.subsample(limit, 0)
    with pytest.raises(ConnectionResetError):
        bench.ask(first := Counter(stop=dataset.selected[stop]), dataset)
    bench.ask(second := Counter(), dataset)
    other.ask(Counter(), dataset)
    assert sorted(first.numbers + second.numbers) == [*dataset.selected]
    assert bench.files() == other.files()


def test_every_batch_has_the_same_size(bench: Bench) -> None:
    model = Counter()
    for limit in (3, 8, None):
        bench.ask(model, bench.dataset.subsample(limit, 0))
    assert {len(batch) for batch in model.asked} == {SIZE}


def test_an_entry_that_was_not_sealed_is_when_it_is_read(bench: Bench, other: Bench) -> None:
    bench.ask(Counter(), bench.dataset.subsample(COUNT - 1, 0))
    with bench.entry().lock_for_writing() as writer:
        from eyechart.inference.store.arrays import Block, append

        (left,) = {*range(COUNT)} - {*bench.dataset.subsample(COUNT - 1, 0).selected}
        append(writer, Block((left,), 2), np.array([[left, 2 * left]], np.float32))
    bench.ask(again := Counter())
    other.ask(Counter())
    assert (again.asked, bench.files()) == ([], other.files())


def test_infinite_answers_are_asked_again_and_nothing_else_is(bench: Bench, other: Bench) -> None:
    found = bench.ask(Counter(frozenset({3, 9})))
    assert [*found.errors] == [3, 9]
    assert np.isnan(found.values[[3, 9]]).all()
    found = bench.ask(again := Counter())
    assert (found.errors, again.numbers) == ({}, [3, 9])
    other.ask(Counter())
    assert bench.files() == other.files()


@pytest.mark.parametrize("change", [lambda _: b"", lambda data: data[:50], lambda data: data + b"\0"])
def test_bytes_that_are_not_those_of_the_index_are_an_error_that_is_not_stored(
    bench: Bench, other: Bench, change: Callable[[bytes], bytes]
) -> None:
    odd = replace(bench.dataset, source=Changed(bench.dataset.source, {5: change}))
    found = bench.ask(Counter(), odd)
    assert [*found.errors] == [5]
    assert "imagenet/memory: s05 changed after the data set was indexed, or was read incompletely" in found.errors[5]
    assert "run the same command again" in found.errors[5]
    assert bench.ask(again := Counter()).errors == {}
    assert again.numbers == [5]
    other.ask(Counter())
    assert bench.files() == other.files()


def test_another_valid_image_is_an_error_that_is_not_stored(bench: Bench) -> None:
    ((_, swapped),) = bench.dataset.read([6])
    odd = replace(bench.dataset, source=Changed(bench.dataset.source, {5: lambda _: swapped}))
    assert [*bench.ask(Counter(), odd).errors] == [5]
    assert bench.ask(Counter()).values[5].tolist() == [5, 10]


def test_a_broken_image_is_decoded_again_and_the_model_is_not_asked(bench: Bench, pictures: Any) -> None:
    dataset = pictures([-1] * COUNT, frozenset({5}))
    first, again = bench.ask(Counter(), dataset), bench.ask(model := Counter(), dataset)
    assert (model.asked, [*first.errors]) == ([], [5])
    assert again.errors == first.errors
    assert np.array_equal(first.values, again.values, equal_nan=True)


def test_a_store_that_cannot_be_written_serves_a_split_with_a_broken_image(bench: Bench, pictures: Any) -> None:
    dataset = pictures([-1] * COUNT, frozenset({5}))
    first = bench.ask(Counter(), dataset)
    folder = bench.entry(dataset).folder
    (folder / "lock").unlink(missing_ok=True)
    (folder / "lock").mkdir()  # nobody can lock it
    assert bench.ask(Counter(), dataset).errors == first.errors


@pytest.mark.filterwarnings("ignore:Memory ran out:RuntimeWarning")
def test_rows_of_smaller_batches_are_counted(bench: Bench) -> None:
    class Small(Counter):
        def encode_images(self, images: Sequence[int]) -> Floats:
            if len(images) > 2 and 9 in images:
                raise MemoryError
            return super().encode_images(images)

    found = bench.ask(model := Small())
    assert found.reduced == {2: COUNT - 8}
    assert bench.ask(Counter()).reduced == {2: COUNT - 8}
    assert [len(batch) for batch in model.asked] == [4, 4, *[2] * 7]
    assert np.array_equal(found.values[:, 0], np.arange(COUNT))
