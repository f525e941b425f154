"""Tests of `eyechart.oodbench.division.division_csv`."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec import structs

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError
from eyechart.oodbench.division.division_csv import read_pairs
from eyechart.oodbench.division.pairs import (
    require_annotation,
)
from tests.oodbench.division.divided_folder import Folder

Make = Callable[..., Dataset]
CAT, DOG, CREAM = "cat", "dog", "crème brûlée, burnt"


HEAD = "img_id,category,answer"
PLAIN = {"id": f"id 2,{DOG},YES", "key": "s02, DOG ,yes", "file": "02.png,dog,Yes", "stem": '02,"dog",YES'}


@pytest.mark.parametrize("line", PLAIN.values(), ids=PLAIN)
def test_an_image_goes_by_any_of_its_names(folder: Folder, line: str) -> None:
    found = read_pairs(folder.csv(HEAD, line, "id 0,dog,NO"), folder.dataset)
    assert [found.rows.tolist(), found.categories.tolist(), found.present.tolist()] == [[2, 0], [1, 1], [True, False]]


FAULTS = {
    "id 2,dog": "line 3 has 2 cells, expected 3",
    "": "line 3 has 0 cells, expected 3",
    "id 2,dog,YES,": "line 3 has 4 cells, expected 3",
    "id 9,dog,YES": "line 3 names the image 'id 9', which imagenet/memory does not have",
    "id 2,wolf,YES": "line 3 names the category 'wolf', which imagenet/memory does not have",
    "id 2,dog,1": "line 3 answers '1', expected YES or NO",
    "id 0,dog,YES": "line 3 says YES for 'dog' in id 0, which contradicts the annotation",
    "id 2,dog,NO": "line 3 says NO for 'dog' in id 2, which contradicts the annotation",
    'id 1,"crème brûlée, burnt",NO': "line 3 says NO for 'crème brûlée, burnt' in id 1, "
    "which contradicts the annotation",
    "02,cat,YES": "line 3 repeats 'cat' in 02",
}


@pytest.mark.parametrize("line", FAULTS)
def test_a_malformed_line_is_reported(folder: Folder, line: str) -> None:
    with pytest.raises(DataError) as refusal:
        read_pairs(folder.csv(HEAD, "id 2,cat,YES", line, "id 0,cat,YES"), folder.dataset)
    assert str(refusal.value) == f"{folder.path.with_suffix('.csv')}: {FAULTS[line]}. Correct or remove them."


def test_every_malformed_line_is_counted(folder: Folder) -> None:
    with pytest.raises(DataError, match=r"line 2 has .*; line 11 has 1 cells, expected 3; and 2 more lines. Correct"):
        read_pairs(folder.csv(HEAD, *"abcdefghijkl"), folder.dataset)


@pytest.mark.parametrize("lines", [(), ("id 2,dog,YES",), ("img_id,category",), ('"a',)])
def test_a_csv_without_header_is_refused(folder: Folder, lines: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match=r"Expected the header img_id,category,answer, then lines with an image"):
        read_pairs(folder.csv(*lines), folder.dataset)


def test_names_that_two_images_have_are_nobodys(folder: Folder) -> None:
    twins = replace(folder.dataset, index=tuple(structs.replace(row, file="1.png") for row in folder.dataset.index))
    with pytest.raises(DataError, match=r"line 2 names the image '1\.png'"):
        read_pairs(folder.csv(HEAD, "1.png,dog,YES"), twins)


def test_the_annotation_is_that_of_the_chosen_images(folder: Folder) -> None:
    fewer = folder.dataset.subsample(3, 42)
    found = read_pairs(folder.csv(HEAD, f"{require_annotation(fewer).image_ids[-1]},cat,YES"), fewer)
    assert found.rows.tolist() == [2]
