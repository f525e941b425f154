"""Data of a program: every label, class name, picture and data set that a user may give, and a message for others."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import ExifTags, Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.images import decode_image
from eyechart.data.readers.in_memory import open_in_memory
from eyechart.errors import DataError, EyechartError

COLOURS = ("blue", "green", "red")


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("pictures")
    for name in COLOURS:
        Image.new("RGB", (4, 4), name).save(folder / f"{name}.png")
    return [str(folder / f"{name}.png") for name in COLOURS]


def opened(data: Any, names: Any = COLOURS) -> Dataset:
    return open_in_memory(data, "pets", "test", names)


def labels(data: Any, names: Any = COLOURS) -> list[int]:
    return [row.label for row in opened(data, names).index]


def frame(paths: list[str], values: Any) -> pd.DataFrame:
    return pd.DataFrame({"path": paths, "label": values})


@pytest.mark.parametrize("data", [frame, lambda paths, values: list(zip(paths, values, strict=True))])
@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 2],
        [0.0, 1.0, 2.0],
        np.array([0, 1, 2], np.uint8),
        np.array([0, 1, 2], np.float32),
        [Decimal(0), Decimal(1), Decimal(2)],
        [False, True, 2],
        [np.array(0), np.array([1]), 2],
        pd.array([0, 1, 2], "Int64"),
        COLOURS,
        pd.Categorical(COLOURS, ["red", "green", "blue"]),
        [np.str_(name) for name in COLOURS],
        ["Blue", " green", "RED"],
    ],
    ids=str,
)
def test_labels_of_any_type(paths: list[str], data: Callable[..., Any], values: Any) -> None:
    assert labels(data(paths, values)) == [0, 1, 2]


@pytest.mark.parametrize("data", [frame, lambda paths, values: list(zip(paths, values, strict=True))])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.0, 1.5, 2.0], r"Item 1 of pets/test has the label 1\.5, which is no whole number"),
        ([0, Decimal("1.5"), 2], "Item 1 .* which is no whole number"),
        ([0, Fraction(1, 2), 2], "Item 1 .* which is no whole number"),
        ([0.0, float("inf"), 2], r"Item 1 of pets/test has the label inf of the type float; expected one whole number"),
        ([0.0, float("nan"), 2.0], r"Item 1 of pets/test has no label \(nan\)"),
        ([0, None, 2], "Item 1 of pets/test has no label"),
        (pd.array([0, None, 2], "Int64"), r"Item 1 of pets/test has no label \(<NA>\)"),
        (["blue", None, "red"], "Item 1 of pets/test has no label"),
        (["blue", float("nan"), float("nan")], "Item 1 of pets/test, and 1 more has no label"),
        (["blue", " ", "red"], "Item 1 of pets/test has no label"),
        (["blue", 1, "red"], "are mixed: item 0 has the text 'blue', item 1 has 1"),
        ([0, 1, 3], "has the label 3, expected 0 to 2"),
        ([0, -1, 2], "has the label -1, expected 0 to 2"),
        (["blue", "grean", "red"], "has the label 'grean', which is not among the 3 class names; did you mean green"),
        (["0", "1", "2"], "Numbers must be numbers, not texts"),
        ([[0], [1, 2], [2]], r"Item 1 of pets/test has the label \[1, 2\] of the type list; expected one whole number"),
        ([0, {"a": 1}, 2], "Item 1 .* of the type dict; expected one whole number"),
        ([0, object, 2], "of the type type; expected one whole number"),
        ([0, pd.Timestamp("2026-01-01"), 2], "of the type Timestamp; expected one whole number"),
        ([0, b"red", 2], "has the label b'red', which are bytes: decode it"),
    ],
    ids=str,
)
def test_labels_that_are_none(paths: list[str], data: Callable[..., Any], values: Any, message: str) -> None:
    if isinstance(values, list) and [0] in values:
        values = [0, *values[1:]]
    with pytest.raises(DataError, match=message):
        labels(data(paths, values))


def test_one_hot_labels(paths: list[str]) -> None:
    with pytest.raises(DataError, match="Item 0 of pets/test has the label array"):
        labels(list(zip(paths, np.eye(3), strict=True)))


def test_labels_that_look_alike_are_no_two_classes(paths: list[str]) -> None:
    with pytest.raises(DataError, match="'Red' and 'red', which look alike"):
        labels(frame(paths, ["blue", "Red", "red"]), ())


def test_labels_with_underscores(paths: list[str]) -> None:
    assert opened(frame(paths, ["a_b", "b", "c"]), ()).names == ("a b", "b", "c")


@pytest.mark.parametrize(
    "names",
    [
        np.array(COLOURS),
        pd.Series(COLOURS),
        pd.Index(COLOURS),
        {0: "blue", 1: "green", 2: "red"},
        {"green": 1, "blue": 0, "red": 2},
        (name for name in COLOURS),
        {"1": "green", "0": "blue", "2": "red"},
        {np.int64(2): "red", np.int64(0): "blue", np.int64(1): "green"},
        ["\ufeffblue", "green\n", " red"],
    ],
    ids=lambda names: type(names).__name__,
)
def test_class_names_of_any_type(paths: list[str], names: Any) -> None:
    assert opened(frame(paths, [0, 1, 2]), names).names == COLOURS


def test_several_names_of_a_class_are_joined(paths: list[str]) -> None:
    found = opened(frame(paths, [0, 1, 2]), [("tench", "Tinca tinca"), ("ant",), ("bee",)])
    assert found.names == ("tench, Tinca tinca", "ant", "bee")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("blue", "are 'blue', of the type str. Expected a list of names"),
        (3, "are 3, of the type int. Expected a list"),
        (["blue", None, "red"], "Name 1 of the class_names of pets/test is None"),
        (["blue", float("nan"), "red"], "Name 1 of .* is nan, of the type float"),
        ([0, 1, 2], "Name 0 of .* is 0, of the type int"),
        ({0: "blue", 2: "red"}, "have other numbers than 0 to 1"),
        (["blue", "Blue", "red"], "have one name"),
        (["blue", "", "red"], "have an empty name"),
        ({*COLOURS}, "are a set, which has no order: give a list"),
        (frozenset(COLOURS), "are a frozenset, which has no order"),
        (pd.Series(COLOURS, index=[2, 1, 0]), "are a Series with the index 2, 1, 0: are these the numbers"),
        (pd.DataFrame({"name": COLOURS}), "are a DataFrame: give the column of the names"),
        ({"blue": [0], "green": [1]}, "have other numbers than 0 to 1"),
        (["M\u00fcller", "Mu\u0308ller", "red"], "have one name"),
        (["blue\u200b", "blue", "red"], "have one name"),
        (["blu\udcff", "green", "red"], "has the class name .*, which is no UTF-8 text"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_class_names_that_are_none(paths: list[str], names: Any, message: str) -> None:
    with pytest.raises(EyechartError, match=message):
        opened(frame(paths, [0, 1, 2]), names)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "YCbCr", "HSV", "LAB", "I", "I;16", "F"])
def test_pictures_of_every_mode(mode: str) -> None:
    assert labels([(Image.new(mode, (4, 4)), 1)]) == [1]


def closed() -> Image.Image:
    image = Image.new("RGB", (4, 4))
    image.close()
    return image


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (None, r"Item 0 of pets/test has no image \(None\)"),
        (float("nan"), "Item 0 of pets/test has no image"),
        (b"\x89PNG", "is a bytes. Expected a PIL image or a path"),
        (np.zeros((4, 4, 3), np.uint8), "is a ndarray"),
        ({"bytes": b"", "path": ""}, "is a dict"),
        (" ", "Item 0 of pets/test has no image"),
        (b"\x89PNG", r"open it, for example with Image\.open\(BytesIO"),
        ("https://host/a.png", "is the URL https://host/a.png: download it"),
        ("a\0b.png", "cannot be read"),
        ("caf\udce9.png", r"caf\\xe9.png is not UTF-8"),
        (".", "cannot be read"),
        (Image.new("RGB", (0, 0)), "The image of item 0 of pets/test cannot be read"),
        (closed(), "The image of item 0 of pets/test cannot be read"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_pictures_that_are_none(image: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened([(image, 0)])


def test_pictures_in_a_frame(paths: list[str]) -> None:
    assert len(opened(pd.DataFrame({"image": [*map(Image.open, paths)], "label": COLOURS}), ())) == 3


@pytest.mark.parametrize(
    ("columns", "note"),
    [
        (("path", "label", "class"), "the labels come from the column label, not from class."),
        (("path", "image", "label"), "the paths come from the column path, not from image."),
        (("Path", "Label"), ""),
    ],
)
def test_columns_that_are_documented_come_first(paths: list[str], columns: tuple[str, ...], note: str) -> None:
    content = {name: [0, 1, 2] if name.casefold() == "label" else paths for name in columns}
    assert opened(pd.DataFrame(content)).notes == ((note,) if note else ())


@pytest.mark.parametrize(
    "columns", [("path", "class", "target"), ("file", "image", "label"), ("path", "label", "label")]
)
def test_two_columns_that_may_be_meant(paths: list[str], columns: tuple[str, ...]) -> None:
    rows = [[paths[0] if name in ("path", "file", "image") else 0 for name in columns]]
    with pytest.raises(DataError, match="Keep one of them"):
        opened(pd.DataFrame(rows, columns=[*columns]))


class Folder:
    """A data set that lists files, and gives an image and a label of its own."""

    classes = COLOURS

    def __init__(self, paths: list[str], image: Callable[[str], Any], label: Callable[[int], Any]) -> None:
        self.samples = [(path, index) for index, path in enumerate(paths)]
        self.image, self.label = image, label

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, label = self.samples[index]
        return self.image(path), self.label(label)


def test_labels_are_those_that_a_data_set_gives(paths: list[str]) -> None:
    found = opened(Folder(paths, Image.open, lambda label: 2 - label), ())
    assert ([row.label for row in found.index], found.keys) == ([2, 1, 0], ("blue.png", "green.png", "red.png"))


def test_a_changed_image_is_the_one_that_is_given(paths: list[str]) -> None:
    found = opened(Folder(paths, lambda _: Image.new("RGB", (2, 2)), int), ())
    assert found.keys == ("0", "1", "2")


def test_files_stand_for_tensors_if_the_labels_are_theirs(paths: list[str]) -> None:
    assert opened(Folder(paths, lambda _: np.zeros(3), int), ()).keys == ("blue.png", "green.png", "red.png")
    with pytest.raises(DataError, match="Item 0 of pets/test has the label 2, and its `samples` 0"):
        opened(Folder(paths, lambda _: np.zeros(3), lambda label: 2 - label), ())


def test_a_target_transform_of_torchvision(paths: list[str]) -> None:
    class ImageFolder(Folder):
        target_transform = staticmethod(lambda label: 2 - label)

        def __getitem__(self, index: int) -> tuple[Any, Any]:
            raise AssertionError("the transform of training")

    ImageFolder.__getitem__.__module__ = "torchvision.datasets.folder"
    assert labels(ImageFolder(paths, str, int), ()) == [2, 1, 0]
    ImageFolder.__getitem__.__module__ = __name__
    with pytest.raises(DataError, match=r"item 0 of the 3 of pets/test cannot be read \(AssertionError"):
        labels(ImageFolder(paths, str, int), ())


def test_class_names_in_another_order_than_the_data_have(paths: list[str]) -> None:
    data = Folder(paths, Image.open, int)
    assert opened(data, ("azul", "verde", "rojo")).names == ("azul", "verde", "rojo")
    with pytest.raises(DataError, match="class_names have 'red' as class 0, and the data of pets/test as class 2"):
        opened(data, COLOURS[::-1])
    with pytest.raises(DataError, match="have 3 classes, and class_names are 2"):
        opened(data, COLOURS[:2])


class Broken:
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        raise KeyError("image")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Broken(), "item 0 of the 2 of pets/test cannot be read .KeyError"),
        ({"image": [1], "label": [0]}, "are a dict of image, label: give one of its values"),
        ([{"image": 1, "label": 0}], "Item 0 of pets/test is of the type dict with the keys image, label"),
        (np.zeros((2, 3)), "Item 0 of pets/test is of the type ndarray"),
        (pd.Series([1, 2]), "are a Series, one column"),
        ([1], "Item 0 of pets/test is of the type int"),
        (iter([1]), "The data are of the type list_iterator"),
        (None, "The data are of the type NoneType"),
        (pd.DataFrame({"path": [], "label": []}), "have no images"),
        (pd.DataFrame({"label": [1]}), "Expected a column 'path'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_data_of_other_kinds(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(data)


def test_numbers_that_may_count_from_one(paths: list[str]) -> None:
    (note,) = opened(frame(paths, [1, 2, 2])).notes
    assert note.startswith("no image has the label 0, 'blue'")


def test_tensors_are_no_pictures() -> None:
    import torch

    with pytest.raises(DataError, match="The image of item 0 of pets/test is a Tensor"):
        opened(torch.utils.data.TensorDataset(torch.zeros(2, 3), torch.zeros(2)))


def test_labels_of_tensors_and_with_spaces(paths: list[str]) -> None:
    import torch

    assert labels(list(zip(paths, torch.tensor([0, 1, 2]), strict=True))) == [0, 1, 2]
    assert opened(frame(paths, ["blue ", "green", " red"]), ()).names == COLOURS


def test_texts_of_numbers_that_have_two_orders(paths: list[str]) -> None:
    assert opened(frame(paths, ["0", "1", "2"]), ()).names == ("0", "1", "2")
    with pytest.raises(DataError, match=r"are texts of numbers, '1', '10' …, whose order is another one as numbers"):
        opened(frame(paths, ["1", "10", "2"]), ())


def test_class_names_of_a_data_set_as_an_array(paths: list[str]) -> None:
    class Files(list[tuple[str, int]]):
        classes = np.array(COLOURS)

    assert opened(Files(zip(paths, [0, 1, 2], strict=True)), ()).names == COLOURS


def test_signs_without_width_make_no_class(paths: list[str]) -> None:
    assert labels(frame(paths, ["\ufeffblue", "gre\u00aden", "red\u200b"])) == [0, 1, 2]


def test_a_date_is_no_number(paths: list[str]) -> None:
    with pytest.raises(DataError, match="of the type datetime64; expected one whole number"):
        labels([(path, np.datetime64(1, "ns")) for path in paths])


@pytest.mark.parametrize("written", ['"{}"', " {} ", "file://{}", "{0}\n"])
def test_paths_as_tables_have_them(paths: list[str], written: str) -> None:
    assert opened(frame([written.format(path) for path in paths], [0, 1, 2])).keys == tuple(
        f"{name}.png" for name in COLOURS
    )


def test_paths_as_windows_writes_them(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(paths[0]).parent.parent)
    folder = Path(paths[0]).parent.name
    assert opened(frame([f".\\{folder}\\{name}.png" for name in COLOURS], [0, 1, 2])).keys[0] == "blue.png"


@pytest.mark.parametrize("values", [[b"a", b"b", b"c"], [[0], [1], [2]], [0.5, 1, 2]], ids=str)
def test_labels_without_names_that_are_no_numbers(paths: list[str], values: Any) -> None:
    with pytest.raises(DataError, match="Item 0 of pets/test has the label"):
        opened(frame(paths, values), ())


def test_an_open_picture_has_the_pixels_that_the_program_gives(tmp_path: Path) -> None:
    """A picture that was turned by hand still has the EXIF of its file, and must not be turned again."""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    Image.new("RGB", (8, 4)).save(tmp_path / "a.jpg", exif=exif)
    picture = Image.open(tmp_path / "a.jpg")
    for image, size in ((tmp_path / "a.jpg", (4, 8)), (picture, (8, 4)), (picture.rotate(-90, expand=True), (4, 8))):
        found = opened([(image, 0)])
        ((_, data),) = found.source.read([0])
        assert decode_image(data, "a", upright=found.upright).size == size


class Part:
    """A part of a data set, or several joined, as torch has them."""

    def __init__(self, *owners: Any, rows: Sequence[int] = ()) -> None:
        self.rows = [(owner, row) for owner in owners for row in rows or range(len(owner))]
        self.__dict__.update({"datasets": [*owners]} if len(owners) > 1 else {"dataset": owners[0]})

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        owner, row = self.rows[index]
        pair: tuple[Any, Any] = owner[row]
        return pair


def test_parts_of_parts_have_the_names_of_the_whole(paths: list[str]) -> None:
    whole = Folder(paths, Image.open, int)
    found = opened(Part(Part(whole, rows=[2, 1]), Part(Part(whole), rows=[0])), ())
    assert ([row.label for row in found.index], found.names) == ([2, 1, 0], COLOURS)


def test_parts_whose_numbers_mean_other_classes(paths: list[str]) -> None:
    def shown(_: Any) -> Image.Image:
        return Image.new("RGB", (2, 2))

    one, other = Folder(paths, shown, int), Folder(paths[1:], shown, int)
    other.__dict__["classes"] = COLOURS[1:]
    for names in ((), COLOURS):
        with pytest.raises(DataError, match="part 0 has blue, green, red …, part 1 green, red …, so that a number"):
            opened(Part(one, other), names)
    one.label, other.label = COLOURS.__getitem__, COLOURS[1:].__getitem__
    assert labels(Part(one, other), ()) == [0, 1, 2, 1, 2]
