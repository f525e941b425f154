"""Local folders through the real `datasets` library, and no network."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import datasets
import pytest
from PIL import Image

from eyechart.data.dataset import Dataset
from eyechart.data.discovery import survey_root
from eyechart.data.hub import HubSpec, open_hub, parse_hub
from eyechart.data.splits import open_split
from eyechart.errors import DataError

Opened = Callable[..., Dataset]


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for shade, place in enumerate(("train/cat/1", "train/dog/2", "validation/cat/3", "validation/dog/4")):
        path = tmp_path / "pets" / f"{place}.png"
        path.parent.mkdir(parents=True)
        Image.new("RGB", (4, 4), (shade, 0, 0)).save(path)
    return tmp_path / "pets"


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    def get(text: str, **options: object) -> Dataset:
        return open_hub(text, "pets", "test", cache=tmp_path / "cache", **options)

    return get


@pytest.fixture
def parquet(tmp_path: Path) -> Callable[..., str]:
    def written(columns: dict[str, list[object]], name: str = "test", **types: object) -> str:
        (tmp_path / "table").mkdir(exist_ok=True)
        table = datasets.Dataset.from_dict(columns)
        for column, kind in types.items():
            table = table.cast_column(column, kind)
        table.to_parquet(str(tmp_path / "table" / f"{name}.parquet"))
        return f"hub:{tmp_path / 'table'}"

    return written


def png(pictures: Path) -> dict[str, object]:
    return {"bytes": (pictures / "train/cat/1.png").read_bytes(), "path": "ILSVRC2012_val_00000001_n01751748.JPEG"}


@pytest.mark.parametrize(("text", "spec"), [("hub:a/b", HubSpec("a/b")), ("hub:/x/y:test", HubSpec("/x/y", "test"))])
def test_specs(text: str, spec: HubSpec) -> None:
    assert parse_hub(text) == spec


@pytest.mark.parametrize("text", ["hub:", "hub:a/b:", "a/b", "hub:a/b:c:d"])
def test_specs_that_cannot_be_read(text: str) -> None:
    with pytest.raises(DataError, match="OWNER/NAME"):
        parse_hub(text)


def test_image_folder(pictures: Path, opened: Opened) -> None:
    found = opened(f"hub:{pictures}:train")
    assert [(row.key, row.file, row.label) for row in found.index] == [("0000000", "1.png", 0), ("0000001", "2.png", 1)]
    assert (found.classes, found.names) == (2, ("cat", "dog"))


def test_bytes_come_undecoded(pictures: Path, opened: Opened) -> None:
    read = dict(opened(f"hub:{pictures}:train").read(range(2)))
    assert read == {0: (pictures / "train/cat/1.png").read_bytes(), 1: (pictures / "train/dog/2.png").read_bytes()}


def test_a_part_is_read_by_another_process_as_by_this_one(pictures: Path, opened: Opened) -> None:
    """Its rows are numbered anew, and labels are not sent."""
    whole = opened(f"hub:{pictures}:train")
    for part in (whole.part([1]), pickle.loads(pickle.dumps(whole.part([1])))):
        assert dict(part.read([0])) == {0: (pictures / "train/dog/2.png").read_bytes()}
        assert (part.keys, part.index[0].sha256) == (("0000001",), whole.index[1].sha256)
        assert not part.label_sets


def test_validation_is_the_default_split(pictures: Path, opened: Opened) -> None:
    assert [row.file for row in opened(f"hub:{pictures}").index] == ["3.png", "4.png"]


def test_parquet(pictures: Path, opened: Opened, parquet) -> None:
    kinds = {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}
    found = opened(parquet({"image": [png(pictures)] * 2, "label": [1, 0]}, **kinds))
    assert [row.label for row in found.index] == [1, 0]
    assert found.index[0].file == "ILSVRC2012_val_00000001.JPEG"
    assert dict(found.read(range(1, 2))) == {1: png(pictures)["bytes"]}


def test_webdataset_columns(pictures: Path, opened: Opened, parquet) -> None:
    table = {"webp": [png(pictures)], "cls": [7], "__key__": ["s0000007"]}
    found = opened(parquet(table, webp=datasets.Image()), classes=1000, upright=False)
    assert (found.keys, found.index[0].label, found.classes, found.upright) == (("s0000007",), 7, 1000, False)


def test_several_labels(pictures: Path, opened: Opened, parquet) -> None:
    found = opened(parquet({"image": [png(pictures)] * 2, "labels": [[2, 0], []]}, image=datasets.Image()), classes=3)
    assert found.label_sets["multilabel"].labels.tolist() == [[2, 0], [-1, -1]]


def test_the_index_is_kept(pictures: Path, opened: Opened, tmp_path: Path) -> None:
    first = opened(f"hub:{pictures}:train")
    assert [*(tmp_path / "cache").glob("*.json")]
    assert opened(f"hub:{pictures}:train").index == first.index


def test_missing_split(pictures: Path, opened: Opened) -> None:
    with pytest.raises(DataError, match="has the splits train, validation, not test"):
        opened(f"hub:{pictures}:test")


@pytest.mark.parametrize(("column", "missing"), [("image", "labels"), ("label", "images")])
def test_missing_columns(pictures: Path, opened: Opened, parquet, column: str, missing: str) -> None:
    table = {"image": [png(pictures)]} if column == "image" else {"label": [1]}
    types = {"image": datasets.Image()} if column == "image" else {}
    with pytest.raises(DataError, match=f"none of them of {missing}"):
        opened(parquet(table, **types), classes=3)


def test_unnamed_classes(pictures: Path, opened: Opened, parquet) -> None:
    with pytest.raises(DataError, match="ClassLabel"):
        opened(parquet({"image": [png(pictures)], "label": [0]}, image=datasets.Image()))


@pytest.mark.parametrize("label", [None, -1, 3])
def test_missing_label_or_one_out_of_range(pictures: Path, opened: Opened, parquet, label: int | None) -> None:
    text = parquet({"image": [png(pictures)] * 2, "label": [0, label]}, image=datasets.Image())
    with pytest.raises(DataError, match="expected 0 to 2"):
        opened(text, classes=3)


def test_a_folder_that_datasets_cannot_read(tmp_path: Path, opened: Opened) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "test.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match="cannot be opened by `datasets`"):
        opened(f"hub:{tmp_path / 'table'}")


def test_offline_mode_opens_no_connection(opened: Opened) -> None:
    with pytest.raises(DataError, match="offline mode opens no connection"):
        opened("hub:nobody/nothing", offline=True)


def test_offline_mode_reads_local_folders(pictures: Path, opened: Opened) -> None:
    assert len(opened(f"hub:{pictures}", offline=True)) == 2


@pytest.mark.deep
def test_no_network() -> None:
    code = "from eyechart.data.hub import open_hub; open_hub('hub:nobody/nothing', 'a', 'b')"
    ran = subprocess.run([sys.executable, "-c", code], env={"HF_HUB_OFFLINE": "1"}, capture_output=True, text=True)
    assert "DataError: hub:nobody/nothing cannot be opened" in ran.stderr
    assert "give its folder" in ran.stderr


def test_without_the_library(pictures: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"pip install 'eyechart\[hub\]'"):
        opened(f"hub:{pictures}")


@pytest.fixture
def table(pictures: Path) -> datasets.Dataset:
    found = datasets.Dataset.from_dict({"image": [png(pictures)] * 3, "label": [1, 0, 1]})
    return found.cast_column("image", datasets.Image()).cast_column("label", datasets.ClassLabel(names=["cat", "dog"]))


def test_a_table_of_save_to_disk_is_a_split_under_a_root(table: datasets.Dataset, tmp_path: Path) -> None:
    table.save_to_disk(str(tmp_path / "root" / "pets" / "test"))
    (ref,) = survey_root(tmp_path / "root").splits
    found = open_split(ref, cache=tmp_path / "cache", offline=True)
    assert (str(ref), ref.layout, found.names) == ("pets/test", "disk", ("cat", "dog"))
    assert [row.label for row in found.index] == [1, 0, 1]
    assert len(dict(found.read(range(3)))) == 3


def test_tables_of_save_to_disk_are_the_splits_of_a_benchmark(table: datasets.Dataset, tmp_path: Path) -> None:
    datasets.DatasetDict(train=table, test=table.select([0])).save_to_disk(str(tmp_path / "root" / "pets"))
    found = survey_root(tmp_path / "root")
    assert {str(ref): len(open_split(ref)) for ref in found.splits} == {"pets/test": 1, "pets/train": 3}
    assert not found.ignored


@pytest.mark.parametrize(("names", "count"), [(("train", "test"), 1), (("train",), 3)])
def test_several_tables_in_a_splits_folder_are_chosen_from(
    table: datasets.Dataset, tmp_path: Path, names: tuple[str, ...], count: int
) -> None:
    tables = {"train": table, "test": table.select([0])}
    chosen = datasets.DatasetDict({name: tables[name] for name in names})
    chosen.save_to_disk(str(tmp_path / "root" / "pets" / "all"))
    (ref,) = (ref for ref in survey_root(tmp_path / "root").splits if str(ref) == "pets/all")
    assert len(open_split(ref)) == count


def test_a_damaged_table_of_save_to_disk(table: datasets.Dataset, tmp_path: Path) -> None:
    table.save_to_disk(str(tmp_path / "root" / "pets" / "test"))
    (tmp_path / "root" / "pets" / "test" / "state.json").write_text("{")
    (ref,) = survey_root(tmp_path / "root").splits
    with pytest.raises(DataError, match="was written by save_to_disk and cannot be opened"):
        open_split(ref)
