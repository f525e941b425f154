"""Probabilities of species, and words about birds, that come from files: what a run makes of them."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.data.dataset.dataset import Dataset
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


def write(path: Path, rows: Sequence[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def numbers(record: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    return {
        (one["name"], subset_text(one["subset"], one["level"], one["prompt"]), one["labels"]): one["value"]
        for one in record["metrics"]
    }


def test_probabilities_and_words_about_every_bird_have_the_highest_marks(world: Any, birds: Dataset, sure: Any) -> None:
    """Two files of probabilities differ in the order of their rows, and the second has keys; the third has words."""
    np.save(world.folder / "P.npy", sure)
    np.save(world.folder / "Q.npy", sure[::-1])
    write(world.folder / "Q.csv", [("key",), *((key,) for key in birds.keys[::-1])])
    assert birds.selected_details is not None
    told = [
        f"It is a {birds.names[index]}." if index >= 0 else "I cannot tell." for index in birds.selected_details.species
    ]
    write(world.folder / "A.csv", [("key", "answer"), *zip(birds.keys, told, strict=True)])
    models = ("p=replay[path=P.npy,of=species]", "q=replay[path=Q.npy,of=species]", "a=replay[path=A.csv,of=free_form]")
    chosen = [f"--eye-model={model}" for model in models]
    world.installed(SPLIT, *chosen, "--eye-set=free_form.extraction=choice,inclusion")
    found = {record["model"]["alias"]: record for record in world.records}
    assert {*found} == {"p", "q", "a"}
    first, second, words = (found[name] for name in "pqa")
    assert (first["protocol"], first["outcomes"]["error"]) == ("species", 0)
    for what in (
        ("ig", "answerable", "all species"),
        ("acc", "answerable.species", "all species"),
        ("acc", "answerable.genus", "eligible"),
    ):
        assert numbers(first)[what] == pytest.approx(1)
    assert numbers(first) == numbers(second)
    assert first["model"]["weights_sha256"] != second["model"]["weights_sha256"]
    of_words = {(name, category): value for (name, category, _), value in numbers(words).items()}
    assert (words["protocol"], words["variant"]["extraction"]) == ("free_form", "inclusion")
    assert (of_words["acc", "answerable.species"], of_words["abstained", "unanswerable"]) == (1, 1)


def test_a_limit_takes_the_rows_of_its_images_and_what_is_no_probability_of_a_bird_is_said(
    world: Any, birds: Dataset, sure: Any
) -> None:
    missing = birds.subsample(20, seed=42).keys[0]
    rows = [index for index, key in enumerate(birds.keys) if key != missing]
    np.save(world.folder / "P.npy", sure)
    np.save(world.folder / "Q.npy", sure[rows])
    write(world.folder / "Q.csv", [("key",), *((birds.keys[row],) for row in rows)])
    np.save(world.folder / "R.npy", sure * 2)
    models = [f"--eye-model={name}=replay[path={name}.npy,of=species]" for name in "PQR"]
    said = world.installed(SPLIT, *models, "--eye-limit=20", code=1)
    whole, part = world.records
    assert (whole["data"]["n"], numbers(whole)["acc", "answerable.species", "all species"]) == (20, 1)
    assert part["outcomes"]["error"] == 1
    assert f"Q.csv has no row for {missing}. Add a line with this key" in said
    assert "R.npy: row 0 (of rows counted from 0) sums to 2, and 134 more like it. Expected probabilities" in said
