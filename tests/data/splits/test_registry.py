"""Registered data sets: eyechart's own and those of other packages are found in the same way, and any may be absent."""

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.discovery import find_split
from eyechart.data.readers.folder import open_folder
from eyechart.data.splits import registry
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import DataError, SpecError

COCO = ("coco/annotations/instances_val2017.json", "coco/val2017/1.png")
BIRDS = ("finches/birds.csv", "finches/images/1.png")
Change = Callable[[Callable[[Sequence[EntryPoint]], Sequence[EntryPoint]]], None]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root with class folders, annotated pictures and a table of birds."""
    for name in (*COCO, *BIRDS, "pets/test/cat/1.png"):
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(path, "png")
    return tmp_path / "root"


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Iterator[Change]:
    """Changes the entry points of data sets that are installed."""
    find = registry.find_entry_points

    def changed(how: Callable[[Sequence[EntryPoint]], Sequence[EntryPoint]]) -> None:
        monkeypatch.setattr(registry, "find_entry_points", lambda group: how(find(group)))
        forget()

    def forget() -> None:
        registry._points.cache_clear()
        registry.registered_datasets.cache_clear()
        registry.packaged_benchmarks.cache_clear()

    yield changed
    monkeypatch.undo()
    forget()


def readable(root: Path) -> dict[str, str]:
    return {str(ref): ref.layout for ref in list_splits(root) if ref.layout != "none"}


@pytest.mark.parametrize(
    ("study", "folder"),
    [("oodbench", "coco"), ("realbirdid", "finches")],
)
def test_without_the_entry_point_of_a_study_all_others_are_found(
    root: Path, change: Change, study: str, folder: str
) -> None:
    before = readable(root)
    assert {"oodbench/coco": "coco", "realbirdid/finches": "birds", "pets/test": "folder"}.items() <= before.items()
    change(lambda points: [point for point in points if point.name != study])
    expected = {name: layout for name, layout in before.items() if not name.startswith(f"{study}/")}
    found = {name: layout for name, layout in readable(root).items() if not name.startswith(f"{folder}/")}
    assert found == expected
    assert study not in registry.packaged_benchmarks()
    assert len(open_split(find_split(root / "pets/test"))) == 1


class Stamps:
    """A format of another package: the file stamps.txt beside folders of pictures."""

    splits = ()
    expected = "stamps.txt"

    def dataset(self, split: str) -> Dataset:
        raise AssertionError(split)

    def recognises(self, folder: Path, root: Path) -> list[SplitRef]:
        return [SplitRef("stamps", folder.name, "album", str(folder))] if (folder / "stamps.txt").is_file() else []

    def open_folder(self, ref: SplitRef, cache: Path | None) -> Dataset:
        return open_folder(Path(ref.location), ref.benchmark, ref.split, cache=cache)


STAMPS = Stamps()


@pytest.mark.parametrize("place", ["mine", "stamps/mine"])
def test_another_package_reads_folders_of_its_format(root: Path, change: Change, place: str) -> None:
    change(lambda points: [*points, EntryPoint("stamps", f"{__name__}:STAMPS", registry.GROUP)])
    (root / "pets/test").rename(root / "moved")
    (root / place).parent.mkdir(exist_ok=True)
    (root / "moved").rename(root / place)
    (root / place / "stamps.txt").touch()
    (ref,) = (ref for ref in list_splits(root) if ref.benchmark == "stamps")
    assert (str(ref), ref.layout, ref.reader) == ("stamps/mine", "album", "stamps")
    assert open_split(ref).names == ("cat",)
    (root / "pets/none").mkdir()
    with pytest.raises(DataError, match=r"birds\.csv or birds\.parquet, or stamps\.txt"):
        open_split(find_split(root / "pets/none"))


def test_a_data_set_that_cannot_be_imported_is_named(change: Change) -> None:
    change(lambda points: [*points, EntryPoint("stamps", "no_such_module:STAMPS", registry.GROUP)])
    with pytest.raises(
        SpecError, match=r"'stamps' of eyechart\.datasets names no_such_module:STAMPS, which cannot be imported"
    ):
        list_splits()


def test_a_folder_with_several_splits_is_refused_as_one(tmp_path: Path) -> None:
    for name in (*COCO, "coco/gtFine/1.png", "coco/leftImg8bit/1.png"):
        path = tmp_path / "oodbench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    with pytest.raises(DataError, match=r"coco holds several splits \(coco, coco-cityscapes\): move"):
        find_split(tmp_path / "oodbench" / "coco")


def test_a_data_set_of_another_package_names_its_default_models(
    change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "swatch_data.py").write_text(
        "class Swatches:\n    splits, default_models = (), ('timm[tf_efficientnet_lite0]',)\n\nSWATCHES = Swatches()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    change(lambda points: (*points, EntryPoint("swatches", "swatch_data:SWATCHES", registry.GROUP)))
    assert registry.default_models()["swatches"] == ("timm[tf_efficientnet_lite0]",)
    change(lambda points: [point for point in points if point.name != "toybox"])
    assert {*registry.default_models()} == {"imagenet", "oodbench", "realbirdid"}
