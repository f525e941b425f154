"""Images that cannot be read, or whose bytes changed, in a book: their questions alone are asked again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import StoreError
from eyechart.inference.requests.text_requests import Generate, TextRequest
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Key, Store, StoreEntry, request_key
from eyechart.inference.store.responses import Responses

COUNT = 8


def said(numbers: tuple[int, ...], text: str) -> str:
    return f"{text} {numbers[0]}"


@dataclass(frozen=True)
class Library:
    """A store with one book of two questions an image: place 2 · image + question."""

    root: Path
    dataset: Dataset

    def asked(self, indices: Sequence[int]) -> Generate:
        return Generate(tuple(TextRequest((index // 2, f"question {index % 2}"), 16) for index in indices))

    def key(self, model: Any) -> Key:
        return request_key(self.asked([0]), model, self.dataset)

    def entry(self, model: Any) -> StoreEntry:
        return Store(self.root).entry(self.key(model))

    def ask(self, model: Any, indices: Sequence[int], told: Any = lambda *_: None) -> Responses:
        return Runner(Store(self.root), None, 0, told).run(self.asked(indices), model, self.dataset)

    def files(self, model: Any) -> dict[str, bytes]:
        folder = self.entry(model).folder
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}


@pytest.fixture
def library(tmp_path: Path, pictures: Callable[..., Dataset]) -> Library:
    return Library(tmp_path / "store", pictures([-1] * COUNT))


@pytest.fixture
def other(library: Library) -> Library:
    """Another store for the same questions."""
    return replace(library, root=library.root.with_name("other"))


def test_questions_about_a_broken_image_are_asked_again_and_nothing_else_is(
    tmp_path: Path, pictures: Any, talker: Any
) -> None:
    library = Library(tmp_path, pictures([-1] * COUNT, frozenset({1})))
    first = library.ask(talker(said), range(6))
    assert first.responses[2].error.endswith(
        "Save it as one of these, or remove it from the data set. The next run asks again"
    )
    model = talker(said)
    assert (library.ask(model, range(6)).responses, model.asked) == (first.responses, [])


def test_bytes_that_are_not_those_of_the_index_are_not_kept(library: Library, other: Library, talker: Any) -> None:
    odd = replace(library, dataset=replace(library.dataset, source=Swapped(library.dataset.source)))
    found = odd.ask(talker(said), range(4))
    assert ["changed after the data set was indexed" in reply.error for reply in found.responses] == [True] * 4
    assert found.responses[0].error.endswith("so that the data set is indexed anew. The next run asks again")
    library.ask(talker(said), range(4))
    other.ask(talker(said), range(4))
    assert library.files(talker(said)) == other.files(talker(said))


@dataclass(frozen=True)
class Swapped:
    """Gives the first two images in each other's place."""

    source: Any

    def read(self, rows: Sequence[int]) -> Any:
        for row in rows:
            ((_, data),) = self.source.read([{0: 1, 1: 0}.get(row, row)])
            yield row, data

    def location(self, row: int) -> str:
        return str(self.source.location(row))


def test_a_book_that_cannot_be_written_serves_a_split_with_a_broken_image(
    tmp_path: Path, pictures: Any, talker: Any
) -> None:
    library = Library(tmp_path, pictures([-1] * COUNT, frozenset({1})))
    first = library.ask(talker(said), range(6))
    lock = library.entry(talker(said)).folder / "lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()  # nobody can lock it
    assert library.ask(talker(said), range(6)).responses == first.responses
    with pytest.raises(StoreError, match="cannot be written"):
        library.ask(talker(said), range(8))
