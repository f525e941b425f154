"""Discovery under a root, opening, and the checks of published splits, with small counts instead of the real ones."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image
from webdataset import TarWriter

from eyechart.data.imagenet.classes import subset, synset_classes
from eyechart.data.splits.open_split import PUBLISHED, PublishedSplit, list_splits, open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import DataError

pytestmark = pytest.mark.deep

VAL = [f"ILSVRC2012_val_{number:08d}.JPEG" for number in (1, 2, 3)]
SYNSETS = [*synset_classes()]


@pytest.fixture
def picture(tmp_path: Path) -> bytes:
    Image.new("RGB", (4, 4)).save(tmp_path / "picture.png")
    return (tmp_path / "picture.png").read_bytes()


@pytest.fixture
def fill(tmp_path: Path, picture: bytes) -> Callable[..., Path]:
    def filled(*names: str) -> Path:
        for name in names:
            path = tmp_path / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture)
        return tmp_path / "root"

    return filled


@pytest.fixture
def shards(tmp_path: Path, picture: bytes) -> Callable[..., Path]:
    def written(split: str, labels: Sequence[int], names: Sequence[str] = (), image: bytes = picture) -> Path:
        folder = tmp_path / "root" / split
        folder.mkdir(parents=True)
        (folder / "nshards.txt").write_text("1")
        if names:
            (folder / "classnames.txt").write_text("\n".join(names))
        with TarWriter(str(folder / "0.tar")) as tar:
            for number, label in enumerate(labels):
                tar.write({"__key__": f"s{number:07d}", "png": image, "cls": label})
        return tmp_path / "root"

    return written


def ref(root: Path | str, name: str) -> SplitRef:
    (found,) = [found for found in list_splits(root) if str(found) == name]
    return found


def known(count: int, classes: str = "", name: str = "imagenet/val") -> dict[str, dict[str, PublishedSplit]]:
    return {"known": {name: PublishedSplit(count, classes)}}


def test_samples_are_always_there() -> None:
    here = [str(found) for found in list_splits() if not found.missing]
    assert here[:3] == ["imagenet/sample", "imagenet/sample-near", "imagenet/sample-drawing"]
    assert here[3:7] == [f"oodbench/sample-{kind}" for kind in ("coco", "lvis", "nuscenes", "cityscapes")]
    assert here[7:9] == ["realbirdid/sample", "realbirdid/sample-drawn"]
    assert here[9:] == [f"toybox/sample{kind}" for kind in ("", "-noto-v1", "-fluent-3d", "-cutouts", "-scenes")]


def test_the_validation_images_are_named_with_the_remedy_where_they_are_not_there(tmp_path: Path) -> None:
    for root in (None, tmp_path):
        (found,) = [found for found in list_splits(root) if found.missing]
        assert str(found) == "imagenet/val"
        assert "--eye-data=ROOT" in found.missing


def test_every_layout_under_a_root_is_found(fill, shards) -> None:
    shards("pets/test", [0])
    root = fill(f"imagenet/val/{VAL[0]}", "pets/mine/cat/1.png", "pets/table/data/test.parquet", "pets/empty/notes.txt")
    found = {str(ref): ref.layout for ref in list_splits(root) if ref.layout != "sample"}
    assert found == {
        "imagenet/val": "folder",
        "pets/empty": "none",
        "pets/mine": "folder",
        "pets/table": "hub",
        "pets/test": "shards",
    }


def test_hidden_folders_and_files_are_no_splits(fill) -> None:
    root = fill(".cache/a/1.png", "pets/.git/1.png", "notes.txt", "pets/notes.txt")
    assert list(map(str, list_splits(root))) == list(map(str, list_splits()))


def test_shards_without_their_number_are_found_and_refused(fill) -> None:
    with pytest.raises(DataError, match=r"has no nshards\.txt: write one"):
        open_split(ref(fill("pets/test/0.tar"), "pets/test"))


def test_a_folder_in_no_known_layout_is_there_and_cannot_be_opened(fill) -> None:
    found = ref(fill("pets/test/notes.txt"), "pets/test")
    assert "no split in a known layout" in found.defect
    assert not found.missing
    with pytest.raises(DataError, match="no split in a known layout"):
        open_split(found)


def test_discovery_opens_no_file(fill) -> None:
    root = fill("pets/test/cat/1.png", "pets/shards/0.tar")
    for path in root.rglob("*.*"):
        path.chmod(0)
    assert len(list_splits(root)) == len(list_splits()) + 2


def test_a_root_that_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone is no folder"):
        list_splits(tmp_path / "gone")


def test_a_split_named_as_a_packaged_one(fill) -> None:
    with pytest.raises(DataError, match="another name"):
        list_splits(fill("imagenet/sample/cat/1.png"))


@pytest.mark.parametrize(
    ("text", "name", "location"),
    [
        ("hub:ILSVRC/imagenet-1k", "imagenet/val", "hub:ILSVRC/imagenet-1k:validation"),
        ("hub:ILSVRC/imagenet-1k:train", "imagenet-1k/train", "hub:ILSVRC/imagenet-1k:train"),
        ("hub:a/pets:test", "pets/test", "hub:a/pets:test"),
    ],
)
def test_the_hub_as_root(text: str, name: str, location: str) -> None:
    (found,) = [found for found in list_splits(text) if found.layout == "hub"]
    assert (str(found), found.location, found.layout) == (name, location, "hub")


def test_offline_reaches_the_hub_source() -> None:
    with pytest.raises(DataError, match="offline mode"):
        open_split(ref("hub:nobody/nothing", "nothing/default"), offline=True)


def test_nothing_heavy_is_imported() -> None:
    heavy = "{'torch', 'timm', 'datasets', 'webdataset', 'open_clip', 'transformers'}"
    code = f"import sys, eyechart.data.splits.open_split as s; s.list_splits(); print({heavy} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


def test_a_sample_opens() -> None:
    assert len(open_split(list_splits()[0])) == 177


def test_the_published_counts() -> None:
    counts = {name: fact.count for name, fact in PUBLISHED.items()}
    assert counts == {
        "imagenet/val": 50_000,
        "imagenet/v2": 10_000,
        "imagenet/a": 7_500,
        "imagenet/r": 30_000,
        "imagenet/sketch": 50_889,
    }


def test_validation_files_have_imgt_and_real(fill) -> None:
    found = open_split(ref(fill(*(f"imagenet/val/{name}" for name in VAL)), "imagenet/val"), **known(3))
    assert [*found.label_sets] == ["ImGT", "ReaL"]
    assert found.label_sets["ReaL"].labels.tolist() == [[-1, -1], [970, 795], [230, 231]]
    assert (found.expected, found.classes, found.upright, found.names) == (3, 1000, False, ())


@pytest.mark.parametrize("count", [2, 4])
def test_the_wrong_number_of_images(fill, count: int) -> None:
    split = ref(fill(*(f"imagenet/val/{name}" for name in VAL)), "imagenet/val")
    with pytest.raises(DataError, match=f"holds 3 images, expected the {count} of imagenet/val"):
        open_split(split, **known(count))


def test_the_wrong_number_of_images_in_shards(shards) -> None:
    split = ref(shards("imagenet/v2", [0, 1]), "imagenet/v2")
    with pytest.raises(DataError, match="holds 2 images, expected the 10,000 of imagenet/v2"):
        open_split(split)


def test_own_splits_have_no_expectations(fill) -> None:
    found = open_split(ref(fill("pets/test/cat/1.png"), "pets/test"))
    assert (found.expected, found.upright, found.classes, found.names) == (None, True, 1, ("cat",))


def test_own_shards_of_imagenet_need_no_names(shards) -> None:
    assert open_split(ref(shards("imagenet/mine", [999]), "imagenet/mine")).classes == 1000


def test_own_shards_of_another_benchmark_need_names(shards) -> None:
    with pytest.raises(DataError, match=r"no classnames\.txt"):
        open_split(ref(shards("pets/test", [0]), "pets/test"))


def test_synset_folders_within_the_subset(fill) -> None:
    inside = subset("a")[:3]
    root = fill(*(f"imagenet/a/{SYNSETS[label]}/1.jpg" for label in inside))
    found = open_split(ref(root, "imagenet/a"), **known(3, "a", "imagenet/a"))
    assert tuple(row.label for row in found.index) == inside
    assert (found.subset, found.classes) == (subset("a"), 1000)


def test_synset_folders_outside_the_subset(fill) -> None:
    split = ref(fill(f"imagenet/a/{SYNSETS[0]}/1.jpg"), "imagenet/a")
    with pytest.raises(DataError, match=rf"{SYNSETS[0]}/1\.jpg of class 0; expected the 200 classes"):
        open_split(split, **known(1, "a", "imagenet/a"))


def test_shards_with_two_hundred_names_label_places_in_the_subset(shards) -> None:
    root = shards("imagenet/r", [0, 199], [f"name {number}" for number in range(200)])
    found = open_split(ref(root, "imagenet/r"), **known(2, "r", "imagenet/r"))
    assert [row.label for row in found.index] == [subset("r")[0], subset("r")[199]]
    assert found.names == ()


def test_shards_without_names_must_have_labels_of_imagenet(shards) -> None:
    split = ref(shards("imagenet/r", [0, 199]), "imagenet/r")
    with pytest.raises(DataError, match="1 images are of classes that imagenet/r does not have"):
        open_split(split, **known(2, "r", "imagenet/r"))


def test_shards_in_an_unknown_order_keep_their_keys(shards) -> None:
    found = open_split(ref(shards("imagenet/val", [5, 5, 5]), "imagenet/val"), **known(3))
    assert [row.file for row in found.index] == [*found.keys]
    assert [*found.label_sets] == ["ImGT"]


def test_a_fingerprint_tells_other_bytes_apart(shards, picture: bytes) -> None:
    root = shards("pets/a", [0], ["cat"])
    shards("pets/b", [0], ["cat"], picture + b"\0")
    a, b = (open_split(ref(root, name)) for name in ("pets/a", "pets/b"))
    assert a.index[0].sha256 == sha256(picture).hexdigest()
    assert a.fingerprint != b.fingerprint


@pytest.mark.parametrize("name", ["equivalences.csv", "zeroshot_classification_templates.txt"])
def test_files_that_are_read_beside_shards_alone(fill, name: str) -> None:
    root = fill("pets/test/a/1.png", "pets/test/b/2.png")
    (root / "pets" / name).write_text("a,b\n0,1\n")
    assert f"{name} is read beside shards alone: give --eye-" in " ".join(open_split(ref(root, "pets/test")).notes)
