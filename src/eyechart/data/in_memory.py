"""Data sets that a program holds in memory: a data frame, a table of `datasets`, a torch data set, or pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from os.path import commonpath
from pathlib import Path
from typing import Any

from PIL import Image

from eyechart.data.dataset import Dataset
from eyechart.data.file_index import FileSource, IndexEntry, build_dataset
from eyechart.data.hub import open_table
from eyechart.errors import DataError

PATHS, LABELS = ("path", "image", "file", "filename"), ("label", "labels", "class", "target")
NEEDS = (
    "Give the name of a split, a folder with a folder of images for each class, a pandas DataFrame with the columns "
    "path and label, a data set of `datasets`, or a torch data set or list of (image, label)."
)


def open_in_memory(data: Any, benchmark: str, split: str, class_names: Sequence[str] = ()) -> Dataset:
    """Return a data set from an object in memory. Raises DataError for an object of another kind.

    - a pandas DataFrame with the columns `path` and `label`: classes are the values of `label` in sorted order, or, if
      they are whole numbers, indices into `class_names`;
    - a `datasets.Dataset` with an image column and a label column of the type ClassLabel;
    - a torch data set, or a list, of pairs of a PIL image, or a path, and a class index; class names are its attribute
      `classes`, or `class_names`. Files that it lists in `samples`, as torchvision's ImageFolder does, are read without
      its transform.
    """
    name = f"{benchmark}/{split}"
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        pairs: Sequence[Any] = read_frame(data, name)
    elif hasattr(data, "features") and hasattr(data, "select_columns"):
        return open_table(data, name, benchmark, split)
    elif hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, str | bytes | dict):
        pairs = getattr(data, "samples", None) or data
        class_names = class_names or tuple(getattr(data, "classes", ()))
    else:
        raise DataError(f"The data are of the type {type(data).__name__}. {NEEDS}")
    return build_pairs(pairs, benchmark, split, class_names)


def read_frame(frame: Any, name: str) -> list[tuple[str, Any]]:
    """Return the paths and labels of a data frame. Raises DataError if a column is missing."""
    columns = []
    for role, names in (("path", PATHS), ("label", LABELS)):
        if not (known := [column for column in names if column in frame.columns]):
            raise DataError(
                f"The data frame of {name} has the columns {', '.join(map(str, frame.columns))}. Expected a column "
                f"'{role}' (or {', '.join(names[1:])})."
            )
        columns.append(known[0])
    return list(zip(map(str, frame[columns[0]]), frame[columns[1]], strict=True))


def build_pairs(pairs: Sequence[Any], benchmark: str, split: str, class_names: Sequence[str]) -> Dataset:
    """Return a data set of (image or path, label) pairs; labels are class names, or indices of classes."""
    name = f"{benchmark}/{split}"
    if not len(pairs):
        raise DataError(f"The data of {name} have no images. {NEEDS}")
    files, digests, labels = [], [], []
    for index in range(len(pairs)):
        image, label = check_pair(pairs[index], name, index)
        is_image = isinstance(image, Image.Image)
        files.append(None if is_image else Path(image).absolute())
        digests.append(sha256(encode_png(image) if is_image else read_file(Path(image))).hexdigest())
        labels.append(label)
    indices, names = index_labels(labels, name, class_names)
    root = Path(commonpath([str(file.parent) for file in files if file])) if any(files) else Path()
    width = len(str(len(pairs) - 1))
    keys = [file.relative_to(root).as_posix() if file else str(row).zfill(width) for row, file in enumerate(files)]
    entries = [
        IndexEntry(key, Path(key).name, digest, key, label=index)
        for key, digest, index in zip(keys, digests, indices, strict=True)
    ]
    place, source = f"the data of {name}", FileSource(root, entries) if all(files) else ImageSource(pairs)
    return build_dataset(place, benchmark, split, entries, classes=len(names), names=names, source=source)


def read_file(path: Path) -> bytes:
    """Return the bytes of an image file. Raises DataError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): correct its path.") from error


def check_pair(item: Any, name: str, index: int) -> tuple[Any, Any]:
    """Return an item as (image, label). Raises DataError for anything else, such as a tensor."""
    if not isinstance(item, tuple | list) or len(item) < 2:
        raise DataError(f"Item {index} of {name} is of the type {type(item).__name__}. Expected (image, label).")
    image, label = item[0], item[1]
    if not isinstance(image, Image.Image | str | Path):
        raise DataError(
            f"The image of item {index} of {name} is a {type(image).__name__}. Expected a PIL image or a path: "
            "create the data set without its transform, since each model has its own."
        )
    return image, label


def index_labels(labels: Sequence[Any], name: str, class_names: Sequence[str]) -> tuple[list[int], tuple[str, ...]]:
    """Return the class index of each label, and the class names. Raises DataError for labels without names."""
    texts = [label for label in labels if isinstance(label, str)]
    if len(texts) == len(labels):
        names = tuple(class_names) or tuple(sorted({*texts}))
        if unknown := sorted({*texts} - {*names}):
            raise DataError(f"{name} has the label '{unknown[0]}', which is not among the {len(names)} class names.")
        places = {text: place for place, text in enumerate(names)}
        return [places[text] for text in texts], names
    if texts or not class_names:
        raise DataError(
            f"The labels of {name} are {'mixed' if texts else 'numbers without class names'}. Give the names of all "
            "classes, in the order of their numbers, with class_names=[…], or names as labels."
        )
    return [int(label) for label in labels], tuple(class_names)


@dataclass(frozen=True)
class ImageSource:
    """A source of images in memory, which are read as PNG files."""

    pairs: Sequence[Any]

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (row, image bytes) in the requested order."""
        for row in rows:
            image = self.pairs[row][0]
            yield row, encode_png(image) if isinstance(image, Image.Image) else read_file(Path(image))

    def part(self, rows: Sequence[int]) -> "ImageSource":
        """Return the source of some rows alone."""
        return ImageSource([self.pairs[row] for row in rows])

    def place(self, row: int) -> str:
        """Return the path of an image, or the number of one in memory."""
        image = self.pairs[row][0]
        return f"item {row:,}" if isinstance(image, Image.Image) else str(image)


def encode_png(image: Image.Image) -> bytes:
    """Return an image as the bytes of a PNG file, without loss."""
    file = BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()
