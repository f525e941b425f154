"""Data sets that a program holds in memory: a data frame, a table of `datasets`, a torch data set, or pairs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from os import PathLike
from os.path import commonpath
from pathlib import Path
from typing import Any

from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.imagenet.classes import CLASSES
from eyechart.data.images import to_rgb
from eyechart.data.index.file_index import FileSource, IndexEntry, build_dataset
from eyechart.data.index.image_files import find_file
from eyechart.data.labels.class_names import check_unique
from eyechart.data.labels.label_values import is_missing, whole_number
from eyechart.data.labels.text_labels import index_texts, is_number_text, plain_text_label
from eyechart.data.names import check_encoding, fold_name
from eyechart.data.readers.hub import open_table
from eyechart.data.splits.validation import check_validation_labels
from eyechart.errors import DataError

PATHS, LABELS = ("path", "image", "file", "filename"), ("label", "labels", "class", "target")
TORCHVISION = "torchvision.datasets.folder"
PNG_MODES = ("1", "L", "LA", "P", "I;16", "RGB", "RGBA")
NEEDS = (
    "Give the name of a split, a folder with a folder of images for each class, a pandas DataFrame with the columns "
    "path and label, a data set of `datasets`, or a torch data set or list of (image, label)."
)


def open_in_memory(data: Any, benchmark: str, split: str, class_names: Any = ()) -> Dataset:
    """Return a data set from an object in memory. Raises DataError for an object of another kind.

    - a pandas DataFrame with the columns `path` and `label`: classes are the values of `label` in sorted order, or, if
      they are whole numbers, indices into `class_names`;
    - a `datasets.Dataset` with an image column and a label column of the type ClassLabel;
    - a torch data set, or a list, of pairs of a PIL image, or a path, and a class index; class names are its attribute
      `classes`, or `class_names`. Files that it lists in `samples`, as torchvision's ImageFolder does, are read without
      its transform; labels are those that it gives, with its `target_transform`.
    """
    name = f"{benchmark}/{split}"
    names = _check_class_names(class_names, f"class_names of {name}")
    if hasattr(data, "features") and hasattr(data, "select_columns"):
        if not hasattr(data, "__len__"):
            raise DataError(f"The data of {name} are a stream ({type(data).__name__}): load them without streaming.")
        return open_table(data, name, benchmark, split, class_names=names)
    if isinstance(data, Mapping):
        raise DataError(
            f"The data of {name} are a {type(data).__name__} of {', '.join(map(str, list(data)[:5]))}: give one of its "
            f"values, such as data[{next(iter(data), 'test')!r}], if they are splits. {NEEDS}"
        )
    if hasattr(data, "iloc") and not hasattr(data, "columns"):
        raise DataError(f"The data of {name} are a {type(data).__name__}, one column. {NEEDS}")
    notes: tuple[str, ...] = ()
    if hasattr(data, "columns") and not hasattr(data, "iloc") and hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        pairs: Sequence[Any]
        pairs, notes = _read_frame(data, name)
    elif hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, str | bytes):
        own = _check_class_names(_own_classes(data, name), f"`classes` of the data of {name}")
        _check_same_order(names, own, name)
        pairs, notes = read_pairs(data, name)
        names = names or own
    else:
        raise DataError(f"The data are of the type {type(data).__name__}. {NEEDS}")
    dataset = build_pairs(pairs, benchmark, split, names)
    return replace(dataset, notes=(*notes, *dataset.notes))


def _own_classes(data: Any, name: str) -> Any:
    """Return the class names that a data set has as `classes`, or the one that it is a part of, or all its parts.

    Raises DataError for parts whose numbers mean other classes.
    """
    names = getattr(data, "classes", None)
    if names is not None and (not hasattr(names, "__len__") or len(names)):
        return names
    if (whole := getattr(data, "dataset", None)) is not None:  # of torch's Subset
        return _own_classes(whole, name)
    parts = getattr(data, "datasets", None)  # of torch's ConcatDataset
    if not isinstance(parts, list | tuple) or not parts:
        return ()
    found = [_check_class_names(_own_classes(part, name), f"`classes` of part {row}") for row, part in enumerate(parts)]
    other = next((row for row, names in enumerate(found) if names and found[0] and names != found[0]), None)
    if other is not None and not all(_has_text(part, name) for part in parts):
        raise DataError(
            f"The parts of {name} have other classes: part 0 has {', '.join(found[0][:3])} …, part {other} "
            f"{', '.join(found[other][:3])} …, so that a number means two classes. Give names as labels, for example "
            "by target_transform, or evaluate each part alone."
        )
    return found[0] if other is None and all(found) else ()


def _has_text(data: Any, name: str) -> bool:
    """Return whether the first label of a part is a text; False without one."""
    item = _read_item(data, name, 0) if len(data) else None
    return isinstance(item, tuple | list) and len(item) > 1 and _is_text(item[1])


def _check_class_names(names: Any, what: str) -> tuple[str, ...]:
    """Return class names by class. Several names of a class, as torchvision's ImageNet has them, are joined by commas.

    Raises DataError for what is no list of texts, VocabularyError for empty and equal names.
    """
    names = _in_order(names, what)
    if isinstance(names, str | bytes) or not hasattr(names, "__iter__"):
        raise DataError(f"The {what} are {names!r}, of the type {type(names).__name__}. Expected a list of names.")
    texts = [", ".join(name) if isinstance(name, tuple) and all(map(_is_text, name)) else name for name in names]
    for number, text in enumerate(texts):
        if not _is_text(text):
            raise DataError(
                f"Name {number} of the {what} is {text!r}, of the type {type(text).__name__}. Expected a text."
            )
    unique = tuple(map(plain_text_label, texts))
    check_unique(unique, allow_duplicates=len(unique) == CLASSES)  # some lists of ImageNet's names have two equal ones
    return unique


def _in_order(names: Any, what: str) -> Any:
    """Return class names in the order of their numbers. Raises DataError if they have no order, or two."""
    if isinstance(names, Set):
        raise DataError(f"The {what} are a {type(names).__name__}, which has no order: give a list of names.")
    if hasattr(names, "columns"):
        raise DataError(f"The {what} are a {type(names).__name__}: give the column of the names, as a list.")
    if hasattr(names, "iloc") and (numbers := _numbers(names.index)) not in (None, [*range(len(names))]):
        raise DataError(
            f"The {what} are a {type(names).__name__} with the index {', '.join(map(str, numbers[:5]))}: are "
            "these the numbers of the classes, or is their order? Give names.to_dict(), or names.tolist()."
        )
    if not isinstance(names, Mapping):
        return names
    # names by number, where JSON has texts as numbers; else numbers by name, as torchvision's class_to_idx
    by_text = all(map(_is_text, names.values()))
    numbers = _numbers(names if by_text else names.values())
    if numbers is None or sorted(numbers) != [*range(len(names))]:
        raise DataError(f"The {what} have other numbers than 0 to {len(names) - 1}: give a list of names.")
    return [name for _, name in sorted(zip(numbers, names.values() if by_text else names, strict=True))]


def _numbers(values: Iterable[Any]) -> list[int] | None:
    """Return values that are whole numbers, or texts of such, None if one is something else."""
    try:
        return [int(value) if is_number_text(value) else whole_number(value, "") for value in values]
    except DataError:
        return None


def _check_same_order(wanted: Sequence[str], own: Sequence[str], name: str) -> None:
    """Raise DataError for class names that a data set has for other classes."""
    forms = [*map(fold_name, own)]
    if wanted and own and len(wanted) != len(own):
        raise DataError(
            f"The data of {name} have {len(own)} classes, and class_names are {len(wanted)}: give one a class."
        )
    for index, text in enumerate(wanted if own else ()):
        if forms.count(fold_name(text)) == 1 and forms.index(fold_name(text)) != index:
            raise DataError(
                f"class_names have '{text}' as class {index}, and the data of {name} as class "
                f"{forms.index(fold_name(text))} ('{own[index]}' is {index}): leave class_names out, or give that "
                "order."
            )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _read_frame(frame: Any, name: str) -> tuple[list[tuple[Any, Any]], tuple[str, ...]]:
    """Return the images and labels of a data frame, and notes on columns that are not read.

    Raises DataError if a column is missing or there are two that may be meant.
    """
    columns, notes = [], list[str]()
    for role, names in (("path", PATHS), ("label", LABELS)):
        known = [column for word in names for column in frame.columns if str(column).strip().casefold() == word]
        if not known:
            raise DataError(
                f"The data frame of {name} has the columns {', '.join(map(str, frame.columns))}. Expected a column "
                f"'{role}' (or {', '.join(names[1:])})."
            )
        if len(known) > 1 and (str(known[0]).strip().casefold() != role or known.count(known[0]) > 1):
            raise DataError(
                f"The data frame of {name} has the columns {' and '.join(map(str, known))}. Keep one of them, called "
                f"'{role}'."
            )
        if others := [str(column) for column in known[1:]]:
            notes.append(f"the {role}s come from the column {known[0]}, not from {', '.join(others)}.")
        columns.append(known[0])
    return list(zip(frame[columns[0]].tolist(), frame[columns[1]].tolist(), strict=True)), tuple(notes)


def read_pairs(data: Any, name: str) -> tuple[Sequence[Any], tuple[str, ...]]:
    """Return the images and labels of a data set: the files that it lists in `samples`, with the labels that it gives.

    Raises DataError if it gives labels that `samples` do not have, for images that are neither pictures nor paths.
    """
    files = _listed_files(data)
    if files is None:
        return data, ()
    if str(type(data).__getitem__.__module__).startswith(TORCHVISION):  # which gives the label of `samples`
        change, loader = getattr(data, "target_transform", None), getattr(data, "loader", None)
        labels = [change(label) if change else label for _, label in files]
        own_loader = loader is not None and not str(getattr(loader, "__module__", "")).startswith(TORCHVISION)
        note = ("files are opened as pictures, without the data set's own loader.",) if own_loader else ()
        return [(path, label) for (path, _), label in zip(files, labels, strict=True)], note
    try:
        return [_given_pair(data, file, name, index) for index, file in enumerate(files)], ()
    except _ItemError as error:
        if getattr(data, "target_transform", None) is not None:
            raise
        return files, (f"labels come from `samples`: {error}",)


def _listed_files(data: Any) -> Sequence[tuple[Any, Any]] | None:
    """Return the pairs of path and label in `samples`, None if there are none or they are not those of the items."""
    files = getattr(data, "samples", None)
    if not isinstance(files, list | tuple) or len(files) != len(data):
        return None
    pairs = [(file[0], file[1]) for file in files if isinstance(file, list | tuple) and len(file) > 1]
    if len(pairs) != len(files) or not all(isinstance(path, str | PathLike) for path, _ in pairs):
        return None
    return pairs


def _given_pair(data: Any, file: tuple[Any, Any], name: str, index: int) -> Any:
    """Return the image and label that a data set gives for a file: the file, if the image is unchanged."""
    item = _read_item(data, name, index)
    if not isinstance(item, tuple | list) or len(item) < 2 or isinstance(item[0], str | PathLike):
        return item  # which is checked later
    image, label = item[0], item[1]
    if isinstance(image, Image.Image):
        return (file[0] if _is_picture(file[0], image) else image), label
    if not is_missing(label) and bool(label == file[1]):
        return file
    raise DataError(
        f"Item {index} of {name} has the label {label!r}, and its `samples` {file[1]!r} for {file[0]}; its image is a "
        f"{type(image).__name__}: create the data set without its transform, or give a list of (path, label)."
    )


def _is_picture(path: Any, image: Image.Image) -> bool:
    """Return whether an image is the unchanged one of a file."""
    try:
        with Image.open(path) as file:
            return file.size == image.size and file.convert("RGB").tobytes() == image.convert("RGB").tobytes()
    except Exception:  # whatever a file may hold
        return False


class _ItemError(DataError):
    """An item of a user's data set that its code cannot give."""


def _read_item(data: Any, name: str, index: int) -> Any:
    """Return an item of a data set. Raises _ItemError for any error of its code."""
    try:
        return data[index]
    except Exception as error:
        raise _ItemError(
            f"item {index} of the {len(data)} of {name} cannot be read ({type(error).__name__}: {error}); items are "
            "numbered from 0."
        ) from error


def build_pairs(pairs: Sequence[Any], benchmark: str, split: str, class_names: Sequence[str]) -> Dataset:
    """Return a data set of (image or path, label) pairs; labels are class names, or indices of classes."""
    name = f"{benchmark}/{split}"
    if not len(pairs):
        raise DataError(f"The data of {name} have no images. {NEEDS}")
    files, digests, labels = [], [], []
    for index in range(len(pairs)):
        image, label = _check_pair(_read_item(pairs, name, index), name, index)
        file = None if isinstance(image, Image.Image) else find_file(image).absolute()
        where = f"The image of item {index} of {name}"
        digests.append(sha256(read_file(file) if file else _encode_png(image, where)).hexdigest())
        files.append(file)
        labels.append(label)
    indices, names = _index_labels(labels, name, class_names)
    root = Path(commonpath([str(file.parent) for file in files if file])) if any(files) else Path()
    width = len(str(len(pairs) - 1))
    keys = [file.relative_to(root).as_posix() if file else str(row).zfill(width) for row, file in enumerate(files)]
    entries = [
        IndexEntry(key, Path(key).name, digest, key, label=index)
        for key, digest, index in zip(keys, digests, indices, strict=True)
    ]
    location, source = f"the data of {name}", FileSource(root, entries) if all(files) else ImageSource(pairs)
    numbered = not all(map(_is_text, labels))
    dataset = build_dataset(
        location,
        benchmark,
        split,
        entries,
        classes=len(names),
        names=names,
        source=source,
        numbered=numbered,
        provenance=_describe_provenance(numbered, class_names),
    )
    check_validation_labels(dataset, location)
    return dataset


def _describe_provenance(numbered: bool, class_names: Sequence[str]) -> str:
    names = "`class_names`, or `classes` of the data" if class_names else "these texts in the order of their characters"
    return f"labels: {'numbers from 0' if numbered else 'texts'} of the items; class names: {names}"


def read_file(path: Path) -> bytes:
    """Return the bytes of an image file. Raises DataError."""
    check_encoding(str(path))
    try:
        return path.expanduser().read_bytes()
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(f"{path} cannot be read ({getattr(error, 'strerror', error)}): correct its path.") from error


def _check_pair(item: Any, name: str, index: int) -> tuple[Any, Any]:
    """Return an item as (image, label). Raises DataError for anything else, such as a tensor."""
    if not isinstance(item, tuple | list) or len(item) < 2:
        keys = f" with the keys {', '.join(map(str, item))}" if isinstance(item, dict) else ""
        raise DataError(f"Item {index} of {name} is of the type {type(item).__name__}{keys}. Expected (image, label).")
    image, label = item[0], item[1]
    if isinstance(image, str) and "://" in image and not image.strip().startswith("file://"):
        raise DataError(f"The image of item {index} of {name} is the URL {image}: download it, and give its path.")
    if not isinstance(image, Image.Image) and is_missing(image):
        raise DataError(f"Item {index} of {name} has no image ({image!r}): give it one, or leave it out.")
    if not isinstance(image, Image.Image | str | PathLike):
        remedy = "create the data set without its transform, since each model has its own"
        if isinstance(image, bytes | bytearray | Mapping):
            remedy = "open it, for example with Image.open(BytesIO(…)) of its bytes"
        elif type(image).__module__ == "numpy":
            remedy = f"{remedy}, or make a picture of it, for example with Image.fromarray"
        raise DataError(
            f"The image of item {index} of {name} is a {type(image).__name__}. Expected a PIL image or a path: "
            f"{remedy}."
        )
    return image, label


def _index_labels(labels: Sequence[Any], name: str, class_names: Sequence[str]) -> tuple[list[int], tuple[str, ...]]:
    """Return the class index of each label, and the class names.

    Raises DataError for a label that is missing or no whole number, and for numbers without names.
    """
    missing = [index for index, label in enumerate(labels) if is_missing(label)]
    if missing:
        more = f", and {len(missing) - 1:,} more" if missing[1:] else ""
        raise DataError(
            f"Item {missing[0]} of {name}{more} has no label ({labels[missing[0]]}): give it one, or leave it out."
        )
    texts = [index for index, label in enumerate(labels) if _is_text(label)]
    if len(texts) == len(labels):
        return index_texts([*map(plain_text_label, labels)], name, class_names)
    if texts:
        number = next(index for index, label in enumerate(labels) if not _is_text(label))
        raise DataError(
            f"The labels of {name} are mixed: item {texts[0]} has the text {labels[texts[0]]!r}, item {number} has "
            f"{labels[number]!r}. Give all as names, or all as numbers."
        )
    numbers = [whole_number(label, f"Item {index} of {name}") for index, label in enumerate(labels)]
    if not class_names:
        raise DataError(
            f"The labels of {name} are numbers without class names. Give the names of all classes, in the order of "
            "their numbers, with class_names=[…], or names as labels."
        )
    return numbers, tuple(class_names)


@dataclass(frozen=True)
class ImageSource:
    """A source of images in memory, which are read as PNG files."""

    pairs: Sequence[Any]

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (row, image bytes) in the requested order."""
        for row in rows:
            image = self.pairs[row][0]
            where = f"The image of item {row}"
            yield row, _encode_png(image, where) if isinstance(image, Image.Image) else read_file(find_file(image))

    def part(self, rows: Sequence[int]) -> "ImageSource":
        """Return the source of some rows alone."""
        return ImageSource([self.pairs[row] for row in rows])

    def location(self, row: int) -> str:
        """Return the path of an image, or the number of one in memory."""
        image = self.pairs[row][0]
        return f"item {row:,}" if isinstance(image, Image.Image) else str(image)


def _encode_png(image: Image.Image, where: str) -> bytes:
    """Return an image as the bytes of a PNG file, without loss; colours that PNG does not have become RGB.

    The pixels are as they are: a data set that has turned a picture may have left its EXIF. Raises DataError, which
    names the image, for one that cannot be read.
    """
    file = BytesIO()
    try:
        whole = image if image.mode in PNG_MODES else to_rgb(image)
        whole.save(file, "PNG", compress_level=1, exif=b"")
    except Exception as error:
        raise DataError(
            f"{where} cannot be read ({type(error).__name__}: {error}): give an open picture with pixels, or a path."
        ) from error
    return file.getvalue()
