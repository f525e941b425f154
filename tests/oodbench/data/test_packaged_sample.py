"""The packaged sample of OODBench: it opens, says what was drawn, can be made again, and refuses what has changed."""

import csv
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.cli import main
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.images import decode_image
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import DataError
from eyechart.oodbench.data.annotated_splits import FORMATS
from eyechart.oodbench.data.annotation import Annotation
from eyechart.oodbench.data.registered import open_oodbench, packaged_root, splits
from eyechart.toybox.art.scenes import RenderedScene
from eyechart.toybox.art.styles import STYLES
from eyechart.toybox.art.toy_classes import classes
from eyechart.toybox.formats import lvis_files
from eyechart.toybox.samples.oodbench_sample import CHOSEN, PICTURES, WRITERS, write
from eyechart.toybox.world import SEED

pytestmark = pytest.mark.deep

SIZES = {"sample-coco": 50, "sample-lvis": 50, "sample-nuscenes": 60, "sample-cityscapes": 60}
PAIRS = {"sample-coco": 108, "sample-lvis": 84, "sample-nuscenes": 106, "sample-cityscapes": 163}


@pytest.fixture(scope="module")
def scenes() -> dict[str, Sequence[RenderedScene]]:
    """What was drawn for each format, once `remade` has written it."""
    return {}


@pytest.fixture(scope="module")
def remade(tmp_path_factory: pytest.TempPathFactory, scenes: dict[str, Sequence[RenderedScene]]) -> Path:
    folder = tmp_path_factory.mktemp("remade")

    def keep(kind: str, writer: Callable[..., Sequence[RenderedScene]]) -> Callable[..., Sequence[RenderedScene]]:
        return lambda *arguments: scenes.setdefault(kind, writer(*arguments))

    with pytest.MonkeyPatch.context() as patch:
        for kind, writer in [*WRITERS.items()]:
            patch.setitem(WRITERS, kind, keep(kind, writer))
        write(folder, SEED)
    return folder


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


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


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


def called(kind: str, label: int) -> str:
    """What a format calls a class."""
    one = classes()[label]
    return {"nuscenes": one.concept.nuscenes, "cityscapes": one.concept.cityscapes}.get(kind, one.name)


def drawn(kind: str, index: int, picture: RenderedScene) -> Counter[str]:
    """What is annotated: a crowd as one, LVIS's hidden thing not; in a street the road, and trains are no class."""
    crowd, hidden = picture.scene.crowd, lvis_files.unannotated_thing(picture, index + 1) if kind == "lvis" else None
    shown = [number for number in range(len(picture.scene.things)) if number == 0 or number >= crowd]
    names = [called(kind, picture.scene.things[number].label) for number in shown if number != hidden]
    return Counter([*names, "road"] if kind == "cityscapes" else names) - Counter(train=99 * (kind == "cityscapes"))


def read(kind: str, found: Dataset) -> dict[str, Counter[str]]:
    """What the opened split counts in every picture, by its key."""
    names = found.names if kind in ("coco", "lvis") else annotation(found).category_ids
    counts = [+Counter(dict(zip(names, row, strict=True))) for row in annotation(found).counts.tolist()]
    return dict(zip(found.keys, counts, strict=True))


@pytest.mark.usefixtures("remade")
def test_the_counts_are_the_things_that_were_drawn(
    kind: str, sample: Dataset, scenes: dict[str, Sequence[RenderedScene]]
) -> None:
    pictures = scenes[kind]
    files = [PICTURES[kind](index, one.scene) for index, one in enumerate(pictures)]
    wanted = [drawn(kind, index, one) for index, one in enumerate(pictures)]
    assert read(kind, sample) == dict(zip((file[:-4] for file in files), wanted, strict=True))


def test_some_cannot_be_counted(kind: str, sample: Dataset) -> None:
    found = annotation(sample)
    assert bool((found.present & ~found.countable).any()) == (kind != "nuscenes")
    assert bool((~found.known).any()) == (kind == "lvis")


def test_no_picture_is_under_the_gpl_and_every_other_style_is_there(kind: str) -> None:
    found = {(row["title"], row["author"], row["licence"]) for row in rows(packaged_root() / kind / "manifest.csv")}
    assert found == {(style.title, style.author, style.licence) for style in map(STYLES.get, CHOSEN) if style}
    assert not any("GPL" in licence for _, _, licence in found)


def test_the_licence_of_every_style_is_beside_the_pictures() -> None:
    there = {path.stem for path in (packaged_root() / "licences").iterdir()}
    assert there == {f"LICENSE-{style}" for style in CHOSEN}


def test_the_sample_is_small() -> None:
    assert sum(path.stat().st_size for path in packaged_root().rglob("*") if path.is_file()) < 2_500_000


def test_pictures_can_be_decoded_and_are_the_packaged_bytes(kind: str, sample: Dataset) -> None:
    for index, data in sample.read(range(5)):
        assert data == (packaged_root() / kind / sample.source.entries[index].path).read_bytes()
        assert min(decode_image(data, str(index)).size) >= 90


def files(root: Path) -> dict[Path, bytes]:
    """Every file below a folder by its path, pictures and their checksums without their bytes."""
    names = [path.relative_to(root) for path in root.rglob("*") if path.is_file() and path.name != "README.md"]
    return {name: (root / name).read_bytes() if name.suffix == ".json" else b"" for name in names}


def test_everything_but_the_encoding_of_pictures_is_made_again_byte_for_byte(remade: Path) -> None:
    assert files(remade) == files(packaged_root())


def test_the_manifest_is_made_again_but_for_checksums(kind: str, remade: Path) -> None:
    both = [rows(root / kind / "manifest.csv") for root in (packaged_root(), remade)]
    plain = [[{**row, "sha256": ""} for row in found] for found in both]
    assert plain[0] == plain[1]


def test_the_pictures_are_those_that_the_seed_draws(kind: str, remade: Path) -> None:
    for row in rows(remade / kind / "manifest.csv")[::7]:
        with Image.open(packaged_root() / kind / row["file"]) as kept, Image.open(remade / kind / row["file"]) as image:
            assert np.abs(np.asarray(kept).astype(int) - np.asarray(image)).mean() < 1  # another encoder, other bytes


def test_what_is_made_again_opens(kind: str, remade: Path) -> None:
    found = open_oodbench(f"sample-{kind}", remade)
    assert annotation(found).sha256 == annotation(opened(kind)).sha256


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


def test_the_packaged_part_is_made_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["toybox", tmp_path, "--part", "packaged", "--part", "scenes"]) == 2
    assert "draw it alone" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_folders_of_the_same_formats_lie_beside_the_sample(copy: Path) -> None:
    found = {str(ref): ref.layout for ref in list_splits(copy) if ref.benchmark == "oodbench"}
    packaged = {f"oodbench/sample-{kind}": "sample" for kind in FORMATS}
    assert found == packaged | {f"oodbench/{kind}": kind for kind in FORMATS}
