"""Open splits with the `datasets` library, from the Hugging Face Hub or a local folder."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.imagenet.classes import val_file
from eyechart.data.index.file_index import IndexEntry, build_dataset, read_class_names
from eyechart.data.index.index_cache import hash_facts, load_or_build, read_facts
from eyechart.data.labels.label_values import is_missing, read_lists, whole_number
from eyechart.data.labels.text_labels import index_texts, plain_text_label
from eyechart.data.names import check_encoding, fold_name
from eyechart.data.splits.validation import check_validation_labels
from eyechart.errors import DataError
from eyechart.files.text_files import HEAD, describe_content
from eyechart.messages.install_commands import install_command

SPEC = re.compile(r"hub:(?P<path>[^:]+)(?::(?P<split>[\w.-]+))?")
LOCAL_SPEC = re.compile(r"hub:(?P<path>.+?)(?::(?P<split>[\w.-]+))?")
PART = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})(?:-[0-9a-f]{16})?(?P<end>\..*)?")  # of tables
COPY = re.compile(r"(.+?)(?: ?\(\d+\)| - [Cc]opy| copy(?: \d+)?|[-_]checkpoint|\.sync-conflict-[\w-]+)(\.\w+)")
SPLIT_WORDS = (("train", "training"), ("validation", "valid", "val", "dev"), ("test", "testing"))
IMAGE, LABELS = "image", ("label", "labels", "cls")
SLICES = ("slices.csv", "slices.parquet")  # beside tables, and none of them
SAVED = ("state.json", "dataset_dict.json")  # what `save_to_disk` writes beside its tables
PREFERRED = ("validation", "val", "test")


@dataclass(frozen=True)
class HubSpec:
    """A data set of the Hub or a local folder, and its split."""

    location: str
    split: str | None = None


def parse_hub(text: str) -> HubSpec:
    """Parse `hub:OWNER/NAME[:SPLIT]`, or the same with the path of a folder.

    >>> parse_hub("hub:ILSVRC/imagenet-1k:validation")
    HubSpec(location='ILSVRC/imagenet-1k', split='validation')
    """
    local = LOCAL_SPEC.fullmatch(text)
    locations = [Path(text.removeprefix("hub:")), *([Path(local["path"])] if local else [])]
    for location, split in zip(locations, (None, local and local["split"]), strict=False):
        if location.is_absolute() and location.is_dir():  # whose path may have colons
            return HubSpec(str(location), split)
    match = SPEC.fullmatch(text)
    if not match:
        raise DataError(f"'{text}' cannot be read as a data set of the hub: expected hub:OWNER/NAME[:SPLIT].")
    return HubSpec(match["path"], match["split"])


def open_hub(
    text: str,
    benchmark: str,
    split: str,
    *,
    classes: int | None = None,
    upright: bool = True,
    cache: Path | None = None,
    offline: bool = False,
) -> Dataset:
    """Open a split with `datasets` without decoding images; without `classes` the label column must name its classes.

    Raises DataError if the library, the network, the split or a column is missing, and as `build_dataset`.
    """
    spec = parse_hub(text)
    table, notes = _load(spec, text, cache, offline)
    lines = read_class_names(Path(spec.location)) if Path(spec.location).is_dir() and not classes else ()
    if own := lines and _own_names(table.features[_label_column(text, table)[0]]):
        if [*map(fold_name, own)] != [*map(fold_name, lines)]:
            notes = (*notes, "classnames.txt is not read: the column of the labels names its classes.")
        lines = ()
    dataset = open_table(
        table, text, benchmark, split, classes=classes, upright=upright, cache=cache, class_names=lines
    )
    return replace(dataset, notes=(*notes, *dataset.notes))


def open_table(
    table: Any,
    text: str,
    benchmark: str,
    split: str,
    *,
    classes: int | None = None,
    upright: bool = True,
    cache: Path | None = None,
    class_names: Sequence[str] = (),
) -> Dataset:
    """Return a split that is a table of `datasets`, called `text` in errors, without decoding images.

    Images are the column `image`, or the only one of the type Image. `class_names` name the classes of a label column
    that does not; by default texts name themselves. Raises DataError if a column is missing, and as `build_dataset`.
    """
    transformed, table = table, table.with_format(None)
    (image, image_notes), (label, label_notes) = _image_column(text, table), _label_column(text, table)
    transform_notes = _check_transform(text, transformed, table, label)
    images = table.select_columns([image]).cast_column(image, _library().Image(decode=False))
    feature = table.features[label]
    numbers: Mapping[str, int] | None = None
    if not classes and str(getattr(feature, "dtype", "")).endswith("string"):
        texts = [value for value in table.unique(label) if not is_missing(value)]
        indices, class_names = index_texts([*map(plain_text_label, texts)], text, class_names)
        numbers = dict(zip(texts, indices, strict=True))
    names = _names(text, feature, classes, class_names)
    files = read_facts(Path(file["filename"]) for file in table.cache_files)
    cache = cache if files and table._indices is None else None  # the files do not say which rows were selected
    index: Sequence[IndexEntry] = load_or_build(
        cache,
        files,
        lambda: _index(text, table, images, image, label, numbers),
        reader=f"hub {text} {image} {label}{'' if numbers is None else f' {numbers}'}",
    )
    source = _HubSource(text, images, image)
    count = classes or len(names)
    if not isinstance(getattr(feature, "feature", feature), _library().ClassLabel):  # those are class indices
        index = read_lists(text, index, count)
    sources = {
        "its texts": numbers is not None,
        "those given": class_names,
        f"those of the column '{label}'": names,
        "those of ImageNet": True,
    }
    own = next(source for source, applies in sources.items() if applies)
    dataset = build_dataset(
        text,
        benchmark,
        split,
        index,
        classes=count,
        names=names,
        upright=upright,
        source=source,
        numbered=numbers is None and not _own_names(feature),
        provenance=f"images: column '{image}'; labels: column '{label}'; class names: {own}",
    )
    check_validation_labels(dataset, text)
    return replace(dataset, notes=(*image_notes, *label_notes, *transform_notes, *dataset.notes))


def _check_transform(text: str, table: Any, plain: Any, label: str) -> tuple[str, ...]:
    """Return a note on the transform of a table, () without one. Raises DataError if it changes labels."""
    if table.format["type"] != "custom":
        return ()
    for row, value in enumerate(plain[label]):
        try:
            new_label = table[row].get(label, value)
            equal = bool(new_label == value)
        except Exception:  # whatever a user's transform may do, or a value that is not compared
            break
        if not equal:
            raise DataError(
                f"Row {row} of {text} has the label {value!r}, and {new_label!r} by the transform of the table, which "
                "is not applied: leave it out, or change labels with map."
            )
    return ("the transform of the table is not applied: images and labels come from its columns.",)


@dataclass(frozen=True)
class _HubSource:
    """A source of images in a column of a `datasets` table."""

    name: str
    table: Any
    column: str

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (row, image bytes) in the requested order."""
        for row in rows:
            yield row, _read_bytes(self.table[row][self.column])

    def part(self, rows: Sequence[int]) -> "_HubSource":
        """Return the source of some rows alone."""
        return _HubSource(self.name, self.table.select(rows), self.column)

    def location(self, row: int) -> str:
        """Return the name of the table and the number of the row, or the path of the image."""
        path = self.table[row][self.column]["path"]
        return path if path and Path(path).is_absolute() else f"row {row:,} of {self.name}"


def _read_bytes(image: Mapping[str, Any] | None, where: str = "A row") -> bytes:
    if image is None or (image["bytes"] is None and not image["path"]):
        raise DataError(f"{where} has no image: fill it, or leave the row out.")
    if image["bytes"] is not None:
        return bytes(image["bytes"])
    try:
        return Path(image["path"]).read_bytes()
    except OSError as error:
        raise DataError(f"{image['path']} cannot be read ({error.strerror}): copy it again.") from error


def _library() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise DataError(f"Data sets of the hub need `datasets` ({error}): {install_command('hub')}.") from error
    return datasets


def _load(spec: HubSpec, text: str, cache: Path | None, offline: bool) -> tuple[Any, tuple[str, ...]]:
    """Return the table of a split, and notes on which split it is."""
    datasets = _library()
    local = Path(spec.location).is_dir()
    if local and any((Path(spec.location) / name).is_file() for name in SAVED):
        return _load_saved(spec, text)
    if not local:
        _check_online(text, offline)
    for path in [*Path(spec.location).glob("*"), *Path(spec.location).glob("data/*")] if local else ():
        check_encoding(str(path))
    if local and "[" in spec.location:
        raise DataError(
            f"{spec.location} has a bracket in its path, which `datasets` takes for a pattern: rename the folder."
        )
    options = {"path": spec.location, "cache_dir": str(cache / "datasets") if local and cache else None}
    try:
        files = datasets.load_dataset_builder(**options).config.data_files
        split, notes = _split(text, spec, [*map(str, files or ())], local=local)
        # Named files, since the library would fetch every split's files, 150 GB for ImageNet's validation images.
        only = {split: [file for file in files[split] if Path(file).name not in SLICES]}
        if local:
            tables = [file for file in only[split] if file.endswith(".parquet")]
            if tables and (left := [file for file in only[split] if file not in tables]):
                only[split] = tables
                notes = (*notes, f"{Path(left[0]).name} beside the tables is not read: it is no .parquet file.")
            _check_parts(text, only[split])
            _check_tables(only[split])
            _check_names(only[split])
            notes = (*notes, *_describe_train(spec, split, only[split]))
            options["cache_dir"] = _table_cache(cache, only[split])
        table = datasets.load_dataset(**options, data_files=only, split=split, verification_mode="no_checks")
        return table, notes
    except DataError:
        raise
    except Exception as error:
        raise DataError(
            f"{text} cannot be opened by `datasets` ({type(error).__name__}: {error}). Check its name, the network and "
            "your access (hf auth login), or download it once and give its folder."
        ) from error


def _check_parts(text: str, files: Sequence[str]) -> None:
    """Raise DataError if one of several tables that belong together by their names is not there, or there twice."""
    names = {Path(file).name for file in files}
    for name in sorted(names):
        if (match := COPY.fullmatch(name)) and match[1] + match[2] in names:
            raise DataError(
                f"{text} has {match[1] + match[2]} and {name}, which is called as a copy of it: remove one."
            )
    parts: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for file in files:
        if match := PART.fullmatch(Path(file).name):
            key = (str(Path(file).parent / match["stem"]), match["end"] or "")
            parts.setdefault(key, []).append((int(match["count"]), int(match["number"]), Path(file).name))
    for (stem, end), found in parts.items():
        numbers = [number for _, number, _ in sorted(found)]
        if len({count for count, _, _ in found}) > 1 or len({*numbers}) < len(numbers):
            raise DataError(
                f"{text} has tables of two exports, such as {min(found)[2]} and {max(found)[2]}, whose images may be "
                "the same: remove those of one."
            )
        count = found[0][0]
        if lacking := sorted({*range(count)} - {*numbers}):
            name = Path(stem).name
            raise DataError(
                f"{text} does not have {len(lacking):,} of the {count:,} tables {name}-*-of-{count:05d}{end}, the "
                f"first {name}-{lacking[0]:05d}-of-{count:05d}{end}: copy it there, too."
            )


def _check_tables(files: Sequence[str]) -> None:
    """Raise DataError for a parquet file that is none, such as a pointer of Git LFS."""
    for file in files:
        with Path(file).open("rb") as opened:
            head = opened.read(HEAD)
        if file.endswith(".parquet") and not head.startswith(b"PAR1"):
            raise DataError(f"{file} {describe_content(head) or 'is no parquet file: copy it again'}.")


def _check_names(files: Sequence[str]) -> None:
    """Raise DataError for parquet files that name the classes of a label column in two ways: the first ones hold."""
    from pyarrow import parquet

    first: dict[str, tuple[str, Any]] = {}
    for file in files if len(files) > 1 else ():
        metadata = parquet.read_schema(file).metadata if file.endswith(".parquet") else {}
        features = json.loads((metadata or {}).get(b"huggingface", b"{}")).get("info", {}).get("features", {})
        for column in {*LABELS} & {*features}:
            names = features[column].get("feature", features[column]).get("names")
            other, known = first.setdefault(column, (file, names))
            if names != known:
                raise DataError(
                    f"{file} and {other} name the classes of the column {column} in other orders: write all anew with "
                    "one ClassLabel, for example with cast_column."
                )


def _describe_train(spec: HubSpec, split: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return a note if tables that are called train lie in a folder of another split."""
    folder = Path(spec.location).name
    named = [Path(file).name for file in files if re.search("(?i)train", Path(file).name)]
    if split != "train" or spec.split or not named or not _is_split_word(folder) or "train" in _spellings(folder):
        return ()
    return (f"the folder {folder} has tables of the split train alone, such as {named[0]}, which are read.",)


def _table_cache(cache: Path | None, files: Sequence[str]) -> str:
    """Return a folder for the library's copy of tables, which it would not renew if they kept their date."""
    root = cache / "datasets" if cache else Path(_library().config.HF_DATASETS_CACHE) / "eyechart"
    return str(root / hash_facts(read_facts(map(Path, files)))[:16])


def _load_saved(spec: HubSpec, text: str) -> tuple[Any, tuple[str, ...]]:
    """Return the table that `save_to_disk` wrote into a folder, or one of several such tables."""
    datasets = _library()
    try:
        saved = datasets.load_from_disk(spec.location)
    except Exception as error:
        raise DataError(
            f"{text} was written by save_to_disk and cannot be opened by `datasets` ({type(error).__name__}: {error}): "
            "copy or write it again."
        ) from error
    if not isinstance(saved, datasets.DatasetDict):
        return saved, ()
    split, notes = _split(text, spec, [*saved], local=True)
    return saved[split], notes


def _check_online(text: str, offline: bool) -> None:
    from huggingface_hub import constants

    if offline and not constants.HF_HUB_OFFLINE:
        raise DataError(
            f"{text} is no local folder, and offline mode opens no connection: set HF_HUB_OFFLINE=1 to read it from "
            "the hub's cache, or download it once and give its folder."
        )


def _split(text: str, spec: HubSpec, splits: Sequence[str], *, local: bool) -> tuple[str, tuple[str, ...]]:
    """Return the split that is read, and a note if another could have been meant.

    That is the one of the specification, the only one, that which a folder is called, or else one for tests.
    """
    folder = Path(spec.location).name if local else ""
    called = _spellings(folder) if _is_split_word(folder) else ()
    wanted = [spec.split or splits[0]] if spec.split or len(splits) == 1 else [*(called or PREFERRED)]
    split = next((name for name in wanted if name in splits), "")
    others = [name for name in splits if name != split]
    if not split:
        raise DataError(
            f"{text} has the splits {', '.join(splits) or '(none)'}, not {' or '.join(wanted)}: name one of them, as "
            f"in hub:{spec.location}:SPLIT{', or move the tables of other splits away' if called else ''}."
        )
    if others and not spec.split and not called:
        other = f"hub:{spec.location}:{others[0]}"
        return split, (f"the split {split} is read; {', '.join(others)} can be named, as in {other}.",)
    if called and not spec.split and split not in (*called, "train"):  # as tables without a split are called
        return split, (f"the folder {folder} has tables of the split {split} alone, which are read.",)
    return split, ()


def _spellings(name: str) -> tuple[str, ...]:
    """Return the names of splits that mean the same as the name of a folder, itself first."""
    words = (word for words in SPLIT_WORDS if name.casefold() in words for word in words)
    return tuple(dict.fromkeys((name, *words)))


def _is_split_word(name: str) -> bool:
    return any(name.casefold() in words for words in SPLIT_WORDS)


def _image_column(text: str, table: Any) -> tuple[str, tuple[str, ...]]:
    """Return the column of the images, `image` or the only one of that type, and a note on others."""
    images = [name for name, feature in table.features.items() if isinstance(feature, _library().Image)]
    if IMAGE in images:
        others = [name for name in images if name != IMAGE]
        return IMAGE, (f"the images come from the column {IMAGE}, not from {', '.join(others)}.",) if others else ()
    if len(images) > 1 or (images and IMAGE in table.features):
        also = f", and a column {IMAGE} of the type {_type(table, IMAGE)}" if IMAGE in table.features else ""
        raise DataError(
            f"{text} has the columns {', '.join(images)} of the type Image{also}: rename the column of the images to "
            f"{IMAGE}, or remove the others, for example with rename_column or remove_columns."
        )
    return (images or [_no_column(text, table, "image")])[0], ()


def _label_column(text: str, table: Any) -> tuple[str, tuple[str, ...]]:
    """Return the column of the labels, by name, and a note on others."""
    columns = [name for name in LABELS if name in table.features]
    if not columns:
        _no_column(text, table, "label")
    if len(columns) > 1 and LABELS[0] not in columns:
        raise DataError(f"{text} has the columns {' and '.join(columns)}: rename the one of the labels to {LABELS[0]}.")
    others = columns[1:]
    return columns[0], (
        f"the labels come from the column {columns[0]}, not from {', '.join(others)}.",
    ) if others else ()


def _type(table: Any, column: str) -> str:
    feature = table.features[column]
    return str(getattr(feature, "dtype", type(feature).__name__))


def _no_column(text: str, table: Any, role: str) -> str:
    raise DataError(
        f"{text} has the columns {', '.join(table.features)}, none of them of {role}s: expected a column of the "
        f"type Image and one called {', '.join(LABELS)}."
    )


def _names(text: str, feature: Any, classes: int | None, class_names: Sequence[str]) -> tuple[str, ...]:
    if classes:
        return ()
    names = _own_names(feature)
    if names and class_names and [*map(fold_name, names)] != [*map(fold_name, class_names)]:
        raise DataError(
            f"{text} calls its classes {', '.join(names[:3])} …, and class_names are {', '.join(class_names[:3])} …: "
            "leave class_names out, or give the same names in the same order."
        )
    if not names and not class_names:
        raise DataError(
            f"{text} does not name its classes: give its label column the type ClassLabel with names, for example with "
            "class_encode_column, or give class_names, or classnames.txt beside tables in a folder."
        )
    return tuple(names or class_names)


def _own_names(feature: Any) -> Sequence[str]:
    """Return the class names of a feature, () without any."""
    return getattr(getattr(feature, "feature", feature), "names", None) or ()


def _index(
    text: str, table: Any, images: Any, image: str, label: str, numbers: Mapping[str, int] | None
) -> list[IndexEntry]:
    keys = table["__key__"] if "__key__" in table.features else [f"{row:07d}" for row in range(len(table))]
    if nameless := [row for row, key in enumerate(keys) if is_missing(key)]:
        raise DataError(f"Row {nameless[0]} of {text} has no __key__: fill the column, or remove it.")
    labels = table[label] if numbers is None else [numbers.get(value) for value in table[label]]
    rows = enumerate(zip(keys, images, labels, strict=True))
    return [_entry(f"Row {row} of {text}", str(key), encoded[image], value) for row, (key, encoded, value) in rows]


def _entry(where: str, key: str, image: Mapping[str, Any] | None, value: Any) -> IndexEntry:
    digest = sha256(_read_bytes(image, where)).hexdigest()
    path = (image or {})["path"] or ""
    file = val_file(path) or Path(path).name or key
    if isinstance(value, (list, tuple)):
        multi_hot = bool(value) and all(isinstance(label, bool) for label in value)
        labels = tuple(whole_number(label, where) for label in value)
        return IndexEntry(key, file, digest, path, labels=labels, multi_hot=multi_hot)
    return IndexEntry(key, file, digest, path, label=whole_number(value, where))
