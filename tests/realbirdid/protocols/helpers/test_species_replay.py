"""Probabilities of species from a file: whose rows they are, what is refused, and what is an error of one image."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ModelError
from eyechart.models.registry import capabilities
from eyechart.models.spec import parse_spec
from eyechart.models.types import Floats
from eyechart.protocol.registry import get_protocol, protocol_modules
from eyechart.realbirdid.protocols.helpers.species_replay import ReplayedProbabilities, SpeciesReplay

TABLE = np.array([[0.5, 0.25, 0.25], [0, 1, 0], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], np.float32)
KEYS = ("s02", "00.png", "s03", "s01")
ROWS = (1, 3, 0, 2)  # of the images, by these keys
Told = Callable[..., ReplayedProbabilities]


@pytest.fixture(autouse=True, params=[2**22, 6, 1])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at all rows together, at two and at one."""
    monkeypatch.setattr("eyechart.realbirdid.protocols.helpers.species_replay.BLOCK", request.param)


@pytest.fixture
def split(pictures: Callable[..., Dataset]) -> Dataset:
    return pictures([0, 1, 2, -1])


@pytest.fixture
def model(tmp_path: Path) -> Callable[..., SpeciesReplay]:
    """A model of an array, and of keys beside it."""

    def model(values: Any = TABLE, keys: Sequence[str] | None = None, column: str = "key") -> SpeciesReplay:
        np.save(tmp_path / "P.npy", np.asarray(values))
        if keys is not None:
            with (tmp_path / "P.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([(column, "seconds"), *((key, 1) for key in keys)])
        return SpeciesReplay(parse_spec(f"replay[path={tmp_path / 'P.npy'},of=species]"))

    return model


@pytest.fixture
def told(model: Callable[..., SpeciesReplay], split: Dataset) -> Told:
    """What a file gives for the split."""
    return lambda *given, **named: model(*given, **named).probabilities(split)


def rows(found: ReplayedProbabilities) -> Floats:
    return found[0 : len(found)]


def test_rows_are_the_splits_own_in_its_order(told: Told) -> None:
    found = told()
    assert (found.shape, len(found), found.errors) == ((4, 3), 4, {})
    np.testing.assert_array_equal(rows(found), TABLE)


def test_rows_are_found_by_key_and_by_file_name(told: Told) -> None:
    np.testing.assert_array_equal(rows(told(keys=KEYS)), TABLE[list(ROWS)])


@pytest.mark.parametrize("keys", [None, KEYS])
def test_a_limit_takes_the_rows_of_the_chosen_images(model: Any, split: Dataset, keys: Sequence[str] | None) -> None:
    whole, few = (model(keys=keys).probabilities(each) for each in (split, split.subsample(2, 5)))
    chosen = split.subsample(2, 5).selected
    assert few.shape == (2, 3)
    assert chosen not in ((0, 1), (2, 3))
    np.testing.assert_array_equal(rows(few), rows(whole)[list(chosen)])


@given(start=st.integers(0, 5), stop=st.integers(0, 5))
def test_a_part_is_a_part_of_the_whole(start: int, stop: int) -> None:
    found = ReplayedProbabilities(TABLE, np.array([2, -1, 0, 1]), {})
    expected = np.stack([TABLE[2], [np.nan] * 3, TABLE[0], TABLE[1]])
    np.testing.assert_array_equal(found[start:stop], expected[start:stop])


def test_numbers_stay_on_the_disk_and_come_as_floats_of_one_kind(told: Told) -> None:
    found = told(TABLE.astype(np.float64))
    assert isinstance(found.values, np.memmap)
    assert rows(found).dtype == np.float64
    np.testing.assert_array_equal(rows(found), TABLE)


def test_images_without_numbers_are_errors_of_their_own(told: Told) -> None:
    found = told([TABLE[0], [np.nan] * 3], keys=("s03", "s01"))
    assert {image: sentence.partition("P.")[2] for image, sentence in found.errors.items()} == {
        0: "csv has no row for s00. Add a line with this key, and its row to P.npy.",
        1: "npy has nothing but NaN for s01. Give every species a probability.",
        2: "csv has no row for s02. Add a line with this key, and its row to P.npy.",
    }
    assert np.isnan(rows(found)).all(axis=1).tolist() == [True, True, True, False]


def test_the_first_row_without_numbers_is_no_row_that_is_missing(told: Told) -> None:
    found = told([TABLE[0], [np.nan] * 3], keys=("s00", "s01"))
    assert [key for key, sentence in found.errors.items() if "nothing but NaN" in sentence] == [1]


def swapped(row: int, values: Sequence[float]) -> Floats:
    found = TABLE.copy()
    found[row] = values
    return found


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (TABLE[:, :2], r"has the shape \(4, 2\), but imagenet/memory has 3 species. Expected \(images, 3\), a column"),
        (TABLE[0], r"has the shape \(3,\), but imagenet/memory has 3 species"),
        (TABLE[None], r"has the shape \(1, 4, 3\)"),
        (TABLE[:3], r"has 3 rows, but imagenet/memory has 4 images\. Give a row for each.*keys in P\.csv"),
        (np.empty((0, 3), np.float32), "has 0 rows, but imagenet/memory has 4 images"),
        (TABLE.astype(np.int64), r"holds numbers of type int64\. Expected a \.npy of floats"),
        (TABLE.astype(np.complex64), "holds numbers of type complex64"),
        (swapped(2, [1.5, -0.25, -0.25]), r"row 2 \(of rows counted from 0\) has a negative number, -0\.25\. Expected"),
        (swapped(1, [0.5, np.nan, 0.5]), "row 1 .* has NaN or infinity beside numbers"),
        (swapped(1, [np.inf, -np.inf, 1]), "row 1 .* has NaN or infinity beside numbers"),
        (swapped(3, [np.inf, 0, 0]), "row 3 .* sums to inf"),
        (swapped(3, [0.3, 0.3, 0.398]), r"row 3 .* sums to 0\.998\. Expected .* sum to one within 0\.001"),
        (TABLE * np.array([[1], [2], [1], [3]], np.float32), "row 1 .* sums to 2, and 1 more like it"),
        (np.log(TABLE + 1e-9), "row 0 .* has a negative number, -1.386, and 3 more like it"),
        (np.zeros((4, 3), np.float32), "row 0 .* sums to 0, and 3 more like it"),
    ],
)  # fmt: skip
def test_what_are_no_probabilities_is_refused(told: Told, values: Any, sentence: str) -> None:
    with pytest.raises(ModelError, match=rf"P\.npy:? {sentence}"):
        told(values)


@pytest.mark.parametrize("off", [0.0009, -0.0009])
def test_a_sum_may_be_off_by_a_thousandth(told: Told, off: float) -> None:
    assert told(swapped(0, [0.5 + off, 0.25, 0.25])).errors == {}


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (("s00", "s01", "s02"), r"P\.csv has 3 keys, but P\.npy has 4 rows\. Expected a key for each"),
        (
            ("s00", "x", "s02", "y"),
            r"P\.csv, line 3: imagenet/memory has no image 'x', and 1 more like it\. Its first is 's00'",
        ),
        (("s00", "", "s02", "s03"), "has no image ''. Its first"),
        (("s00", "s01", "s02", "s01"), r"P\.csv, line 5: the image s01 comes a second time"),
        (("s00", "s01", "s02", "01.png"), r"P\.csv, line 5: the image 01\.png comes a second time"),
    ],
)
def test_keys_that_do_not_fit_are_refused(told: Told, keys: Sequence[str], sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        told(keys=keys)


def test_keys_need_their_column(told: Told) -> None:
    with pytest.raises(ModelError, match=r"P\.csv has the columns image, seconds\. Expected .* the column key"):
        told(keys=KEYS, column="image")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", r"has the columns none\. Expected a \.npy"), (b"key\n\xff\n", "line 2 is not UTF-8: it has the byte 0xff")],
)
def test_keys_that_cannot_be_read_are_named(
    model: Callable[..., SpeciesReplay], split: Dataset, tmp_path: Path, content: bytes, said: str
) -> None:
    found = model()
    (tmp_path / "P.csv").write_bytes(content)
    with pytest.raises(ModelError, match=rf"P\.csv,? {said}"):
        found.probabilities(split)


@pytest.mark.parametrize("content", [b"", b"no numbers", b"PK\x03\x04", b"\x93NUMPY\x01\x00"])
def test_a_file_of_no_array_is_named(tmp_path: Path, split: Dataset, content: bytes) -> None:
    (tmp_path / "P.npy").write_bytes(content)
    with pytest.raises(ModelError, match=r"P\.npy cannot be read \(.*\)\. Expected a \.npy of floats"):
        SpeciesReplay(parse_spec(f"replay[path={tmp_path / 'P.npy'},of=species]")).probabilities(split)


def test_a_file_that_was_cut_short_is_named(
    model: Callable[..., SpeciesReplay], split: Dataset, tmp_path: Path
) -> None:
    found = model()
    (tmp_path / "P.npy").write_bytes((tmp_path / "P.npy").read_bytes()[:-4])
    with pytest.raises(ModelError, match=r"P\.npy cannot be read"):
        found.probabilities(split)


def test_objects_are_not_unpickled(model: Callable[..., SpeciesReplay], split: Dataset) -> None:
    with pytest.raises(ModelError, match=r"cannot be read \(.*objects"):
        model(np.array([[{}] * 3] * 4)).probabilities(split)


def test_a_file_that_is_not_there_is_asked_for() -> None:
    with pytest.raises(ModelError, match=r"there is no file absent\.npy\. Expected a \.npy of floats"):
        SpeciesReplay(parse_spec("replay[path=absent.npy,of=species]"))


def test_keys_are_a_part_of_who_answers(model: Callable[..., SpeciesReplay]) -> None:
    plain, one, other, again = (model(keys=keys).identity for keys in (None, KEYS, KEYS[::-1], KEYS))
    assert one == again
    assert len({str(each) for each in (plain, one, other)}) == 3
    assert plain.weights_sha256 == one.weights_sha256 != model(TABLE[::-1]).identity.weights_sha256


def test_species_are_asked_for_under_their_own_protocol_alone() -> None:
    offered = capabilities(parse_spec("replay[path=P.npy,of=species]"))
    assert [name for name in protocol_modules() if get_protocol(name).supports(offered)] == ["species"]
