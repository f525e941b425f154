"""Probabilities of species, and words about birds, that come from files: what a run makes of them."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.plugins.exit_codes import ERRORS
from eyechart.realbirdid.data.registered import open_realbirdid
from eyechart.results.records import subset_text

pytestmark = pytest.mark.deep

SPLIT = "sample-drawn"


@pytest.fixture(scope="module")
def birds() -> Dataset:
    """The packaged drawn birds."""
    return open_realbirdid(SPLIT)


@pytest.fixture(scope="module")
def sure(birds: Dataset) -> Any:
    """Probabilities that name every bird that can be told, and share the rest out."""
    rows, observed = np.arange(len(birds)), birds.selected_details
    assert observed is not None
    found = np.full((len(birds), birds.classes), 0.4 / (birds.classes - 1), np.float32)
    found[rows, np.where(observed.answerable, observed.species, 0)] = 0.6
    return found


def put(world: Any, told: Any, keys: Sequence[str] = (), code: int = 0, *more: str) -> str:
    """Run the packaged birds with probabilities; what is said."""
    np.save(world.folder / "P.npy", told)
    if keys:
        write(world.folder / "P.csv", [("key",), *((key,) for key in keys)])
    said: str = world.installed(SPLIT, "--eye-model=replay[path=P.npy,of=species]", *more, code=code)
    return said


def write(path: Path, rows: Sequence[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def numbers(record: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    return {
        (one["name"], subset_text(one["subset"], one["level"], one["prompt"]), one["labels"]): one["value"]
        for one in record["metrics"]
    }


def test_who_names_every_bird_has_the_highest_marks(world: Any, sure: Any) -> None:
    put(world, sure)
    (record,) = world.records
    assert (record["protocol"], record["outcomes"]["error"]) == ("species", 0)
    for what in (
        ("ig", "answerable", "all species"),
        ("acc", "answerable.species", "all species"),
        ("acc", "answerable.genus", "eligible"),
    ):
        assert numbers(record)[what] == pytest.approx(1)


def test_rows_in_another_order_with_their_keys_are_the_same(world: Any, birds: Dataset, sure: Any) -> None:
    put(world, sure)
    (first,) = world.records
    put(world, sure[::-1], birds.keys[::-1])
    (second,) = world.records
    assert numbers(first) == numbers(second)
    assert first["model"]["weights_sha256"] != second["model"]["weights_sha256"]


def test_a_limit_takes_the_rows_of_its_images(world: Any, sure: Any) -> None:
    put(world, sure, (), 0, "--eye-limit=20")
    (record,) = world.records
    assert (record["data"]["n"], numbers(record)["acc", "answerable.species", "all species"]) == (20, 1)


def test_a_bird_without_a_row_is_an_error(world: Any, birds: Dataset, sure: Any) -> None:
    said = put(world, sure[1:], birds.keys[1:], ERRORS)
    assert f"P.csv has no row for {birds.keys[0]}. Add a line with this key" in said
    assert world.records[0]["outcomes"]["error"] == 1


def test_what_are_no_probabilities_stops_the_case(world: Any, sure: Any) -> None:
    said = put(world, sure * 2, (), 1)
    assert "P.npy: row 0 (of rows counted from 0) sums to 2, and 134 more like it. Expected probabilities" in said


def test_words_about_birds_are_read_as_free_form(world: Any, birds: Dataset) -> None:
    assert birds.selected_details is not None
    told = [
        f"It is a {birds.names[index]}." if index >= 0 else "I cannot tell." for index in birds.selected_details.species
    ]
    write(world.folder / "A.csv", [("key", "answer"), *zip(birds.keys, told, strict=True)])
    world.installed(
        SPLIT, "--eye-model=replay[path=A.csv,of=free_form]", "--eye-set=free_form.extraction=choice,inclusion"
    )
    (record,) = world.records
    found = {(name, category): value for (name, category, _), value in numbers(record).items()}
    assert (record["protocol"], record["variant"]["extraction"]) == ("free_form", "inclusion")
    assert (found["acc", "answerable.species"], found["abstained", "unanswerable"]) == (1, 1)
