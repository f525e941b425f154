"""The packaged sample of OODBench: it opens, and refuses what has changed."""

import shutil
from functools import cache
from pathlib import Path

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.images import decode_image
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import DataError
from eyechart.oodbench.data.annotated_splits import FORMATS
from eyechart.oodbench.data.annotation import Annotation
from eyechart.oodbench.data.registered import open_oodbench, packaged_root, splits

pytestmark = pytest.mark.deep

SIZES = {"sample-coco": 50, "sample-lvis": 50, "sample-nuscenes": 60, "sample-cityscapes": 60}
PAIRS = {"sample-coco": 108, "sample-lvis": 84, "sample-nuscenes": 106, "sample-cityscapes": 163}


@pytest.fixture(params=FORMATS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@cache
def opened(kind: str) -> Dataset:
    """The packaged split of a format, opened once."""
    return open_oodbench(f"sample-{kind}")


@pytest.fixture
def sample(kind: str) -> Dataset:
    return opened(kind)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(packaged_root(), tmp_path / "oodbench"))


def annotation(found: Dataset) -> Annotation:
    assert found.details is not None
    return found.details


def test_there_is_a_split_a_format_without_any_data_given() -> None:
    listed = [ref.split for ref in list_splits() if ref.benchmark == "oodbench"]
    assert listed == [*splits()] == [f"sample-{kind}" for kind in FORMATS] == [*SIZES]


def test_a_split_opens_by_its_name_with_as_many_pictures_as_were_packaged(kind: str, sample: Dataset) -> None:
    (ref,) = [ref for ref in list_splits() if str(ref) == f"oodbench/sample-{kind}"]
    found = open_split(ref)
    assert found.expected == len(found) == SIZES[ref.split]
    assert (found.fingerprint, annotation(found).source) == (sample.fingerprint, kind)


def test_the_numbers_of_pairs(sample: Dataset) -> None:
    assert int(annotation(sample).present.sum()) == PAIRS[sample.split]
    assert int(annotation(sample).known_absent.sum()) > PAIRS[sample.split]


def test_some_cannot_be_counted(kind: str, sample: Dataset) -> None:
    found = annotation(sample)
    assert bool((found.present & ~found.countable).any()) == (kind != "nuscenes")
    assert bool((~found.known).any()) == (kind == "lvis")


def test_pictures_can_be_decoded_and_are_the_packaged_bytes(kind: str, sample: Dataset) -> None:
    for index, data in sample.read(range(5)):
        assert data == (packaged_root() / kind / sample.source.entries[index].path).read_bytes()
        assert min(decode_image(data, str(index)).size) >= 90


def test_a_changed_byte_anywhere_is_refused(kind: str, copy: Path) -> None:
    files = [path for path in sorted((copy / kind).rglob("*")) if path.is_file() and path.name != "sha256.txt"]
    for path in files[:: max(1, len(files) // 4)]:
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(DataError, match=rf"{path.name} has changed: its sha256 is .*Install eyechart again"):
            open_oodbench(f"sample-{kind}", copy)
        path.write_bytes(data)


@pytest.mark.parametrize("name", ["sha256.txt", "manifest.csv", "val2017/000000000007.jpg"])
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / "coco" / name).unlink()
    with pytest.raises(DataError, match=rf"coco/{name} cannot be read.*Install eyechart again"):
        open_oodbench("sample-coco", copy)


def test_a_picture_more_is_refused(copy: Path) -> None:
    for folder in ("gtFine", "leftImg8bit"):
        first = min((copy / "cityscapes" / folder / "val/playroom").iterdir())
        shutil.copyfile(first, first.with_name(first.name.replace("playroom", "lighthouse")))
    with pytest.raises(DataError, match=r"has 61 annotated pictures, expected 60\. Install eyechart again"):
        open_oodbench("sample-cityscapes", copy)


def test_a_format_may_be_left_out(copy: Path) -> None:
    shutil.rmtree(copy / "lvis")
    assert splits(copy) == ("sample-coco", "sample-nuscenes", "sample-cityscapes")
    with pytest.raises(DataError, match="no split 'sample-lvis'; it has sample-coco, sample-nuscenes"):
        open_oodbench("sample-lvis", copy)


def test_an_unknown_split_names_the_known_ones() -> None:
    with pytest.raises(DataError, match="no split 'coco'; it has sample-coco, sample-lvis"):
        open_oodbench("coco")


def test_folders_of_the_same_formats_lie_beside_the_sample(copy: Path) -> None:
    found = {str(ref): ref.layout for ref in list_splits(copy) if ref.benchmark == "oodbench"}
    packaged = {f"oodbench/sample-{kind}": "sample" for kind in FORMATS}
    assert found == packaged | {f"oodbench/{kind}": kind for kind in FORMATS}
