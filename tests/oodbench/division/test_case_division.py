"""Tests of `eyechart.oodbench.division.case_division`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError
from eyechart.oodbench.division.case_division import load_division
from eyechart.oodbench.division.division_files import write_division
from eyechart.oodbench.protocols.existence import Existence

HARD, SIMPLE = {(0, 1), (3, 0)}, {(1, 2), (2, 3)}


def pairs(found: Any, name: str) -> set[tuple[int, int]]:
    """The image and the category of every pair of a set."""
    mask = dict(found.set_masks())[name]
    rows, categories = (part[found.indices[mask]].tolist() for part in (found.division.rows, found.division.categories))
    return {*zip(rows, categories, strict=True)}


def test_a_file_is_told_by_its_name_and_what_is_in_it(pair_world: Any, tmp_path: Path) -> None:
    context = pair_world.sit(pair_world.talker(), threshold="0.02")
    write_division(tmp_path / "mine.json", load_division(context), context.dataset)
    told = Existence().predict(pair_world.sit(pair_world.talker(), division=tmp_path / "mine.json")).variant
    assert told["division"].startswith("mine.json (")
    assert (told["threshold"], told["detectors"], told["source"]) == ("0.02", "first[]+second[]", "coco")


@pytest.mark.parametrize(("name", "wanted"), [("OOD-H", HARD), ("OOD-S", SIMPLE)])
def test_a_published_csv_is_asked_about_as_the_set_that_its_name_says(
    pair_world: Any, tmp_path: Path, name: str, wanted: set[tuple[int, int]]
) -> None:
    context = pair_world.sit(pair_world.talker())
    write_division(tmp_path / "mine.json", load_division(context), context.dataset)
    found = Existence().predict(pair_world.sit(pair_world.talker(), division=tmp_path / f"mine-{name}.csv"))
    assert (pairs(found, name), {*found.division.sets}) == (wanted, {name})
    assert (found.variant["detectors"], found.variant["threshold"]) == ("unknown", "unknown")


def test_what_a_file_does_not_say_is_not_made_up(pair_world: Any, tmp_path: Path) -> None:
    context = pair_world.sit(pair_world.talker())
    write_division(
        tmp_path / "mine.json", replace(load_division(context), parameters={"max_pairs": "9"}), context.dataset
    )
    told = Existence().predict(pair_world.sit(pair_world.talker(), division=tmp_path / "mine.json")).variant
    assert (told["max_pairs"], told["threshold"], told["absent_categories"]) == ("9", "unknown", "unknown")
    assert told["detectors"] == "first[]+second[]"


def test_a_folder_without_any_division_is_refused(pair_world: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no division file\. Create one with: eyechart divide ROOT"):
        load_division(pair_world.sit(pair_world.talker(), division=tmp_path))
