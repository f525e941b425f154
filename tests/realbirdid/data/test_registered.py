"""The packaged birds: they open, tell what the tables say, can be made again, and refuse what has changed."""

import csv
import shutil
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from packaged_samples.pictures import package
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.images import decode_image
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import DataError
from eyechart.realbirdid.data.observations import REASONS, Observations
from eyechart.realbirdid.data.registered import SPLITS, open_realbirdid, packaged_root, splits
from eyechart.toybox.art.bird_looks import species

FACTS = {"sample": (40, 33, 5, 69), "sample-drawn": (135, 76, 109, 26)}
FOLDERS = ("gcompris", "tuxpaint")
MOST = 2_000_000
whole = pytest.mark.skipif(
    not (packaged_root() / "sample/tuxpaint").is_dir(), reason="the folder under the GPL was left out of this build"
)


@pytest.fixture(params=SPLITS)
def split(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sample(split: str) -> Dataset:
    return open_realbirdid(split)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(packaged_root(), tmp_path / "realbirdid"))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def seen(found: Dataset) -> Observations:
    assert found.details is not None
    return found.details


def manifests() -> list[dict[str, str]]:
    folders = [folder for folder in FOLDERS if (packaged_root() / "sample" / folder).is_dir()]
    return [
        line | {"file": f"{folder}/{line['file']}"}
        for folder in folders
        for line in rows(packaged_root() / "sample" / folder / "manifest.csv")
    ]


def test_both_splits_are_there_without_any_data_given() -> None:
    assert [ref.split for ref in list_splits() if ref.benchmark == "realbirdid"] == [*splits()] == [*SPLITS]


@whole
def test_a_split_opens_by_its_name_with_what_was_packaged(split: str) -> None:
    (ref,) = [ref for ref in list_splits() if str(ref) == f"realbirdid/{split}"]
    found = open_split(ref)
    told = seen(found)
    assert (len(found), int(told.answerable.sum()), int(told.eligible.sum()), found.classes) == FACTS[split]
    assert found.expected == len(found)


def test_every_bird_is_on_its_own_list(sample: Dataset) -> None:
    assert not seen(sample).unlisted.any()
    assert not seen(sample).unlisted_genus.any()


def test_pictures_can_be_decoded(sample: Dataset) -> None:
    for index, data in sample.read(range(len(sample))):
        assert min(decode_image(data, sample.keys[index]).size) >= 60


def test_the_readme_says_how_many_there_are() -> None:
    text = (packaged_root() / "README.md").read_text(encoding="utf-8")
    table = [line.split("|") for line in text.splitlines() if line.startswith("| sample")]
    found = {
        line[1].split(",")[0].strip(): tuple(int(line[index].split()[0]) for index in (2, 3, 6, 4)) for line in table
    }
    assert found == FACTS


def test_the_birds_are_small() -> None:
    assert sum(path.stat().st_size for path in packaged_root().rglob("*") if path.is_file()) < MOST


@whole
def test_photographs_have_four_levels_and_every_reason() -> None:
    told = seen(open_realbirdid("sample"))
    assert told.taxonomy.levels == ("species", "genus", "family", "order")
    assert {REASONS[reason] for reason in told.reason if reason >= 0} == {*REASONS}


@whole
def test_an_unanswerable_photograph_is_of_a_genus_of_several_species() -> None:
    told = seen(open_realbirdid("sample"))
    sizes = Counter(told.taxonomy.ancestors[1].tolist())
    assert all(sizes[genus] > 1 for genus in told.genus[~told.answerable].tolist())


@whole
def test_what_the_collection_was_not_certain_of_is_unanswerable() -> None:
    told = {line["image"]: line for line in rows(packaged_root() / "sample/birds.csv")}
    assert {*told} == {line["file"] for line in manifests()}
    for line in manifests():
        certain = line["certain"] == "yes"
        bird = told[line["file"]]
        assert (bird["answerable"], bird["species"]) == (str(int(certain)), line["species"] if certain else "")
        assert bird["genus"] == line["genus"]


def test_no_bird_of_an_uncertain_genus_is_packaged() -> None:
    assert not any(line["genus"] == "Struthio" for line in manifests())


def test_a_location_has_the_words_of_its_source() -> None:
    titles = {line["file"]: line["title"] for line in manifests()}
    placed = [line for line in rows(packaged_root() / "sample/birds.csv") if line["latitude"]]
    assert all(line["place"] for line in placed)
    names = ("Wagbachniederung", "Barrientos", "Дунаю", "Costa Rica")
    assert all(any(name in titles[line["image"]] for name in names) for line in placed)


def test_the_list_of_the_photographs_holds_that_of_the_toy_world() -> None:
    names = open_realbirdid("sample").names
    assert {one.name for one in species()} < {*names}
    assert len({*names}) == len(names)


def test_manifests_name_the_packaged_bytes_and_those_before() -> None:
    for line in manifests():
        data = (packaged_root() / "sample" / line["file"]).read_bytes()
        assert sha256(data).hexdigest() == line["sha256"]
        assert (line["source_sha256"] == line["sha256"]) == line["file"].startswith("gcompris/")


def test_cutouts_stand_on_white() -> None:
    for line in [line for line in manifests() if line["file"].startswith("tuxpaint/")]:
        image = Image.open(packaged_root() / "sample" / line["file"]).convert("RGB")
        corner = np.asarray(image)[:2, :2]
        assert image.width == image.height
        assert (corner == 255).all()


def test_a_folder_of_photographs_may_be_deleted(copy: Path) -> None:
    shutil.rmtree(copy / "sample/tuxpaint", ignore_errors=True)
    found = open_realbirdid("sample", copy)
    assert (len(found), found.expected) == (11, 11)
    assert all(key.startswith("gcompris/") for key in found.keys)


def test_all_folders_deleted(copy: Path) -> None:
    for folder in FOLDERS:
        shutil.rmtree(copy / "sample" / folder, ignore_errors=True)
    with pytest.raises(DataError, match="none of the folders of its pictures"):
        open_realbirdid("sample", copy)


def test_a_split_may_be_deleted(copy: Path) -> None:
    shutil.rmtree(copy / "sample")
    assert splits(copy) == ("sample-drawn",)
    with pytest.raises(DataError, match="has no split 'sample'; it has sample-drawn"):
        open_realbirdid("sample", copy)


@pytest.mark.parametrize(
    "name", ["sample/taxonomy.csv", "sample/gcompris/erase-heron.webp", "sample-drawn/images/00001a.jpg"]
)
def test_changed_and_missing_files_are_refused(copy: Path, name: str) -> None:
    path = copy / name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DataError, match=f"{path.name} has changed"):
        open_realbirdid(name.partition("/")[0], copy)
    path.unlink()
    with pytest.raises(DataError, match=f"{path.name} cannot be read"):
        open_realbirdid(name.partition("/")[0], copy)


@pytest.fixture
def collected(tmp_path: Path) -> Path:
    """A folder of two pictures as they were collected, and a target with a table of one."""
    image, source = Image.new("RGBA", (20, 10), (0, 0, 0, 128)), tmp_path / "source"
    (source / "one").mkdir(parents=True)
    for name in ("kept", "left"):
        image.save(source / f"one/{name}.webp", lossless=True)
    (source / "one/LICENSE-NOTES.txt").write_text("See ../manifest.csv.\n", encoding="utf-8")
    lines = [f"one/{name}.webp,a,A b,A,yes,t,w,GPL-2.0-or-later,,p,q,x" for name in ("kept", "left")]
    head = "file,common_name,species,genus,certain,title,author,licence,source_url,source_package,source_path,sha256"
    (source / "manifest.csv").write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    (tmp_path / "target").mkdir()
    (tmp_path / "target/birds.csv").write_text("image\none/kept.webp\n", encoding="utf-8")
    return source


@whole
def test_only_pictures_of_the_table_are_packaged_with_whose_they_are(collected: Path, tmp_path: Path) -> None:
    package(collected, tmp_path / "target")
    folder = tmp_path / "target/one"
    (line,) = rows(folder / "manifest.csv")
    assert (line["file"], line["author"]) == ("kept.webp", "w")
    assert {path.name for path in folder.iterdir()} == {
        *("kept.webp", "manifest.csv", "LICENSE-NOTES.txt", "LICENSE-GPL-2.0.txt")
    }
    assert "the 1 that manifest.csv lists" in (folder / "LICENSE-NOTES.txt").read_text(encoding="utf-8")


@whole
def test_packaging_again_gives_the_same_bytes(collected: Path, tmp_path: Path) -> None:
    package(collected, tmp_path / "target")
    first = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    package(collected, tmp_path / "target")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == first
