"""The table of a user's slices, and the slices that data sets have themselves."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.data.splits.open_split import open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import DataError
from eyechart.realbirdid.data.observations import Observations
from eyechart.realbirdid.data.taxonomy import Taxonomy
from eyechart.results.slices import distinct_names, slice_variables


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A split of two classes of two images."""
    for index, name in enumerate(("cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8), (index * 40, 0, 0)).save(path)
    return tmp_path


def variables(folder: Path, limit: int | None = None) -> dict[str, tuple[tuple[str, ...], list[int]]]:
    """The variables of the split, after a table is written."""
    dataset = open_split(SplitRef("pets", "test", "folder", str(folder))).subsample(limit, seed=0)
    return {part.name: (part.values, part.codes.tolist()) for part in slice_variables(dataset)}


def test_columns_are_aligned_by_key_and_empty_cells_have_no_value(folder: Path) -> None:
    (folder / "slices.csv").write_text("key,lighting,camera\ndog/2.png,night,A\ncat/1.png,day,\ncat/2.png,night,A\n")
    assert variables(folder) == {
        "lighting": (("day", "night"), [0, 1, -1, 1]),
        "camera": (("A",), [-1, 0, -1, 0]),
        "class": (("cat", "dog"), [0, 0, 1, 1]),
    }


def test_a_column_keeps_its_letters(folder: Path) -> None:
    (folder / "slices.csv").write_text("\ufeff\ufeffKey,Gro\u0308ße\ncat/1.png,1\n", encoding="utf-8")
    assert [*variables(folder)] == ["größe", "class"]


def test_a_limited_split_has_the_slices_of_its_images(folder: Path) -> None:
    (folder / "slices.csv").write_text(
        "key,n\n" + "".join(f"{c}/{i}.png,{c}{i}\n" for c in ("cat", "dog") for i in (1, 2))
    )
    dataset = open_split(SplitRef("pets", "test", "folder", str(folder))).subsample(2, seed=0)
    (own, *_) = slice_variables(dataset)
    assert [key.replace("/", "").removesuffix(".png") for key in dataset.keys] == [own.values[c] for c in own.codes]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("key\ncat/1.png\n", "has no column but key. Add a column"),
        ("name,a\ncat/1.png,1\n", "key"),
        ("key,a\ncat/3.png,1\n", "line 2: the split has no image with the key 'cat/3.png'"),
        ("key,a\ncat/1.png,1\ncat/1.png,2\n", "line 3 has the key 'cat/1.png', and line 2 has"),
        ("key,class\ncat/1.png,1\n", "has the column 'class', which the data set has itself. Rename it."),
        ("key,a=b\ncat/1.png,1\n", "has the column 'a=b', expected letters, digits and _. Rename it."),
    ],
)
def test_a_wrong_table_is_refused(folder: Path, text: str, why: str) -> None:
    (folder / "slices.csv").write_text(text)
    with pytest.raises(DataError, match=re.escape(why)):
        variables(folder)


def test_keys_as_windows_and_shells_write_them_and_rows_of_commas(folder: Path) -> None:
    (folder / "slices.csv").write_text("key,light\n.\\cat\\1.png,day\n./cat/2.png,night\n,\n,\n")
    values, codes = variables(folder)["light"]
    assert (values, codes[:2]) == (("day", "night"), [0, 1])


def test_semicolons_with_a_comma_in_the_header(folder: Path) -> None:
    (folder / "slices.csv").write_text("key;light, time\ncat/1.png;day\n")
    with pytest.raises(DataError, match="has semicolons between its columns, expected commas"):
        variables(folder)


def test_the_taxa_of_birds_are_slices_on_every_level() -> None:
    levels = ("species", "genus", "order")
    names = (("a a", "a b", "c c"), ("a", "c"), ("x", "y"))
    parents = (np.array([0, 0, 1]), np.array([0, 1]))
    taxonomy = Taxonomy(levels, names, ("", "", ""), parents, "t")
    nowhere = np.full(3, np.nan)
    birds = Observations(
        taxonomy,
        ("1", "2", "3"),
        np.array([1, -1, 2]),
        np.array([0, 0, 1]),
        np.array([-1, 0, -1]),
        nowhere,
        nowhere,
        np.zeros(4, np.int64),
        np.zeros(0, np.int64),
    )
    read = {
        part.name: [part.values[code] if code >= 0 else "" for code in part.codes] for part in birds.slice_variables()
    }
    assert read == {"species": ["a b", "", "c c"], "genus": ["a", "a", "c"], "order": ["x", "x", "y"]}


def test_classes_of_one_name_are_told_apart_by_their_index() -> None:
    assert distinct_names(("crane", "crane"), 2) == ("crane (0)", "crane (1)")
