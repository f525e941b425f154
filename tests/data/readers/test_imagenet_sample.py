import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.readers.imagenet_sample import SPLITS, _read_images, open_sample, packaged_root, splits
from eyechart.errors import DataError

LIMIT = 5_000_000
COMPLETE = pytest.mark.skipif(
    not (packaged_root() / "tuxpaint").is_dir(), reason="the folder under the GPL was left out of this build"
)


@pytest.fixture(scope="module")
def sample() -> Dataset:
    return open_sample("sample")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(packaged_root(), tmp_path / "imagenet"))


@pytest.fixture
def without_gpl(copy: Path) -> Path:
    shutil.rmtree(copy / "tuxpaint")
    return copy


@COMPLETE
def test_every_subset_has_its_published_number_of_pictures() -> None:
    found = Counter(picture.subset for picture in _read_images(packaged_root()))
    assert found == {"exact": 140, "none": 37, "near": 76, "drawing": 28}


@COMPLETE
@pytest.mark.parametrize(("split", "expected"), [("sample", 177), ("sample-near", 76), ("sample-drawing", 28)])
def test_splits_have_their_sizes(split: str, expected: int) -> None:
    dataset = open_sample(split)
    assert len(dataset) == dataset.expected == len(dataset.source.entries) == expected


@COMPLETE
def test_the_packaged_pictures_are_these(sample: Dataset) -> None:
    assert sample.fingerprint == "02295a692bbe412b31eb0843e65a28aef0294edd10a63621bf28c2d122d245ec"


def test_every_picture_names_its_author_and_licence() -> None:
    assert all(picture.author and picture.licence for picture in _read_images(packaged_root()))


def test_keys_are_unique_and_carry_the_folder(sample: Dataset) -> None:
    assert len(set(sample.keys)) == len(sample)
    assert "gcompris/erase-dolphin" in sample.keys


def test_a_single_label_is_among_the_valid_ones(sample: Dataset) -> None:
    single, several = sample.label_sets["ImGT"], sample.label_sets["multilabel"]
    assert np.all((several.labels == single.labels).any(axis=1) | (single.labels[:, 0] < 0))


@COMPLETE
def test_pictures_of_no_class_have_no_label(sample: Dataset) -> None:
    labels = sample.label_sets["multilabel"].labels
    assert np.sum((labels < 0).all(axis=1)) == 37
    assert {name: truth.empty for name, truth in sample.label_sets.items()} == {
        "ImGT": "exclude",
        "multilabel": "correct",
    }


def test_read_gives_the_files_bytes(sample: Dataset) -> None:
    [(position, data)] = sample.read(range(3, 4))
    assert (position, data) == (3, (packaged_root() / f"{sample.keys[3]}.webp").read_bytes())


def test_no_packaged_file_is_big() -> None:
    assert max(path.stat().st_size for path in packaged_root().rglob("*")) < LIMIT


@COMPLETE
def test_the_sample_opens_without_the_gpl_folder(without_gpl: Path) -> None:
    dataset = open_sample("sample", without_gpl)
    assert len(dataset) == dataset.expected == 87
    assert splits(without_gpl) == ("sample", "sample-near")
    assert splits() == tuple(SPLITS)


@COMPLETE
def test_a_split_that_was_left_out_says_so(without_gpl: Path) -> None:
    with pytest.raises(DataError, match=r"sample-drawing.*left out"):
        open_sample("sample-drawing", without_gpl)


def test_an_unknown_split_names_the_known_ones() -> None:
    with pytest.raises(DataError, match=r"'smaple'.*sample, sample-near, sample-drawing"):
        open_sample("smaple")


def test_a_changed_picture_is_refused(copy: Path) -> None:
    (copy / "gcompris" / "erase-dolphin.webp").write_bytes(b"not this")
    with pytest.raises(DataError, match=r"erase-dolphin.webp has changed.*Install eyechart again"):
        open_sample("sample", copy)


@COMPLETE
@pytest.mark.parametrize("name", ["counts.json", "gcompris/manifest.csv", "tuxpaint/hen.webp"])
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(DataError, match=rf"{name} cannot be read"):
        open_sample("sample", copy)


@COMPLETE
def test_a_shortened_manifest_is_refused(copy: Path) -> None:
    manifest = copy / "tuxpaint" / "manifest.csv"
    manifest.write_text("".join(manifest.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    with pytest.raises(DataError, match=r"manifest.csv lists .* expected"):
        open_sample("sample", copy)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    shutil.copy(packaged_root() / "counts.json", tmp_path)
    with pytest.raises(DataError, match="none of the folders gcompris, tuxpaint"):
        open_sample("sample", tmp_path)
