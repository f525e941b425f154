"""Images that cannot be read, or whose bytes changed, in a book: their questions alone are asked again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyechart.data.readers.in_memory import open_in_memory
from eyechart.errors import ImageError, StoreError
from eyechart.inference.requests.image_bytes import load_image
from tests.inference.library import COUNT, Library, said


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


def test_data_that_give_another_picture_each_time() -> None:
    shades = iter(range(4))

    class Random(list[Any]):
        def __getitem__(self, index: Any) -> Any:
            return Image.new("RGB", (2, 2), (next(shades), 0, 0)), 0

    found = open_in_memory(Random([0]), "pets", "test", ["cat"])
    ((_, data),) = found.source.read([0])
    with pytest.raises(ImageError, match=r"another one each time that item 0 of the data is read: .* random"):
        load_image(found, 0, data)


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
