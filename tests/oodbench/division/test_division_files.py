"""Division files and the authors' csv: read back byte for byte, and refused where they are not of the data."""

import json
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError
from eyechart.oodbench.division.division_files import (
    division_sha256,
    labels_sha256,
    read_division,
    serialize_division,
    write_division,
)
from eyechart.oodbench.division.hard_samples import HardSamples
from tests.oodbench.division.divided_folder import COUNTS, MINED, Folder, divided

Make = Callable[..., Dataset]
CAT, DOG, CREAM = "cat", "dog", "crème brûlée, burnt"


def test_it_comes_back_byte_for_byte(folder: Folder) -> None:
    again = read_division(folder.path, folder.dataset)
    assert serialize_division(again, folder.dataset) == folder.path.read_bytes()
    assert division_sha256(again, folder.dataset) == division_sha256(folder.division, folder.dataset)


def test_what_is_asked_hangs_on_the_pairs_and_not_on_the_logits_last_bits(folder: Folder) -> None:
    found, dataset = folder.division, folder.dataset
    others = tuple(replace(one, scores_sha256="0" * 64) for one in found.detectors)
    assert division_sha256(replace(found, detectors=others), dataset) != division_sha256(found, dataset)
    assert labels_sha256(replace(found, detectors=others), dataset) == labels_sha256(found, dataset)
    assert labels_sha256(replace(found, present=~found.present), dataset) != labels_sha256(found, dataset)


def test_nothing_is_lost(folder: Folder) -> None:
    again = read_division(folder.path, folder.dataset)
    for name, value in vars(folder.division).items():
        if isinstance(value, np.ndarray):
            assert getattr(again, name).dtype == value.dtype
            np.testing.assert_array_equal(getattr(again, name), value)
        else:
            assert getattr(again, name) == (dict(sorted(value.items())) if name == "parameters" else value)


def test_a_pair_is_a_line(folder: Folder) -> None:
    lines = folder.path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(folder.division) + 2
    assert json.loads(lines[1].rstrip(",")) == ["s02", CREAM, "ID", True, True, "00", None]


def test_the_authors_csv_holds_the_main_benchmark(folder: Folder) -> None:
    names = {path.name for path in folder.path.parent.iterdir()} - {"memory.json"}
    assert names == {f"memory-{name}.csv" for name in ("ID", "OOD-S", "OOD-H", "Hard")}
    lines = (folder.path.parent / "memory-OOD-S.csv").read_text(encoding="utf-8").splitlines()
    assert (lines[0], len(lines)) == ("img_id,category,answer", 3)
    hard = (folder.path.parent / "memory-Hard.csv").read_text(encoding="utf-8")
    assert hard == f"img_id,category,answer\nid 4,{DOG},YES\nid 2,{CAT},YES\n"


def test_an_empty_set_has_a_csv_and_an_earlier_one_is_no_more(folder: Folder) -> None:
    nothing = HardSamples(MINED.rows[:0], MINED.categories[:0], MINED.hardness[:0])
    found = divided(folder.dataset, nothing, most=0)
    written = write_division(folder.path, found, folder.dataset)
    assert sorted(written) == sorted(folder.path.parent.iterdir())
    assert (folder.path.parent / "memory-OOD-H.csv").read_text() == "img_id,category,answer\n"


def test_a_csv_whose_name_ends_in_no_set_is_refused(folder: Folder) -> None:
    path = (folder.path.parent / "memory-ID.csv").rename(folder.path.parent / "memory-EASY.csv")
    with pytest.raises(
        DataError, match=r"memory-EASY\.csv names no set\. Rename the file so that it ends with ID, OOD-S"
    ):
        read_division(path, folder.dataset)


def test_every_csv_comes_back(folder: Folder) -> None:
    for name in ("ID", "OOD-S", "OOD-H", "Hard"):
        found = read_division(folder.path.parent / f"memory-{name}.csv", folder.dataset)
        assert {*found.sets} == {name}
        of = folder.division.main & (np.array(folder.division.sets) == name)
        for part in ("rows", "categories", "present"):
            assert getattr(found, part).tolist() == getattr(folder.division, part)[of].tolist()


def pair(index: int, **cells: Any) -> Callable[[dict[str, Any]], object]:
    """Change cells of a pair."""
    names = ("key", "category", "set", "main", "present", "flags", "hardness")
    return lambda found: [found["pairs"][index].__setitem__(names.index(name), cell) for name, cell in cells.items()]


FIRST = f"pair 0 (s02, {CREAM})"
CHANGED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "images": (lambda f: f.update(fingerprint="0" * 64), "was built from other images: its fingerprint is 000000"),
    "annotations": (lambda f: f.update(annotation="0" * 64), "was built from other annotations: its fingerprint is"),
    "key": (pair(1, key="s99"), "pair 1 names the image 's99', which imagenet/memory does not have (1 such pairs"),
    "category": (pair(1, category="Cat"), "pair 1 names the category 'Cat', which imagenet/memory does not have"),
    "set": (pair(0, set="OOD"), f"{FIRST} is of the set 'OOD', expected one of ID, OOD-S, OOD-H, Hard"),
    "digit": (pair(0, flags="04"), f"{FIRST} has the flags '04', expected one digit from 0 to 3 for each of 2 det"),
    "letter": (pair(0, flags="0०"), "expected one digit from 0 to 3"),
    "few flags": (pair(0, flags="0"), f"{FIRST} has the flags '0', expected one digit from 0 to 3 for each of 2 det"),
    "other flags": (pair(0, flags="12"), f"{FIRST} is of the set ID, and its flags '12' belong to OOD-H"),
    "not there": (pair(0, key="s00"),
        f"pair 0 says that '{CREAM}' is present in s00, which contradicts the annotation (1 such pairs"),
    "there": (pair(0, present=False), f"pair 0 says that '{CREAM}' is absent in s02, which contradicts the annotation"),
    "unknown": (pair(0, key="s01", present=False), "is absent in s01, which contradicts the annotation"),
    "twice": (lambda f: f["pairs"].append(f["pairs"][0]), f"has the {FIRST} twice; each pair is in one set only"),
    "schema": (lambda f: f.update(schema=2), "has schema 2, expected 1. Use the version of eyechart that wrote it."),
    "no pairs": (lambda f: f.pop("pairs"), "is not a division file (Object missing required field `pairs`)"),
    "a number": (pair(0, main=1), "is not a division file (Expected `bool`, got `int` - at `$.pairs[0][3]`)"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGED)
def test_a_file_that_was_changed_is_refused(folder: Folder, what: str) -> None:
    change, complaint = CHANGED[what]
    with pytest.raises(DataError) as refusal:
        read_division(folder.changed(change), folder.dataset)
    assert str(refusal.value).startswith(str(folder.path))
    assert complaint in str(refusal.value)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"schema": "\xff"}'])
def test_what_is_no_division_is_refused(folder: Folder, data: bytes) -> None:
    folder.path.write_bytes(data)
    with pytest.raises(DataError, match=r"is not a division file .* Create it again with: eyechart divide ROOT"):
        read_division(folder.path, folder.dataset)


def test_a_byte_order_mark_is_no_part_of_a_file(folder: Folder) -> None:
    data = folder.path.read_bytes()
    folder.path.write_bytes(BOM_UTF8 + data)
    assert serialize_division(read_division(folder.path, folder.dataset), folder.dataset) == data


def test_a_file_that_is_not_there_is_refused(folder: Folder) -> None:
    with pytest.raises(
        DataError, match=r"nix.json cannot be read \(No such file or directory\). Create it again with:"
    ):
        read_division(folder.path.with_name("nix.json"), folder.dataset)


def test_fewer_images_are_other_data(folder: Folder) -> None:
    with pytest.raises(DataError, match=r"built from other images: .*; --eye-limit changes it too"):
        read_division(folder.path, folder.dataset.subsample(3, 42))


def test_another_annotation_is_seen(folder: Folder, annotated: Make) -> None:
    recounted = annotated([[5, 0, 0], *COUNTS[1:]])
    with pytest.raises(DataError, match="built from other annotations"):
        read_division(folder.path, recounted)


def test_a_mined_pair_may_be_in_a_set_too(folder: Folder) -> None:
    found = divided(folder.dataset, HardSamples(MINED.rows[:1] * 0, MINED.categories[:1] * 0, MINED.hardness[:1]))
    write_division(folder.path, found, folder.dataset)
    again = read_division(folder.path, folder.dataset)
    first = (again.rows == 0) & (again.categories == 0)
    assert np.array(again.sets)[first].tolist() == ["OOD-H", "Hard"]
