"""Local folders through the real `datasets` library, and no network."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.discovery import find_split, survey_root
from eyechart.data.readers.hub import HubSpec, open_hub, open_table, parse_hub
from eyechart.data.splits.open_split import open_split
from eyechart.errors import DataError

Opened = Callable[..., Dataset]


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for shade, index in enumerate(("train/cat/1", "train/dog/2", "validation/cat/3", "validation/dog/4")):
        path = tmp_path / "pets" / f"{index}.png"
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
    table = {"webp": [png(pictures)], "cls": [65], "__key__": ["s0000007"]}
    found = opened(parquet(table, webp=datasets.Image()), classes=1000, upright=False)
    assert (found.keys, found.index[0].label, found.classes, found.upright) == (("s0000007",), 65, 1000, False)


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
    message = "Row 1 of hub:.* has no label" if label is None else "expected 0 to 2"
    with pytest.raises(DataError, match=message):
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
    code = "from eyechart.data.readers.hub import open_hub; open_hub('hub:nobody/nothing', 'a', 'b')"
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


Split = Callable[..., Path]
NAMED = datasets.ClassLabel(names=["cat", "dog_face"])


@pytest.fixture
def split(pictures: Path, tmp_path: Path) -> Split:
    """Write tables below the folder of a split; each has a picture a label."""

    def write(tables: dict[str, list[int]], folder: str = "pets/test", **columns: object) -> Path:
        location = tmp_path / "root" / folder
        for name, labels in tables.items():
            (location / name).parent.mkdir(parents=True, exist_ok=True)
            kinds = {"image": datasets.Image(), "label": NAMED, **columns}
            content = {"image": [png(pictures)] * len(labels), "label": labels}
            content |= {column: [png(pictures)] * len(labels) for column in columns if column not in content}
            datasets.Dataset.from_dict(content, datasets.Features(kinds)).to_parquet(str(location / name))
        return location

    return write


CLONE = {"data/train-0000.parquet": [0] * 3, "data/validation-0000.parquet": [0] * 2, "data/test-0000.parquet": [1]}


@pytest.mark.parametrize(("name", "count"), [("test", 1), ("val", 2), ("train", 3), ("all", 2)])
def test_a_clone_has_the_split_that_its_folder_is_called(split: Split, name: str, count: int) -> None:
    found = open_split(find_split(split(CLONE, f"pets/{name}")))
    assert len(found) == count
    told = [note for note in found.notes if note.startswith("the split validation is read; train, test")]
    assert len(told) == (name == "all")


def test_a_clone_without_the_split_that_its_folder_is_called(split: Split) -> None:
    folder = split({name: labels for name, labels in CLONE.items() if "test" not in name})
    with pytest.raises(DataError, match=r"has the splits train, validation, not test or testing: .* move the tables"):
        open_split(find_split(folder))


def test_a_table_of_another_split_than_its_folder_is_told(split: Split) -> None:
    (note, *_) = open_split(find_split(split({"validation.parquet": [0, 1]}))).notes
    assert note == "the folder test has tables of the split validation alone, which are read."


def test_a_table_that_is_lacking_among_several(split: Split) -> None:
    folder = split({"data/test-00000-of-00003.parquet": [0], "data/test-00002-of-00003.parquet": [1]})
    with pytest.raises(DataError, match=r"does not have 1 of the 3 tables .*, the first test-00001-of-00003\.parquet"):
        open_split(find_split(folder))


@pytest.mark.parametrize("name", ["0.parquet", "data/test-0.parquet"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_slices_beside_tables(split: Split, name: str, kind: str) -> None:
    folder = split({name: [1, 0]})
    rows = {"key": ["0000000", "0000001"], "lighting": ["night", "day"]}
    getattr(datasets.Dataset.from_dict(rows), f"to_{kind}")(str(folder / f"slices.{kind}"))
    found = open_split(find_split(folder))
    (variable,) = found.slices
    assert (len(found), variable.name, variable.values, variable.codes.tolist()) == (
        2,
        "lighting",
        ("day", "night"),
        [1, 0],
    )


def test_slices_beside_a_saved_table(table: datasets.Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "root" / "pets" / "test"
    table.save_to_disk(str(folder))
    (folder / "slices.csv").write_text("key,lighting\n0000000,night\n")
    assert open_split(find_split(folder)).slices[0].values == ("night",)


def test_slices_above_the_splits_are_told(split: Split) -> None:
    folder = split({"0.parquet": [1]})
    (folder.parent / "slices.csv").write_text("key,lighting\n0000000,night\n")
    assert "slices.csv (it belongs into the folder of a split" in str(survey_root(folder.parent.parent))


def test_a_changed_table_of_the_same_date(split: Split, tmp_path: Path) -> None:
    for labels in ([0, 1], [1, 0]):
        folder = split({"0.parquet": labels})
        os.utime(folder / "0.parquet", (0, 0))
        assert [row.label for row in open_split(find_split(folder), tmp_path / "cache").index] == labels


def test_a_folder_with_a_colon(split: Split) -> None:
    assert open_split(find_split(split({"0.parquet": [1]}, "pets:2026/test"))).names == ("cat", "dog face")


@pytest.mark.parametrize("first", ["annotation", "zebra"])
def test_the_images_are_the_column_image(split: Split, first: str) -> None:
    (note, *_) = open_split(find_split(split({"0.parquet": [1]}, **{first: datasets.Image()}))).notes
    assert note == f"the images come from the column image, not from {first}."


def test_two_columns_of_images_none_of_them_called_image(table: datasets.Dataset) -> None:
    two = table.rename_column("image", "photo").add_column("mask", [None] * 3).cast_column("mask", datasets.Image())
    with pytest.raises(DataError, match="has the columns photo, mask of the type Image: rename"):
        open_table(two, "mine", "pets", "test")


def test_a_column_image_that_has_none_beside_another(table: datasets.Dataset) -> None:
    paths = table.rename_column("image", "mask").add_column("image", ["a.png"] * 3)
    with pytest.raises(DataError, match="mask of the type Image, and a column image of the type string"):
        open_table(paths, "mine", "pets", "test")


def test_a_row_without_an_image(table: datasets.Dataset) -> None:
    bare = datasets.Dataset.from_dict({"image": [None], "label": [0]}).cast_column("image", datasets.Image())
    with pytest.raises(DataError, match="Row 0 of mine has no image"):
        open_table(bare.cast_column("label", NAMED), "mine", "pets", "test")


@pytest.mark.parametrize("shown", ["numpy", "pandas"])
def test_the_format_of_a_table_does_not_matter(table: datasets.Dataset, shown: str) -> None:
    assert [row.label for row in open_table(table.with_format(shown), "mine", "pets", "test").index] == [1, 0, 1]


def test_pictures_beside_tables_are_told(split: Split, pictures: Path) -> None:
    folder = split({"0.parquet": [1, 0]})
    (pictures / "train" / "cat").rename(folder / "cat")
    assert (
        "the folders cat with pictures beside the shards or tables are not read."
        in open_split(find_split(folder)).notes
    )


def several(pictures: Path, values: list[list[Any]], feature: Any) -> datasets.Dataset:
    columns = {"image": [str(path) for path in sorted(pictures.rglob("*.png"))[:2]], "label": values}
    return datasets.Dataset.from_dict(
        columns, datasets.Features({"image": datasets.Image(), "label": datasets.Sequence(feature)})
    )


@pytest.mark.parametrize(
    ("values", "feature", "labels"),
    [
        ([[0, 1, 1], [1, 0, 0]], datasets.Value("int64"), [[1, 2], [0, -1]]),
        ([[False, True], [True, True]], datasets.Value("bool"), [[1, -1], [0, 1]]),
        ([[0, 1], [1, 0]], datasets.ClassLabel(names=["cat", "dog"]), [[0, 1], [1, 0]]),
    ],
    ids=["ones", "bool", "classes"],
)
def test_lists_of_labels_are_ones_or_classes(
    pictures: Path, values: list[list[Any]], feature: Any, labels: list[list[int]]
) -> None:
    names = () if isinstance(feature, datasets.ClassLabel) else ("cat", "dog", "emu")[: len(values[0])]
    split = open_table(several(pictures, values, feature), "pets", "pets", "test", class_names=names)
    assert split.label_sets["multilabel"].labels.tolist() == labels


def test_a_list_that_may_be_ones_or_classes(pictures: Path) -> None:
    table = several(pictures, [[0, 1], [1, 0]], datasets.Value("int64"))
    with pytest.raises(DataError, match="are they the numbers of its classes, or 1 for each class that holds"):
        open_table(table, "pets", "pets", "test", class_names=("cat", "dog"))


def test_a_transform_of_a_table(table: datasets.Dataset) -> None:
    plain = open_table(table.with_transform(lambda batch: batch), "pets", "pets", "test")
    assert "the transform of the table is not applied" in " ".join(plain.notes)
    swapped = table.with_transform(lambda batch: {**batch, "label": [label + 1 for label in batch["label"]]})
    with pytest.raises(DataError, match=r"Row 0 of pets has the label \d, and \d by the transform of the table"):
        open_table(swapped, "pets", "pets", "test")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
        (b"", "is empty"),
        (b"x", "is no p"),
    ],
)
def test_files_that_are_no_parquet(opened: Opened, parquet, content: bytes, message: str) -> None:
    text = parquet({"image": [None], "label": [0]})
    path = next(Path(text.removeprefix("hub:").partition(":")[0]).rglob("*.parquet"))
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"{path.name} {message}"):
        opened(text)


def test_tables_called_train_in_a_folder_called_test(table: datasets.Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "pets" / "test"
    folder.mkdir(parents=True)
    table.to_parquet(str(folder / "train-00000-of-00001.parquet"))
    note = "the folder test has tables of the split train alone, such as train-00000-of-00001.parquet, which are read."
    assert note in open_hub(f"hub:{folder}", "pets", "test", cache=tmp_path / "cache").notes


TEXT, NUMBER = datasets.Value("string"), datasets.Value("int64")


def shown(found: Dataset) -> list[str]:
    return [found.names[row.label] for row in found.index]


def test_texts_are_the_names_of_classes(split: Split, tmp_path: Path) -> None:
    folder = split({"0.parquet": ["dog_face", " cat", "dog_face"]}, label=TEXT)
    for cache in (None, tmp_path / "cache", tmp_path / "cache"):
        assert shown(open_split(find_split(folder), cache)) == ["dog face", "cat", "dog face"]
    (folder / "classnames.txt").write_text("dog face\nant\ncat\n")
    found = open_split(find_split(folder), tmp_path / "cache")
    assert (shown(found), found.names) == (["dog face", "cat", "dog face"], ("dog face", "ant", "cat"))


def test_a_text_without_a_sign_is_no_label(split: Split) -> None:
    folder = split({"0.parquet": ["dog", " "]}, label=TEXT)
    with pytest.raises(DataError, match=r"Row 1 of .* has no label"):
        open_split(find_split(folder))


def test_names_beside_tables_are_those_of_numbers(split: Split) -> None:
    folder = split({"0.parquet": [1, 2]}, label=NUMBER)
    (folder.parent / "classnames.txt").write_text("ant\ncat\ndog\n")
    found = open_split(find_split(folder))
    assert shown(found) == ["cat", "dog"]
    assert "no image has the label 0" in " ".join(found.notes)
    named = open_split(find_split(split({"0.parquet": [1, 0]}, "pets/val")))
    assert "classnames.txt is not read: the column of the labels names its classes." in named.notes


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ("test-00000-of-00001 test-00000-of-00002 test-00001-of-00002", "tables of two exports, such as"),
        ("test-00000-of-00001-0123456789abcdef test-00000-of-00001-fedcba9876543210", "tables of two exports, such as"),
        ("test-00001-of-00002-0123456789abcdef", r"the first test-00000-of-00002\.parquet"),
    ],
)
def test_tables_of_two_exports_and_names_with_hashes(split: Split, tables: str, message: str) -> None:
    folder = split({f"data/{name}.parquet": [0] for name in tables.split()})
    with pytest.raises(DataError, match=message):
        open_split(find_split(folder))


@pytest.mark.parametrize(
    "name", ["0 (1)", "0(2)", "0 - Copy", "0 copy 2", "0-checkpoint", "0.sync-conflict-20261129-A"]
)
def test_a_copy_of_a_table(split: Split, name: str) -> None:
    folder = split({"0.parquet": [0], f"{name}.parquet": [0]})
    with pytest.raises(
        DataError, match=r"has 0\.parquet and 0.+\.parquet, which is called as a copy of it: remove one"
    ):
        open_split(find_split(folder))


def test_a_table_whose_name_is_not_utf8(split: Split) -> None:
    folder = split({"0.parquet": [0]})
    (folder / "0.parquet").rename(folder / "caf\udce9.parquet")
    with pytest.raises(DataError, match=r"caf\\xe9\.parquet is not UTF-8: rename it"):
        open_split(find_split(folder))


def test_tables_that_name_the_classes_in_other_orders(split: Split) -> None:
    split({"0.parquet": [0]})
    folder = split({"1.parquet": [0]}, label=datasets.ClassLabel(names=NAMED.names[::-1]))
    with pytest.raises(DataError, match="name the classes of the column label in other orders"):
        open_split(find_split(folder))


def test_a_folder_with_a_bracket(split: Split) -> None:
    with pytest.raises(DataError, match="has a bracket in its path, which `datasets` takes for a pattern"):
        open_split(find_split(split({"0.parquet": [0]}, "pets [v2]/test")))
