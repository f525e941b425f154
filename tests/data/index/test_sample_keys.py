"""Tests of `eyechart.data.index.sample_keys`."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.dataset.dataset import Dataset, Row
from eyechart.data.index.file_index import whole_file_source
from eyechart.data.index.sample_keys import find_rows, match_unique_images
from eyechart.errors import ModelError

FILES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6)


def dataset_of(files: list[str]) -> Dataset:
    """A data set of images in folders with their numbers."""
    rows = [Row(f"{index}/{file}", file, "") for index, file in enumerate(files)]
    return Dataset("b", "s", tuple(rows), whole_file_source((row, Path(row.key)) for row in rows), 2)


@given(FILES, st.data())
def test_a_key_is_found_before_a_file_name_and_a_file_name_only_if_it_is_unique(
    files: list[str], data: st.DataObject
) -> None:
    dataset = dataset_of(files)
    own = [row.key for row in dataset.index]
    keys = data.draw(st.just(own) | st.permutations(own) | st.lists(st.sampled_from([*own, *"abcd", "none"])))

    def row_of(key: str) -> int:
        if key in own:
            return own.index(key)
        return files.index(key) if files.count(key) == 1 else -1

    assert find_rows(dataset, keys).tolist() == [row_of(key) for key in keys]


@given(FILES, st.data())
def test_each_image_has_the_place_of_its_key_and_a_second_one_is_refused(files: list[str], data: st.DataObject) -> None:
    dataset = dataset_of(files)
    drawn = data.draw(st.lists(st.integers(0, len(files) - 1), min_size=1, max_size=8))
    keys = [dataset.index[row].key for row in drawn]
    repeated = [index for index, row in enumerate(drawn) if row in drawn[:index]]
    if repeated:
        with pytest.raises(
            ModelError, match=rf"^line {repeated[0]}: the image {keys[repeated[0]]} comes a second time"
        ):
            match_unique_images(Path("a.csv"), dataset, keys, "line {}".format)
        return
    indices = match_unique_images(Path("a.csv"), dataset, keys, "line {}".format)
    assert indices.tolist() == [drawn.index(row) if row in drawn else -1 for row in range(len(files))]
