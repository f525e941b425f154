"""Open splits with the `datasets` library, from the Hugging Face Hub or a local folder."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from eyechart.data.dataset import Dataset
from eyechart.data.file_index import IndexEntry, build_dataset
from eyechart.data.imagenet import val_file
from eyechart.data.index_cache import load_or_build, read_facts
from eyechart.errors import DataError
from eyechart.extras import install_command

SPEC = re.compile(r"hub:(?P<place>[^:]+)(?::(?P<split>[\w.-]+))?")
LABELS = ("label", "labels", "cls")
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
    match = SPEC.fullmatch(text)
    if not match:
        raise DataError(f"'{text}' cannot be read as a data set of the hub: expected hub:OWNER/NAME[:SPLIT].")
    return HubSpec(match["place"], match["split"])


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
    table = _load(parse_hub(text), text, cache, offline)
    return open_table(table, text, benchmark, split, classes=classes, upright=upright, cache=cache)


def open_table(
    table: Any,
    text: str,
    benchmark: str,
    split: str,
    *,
    classes: int | None = None,
    upright: bool = True,
    cache: Path | None = None,
) -> Dataset:
    """Return a split that is a table of `datasets`, called `text` in errors, without decoding images.

    Raises DataError if a column is missing, and as `build_dataset`.
    """
    image, label = _column(text, table, "image"), _column(text, table, "label")
    images = table.select_columns([image]).cast_column(image, _library().Image(decode=False))
    names = _names(text, table.features[label], classes)
    files = read_facts(Path(file["filename"]) for file in table.cache_files)
    cache = cache if files and table._indices is None else None  # the files do not say which rows were selected
    index = load_or_build(cache, files, lambda: _index(table, images, image, label), reader=f"hub {text}")
    source = HubSource(text, images, image)
    count = classes or len(names)
    return build_dataset(text, benchmark, split, index, classes=count, names=names, upright=upright, source=source)


@dataclass(frozen=True)
class HubSource:
    """A source of images in a column of a `datasets` table."""

    name: str
    table: Any
    column: str

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (row, image bytes) in the requested order."""
        for row in rows:
            yield row, _read_bytes(self.table[row][self.column])

    def part(self, rows: Sequence[int]) -> "HubSource":
        """Return the source of some rows alone."""
        return HubSource(self.name, self.table.select(rows), self.column)

    def place(self, row: int) -> str:
        """Return the name of the table and the number of the row, or the path of the image."""
        path = self.table[row][self.column]["path"]
        return path if path and Path(path).is_absolute() else f"row {row:,} of {self.name}"


def _read_bytes(image: Mapping[str, Any]) -> bytes:
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


def _load(spec: HubSpec, text: str, cache: Path | None, offline: bool) -> Any:
    datasets = _library()
    local = Path(spec.location).is_dir()
    if local and any((Path(spec.location) / name).is_file() for name in SAVED):
        return _load_saved(spec, text)
    if not local:
        _check_online(text, offline)
    options = {"path": spec.location, "cache_dir": str(cache / "datasets") if local and cache else None}
    try:
        files = datasets.load_dataset_builder(**options).config.data_files
        split = _split(text, spec, [*map(str, files or ())])
        # Named files, since the library would fetch every split's files, 150 GB for ImageNet's validation images.
        only = {split: [*files[split]]}
        return datasets.load_dataset(**options, data_files=only, split=split, verification_mode="no_checks")
    except DataError:
        raise
    except Exception as error:
        raise DataError(
            f"{text} cannot be opened by `datasets` ({type(error).__name__}: {error}). Check its name, the network and "
            "your access (hf auth login), or download it once and give its folder."
        ) from error


def _load_saved(spec: HubSpec, text: str) -> Any:
    """Return the table that `save_to_disk` wrote into a folder, or one of several such tables."""
    datasets = _library()
    try:
        saved = datasets.load_from_disk(spec.location)
    except Exception as error:
        raise DataError(
            f"{text} was written by save_to_disk and cannot be opened by `datasets` ({type(error).__name__}: {error}): "
            "copy or write it again."
        ) from error
    return saved[_split(text, spec, [*saved])] if isinstance(saved, datasets.DatasetDict) else saved


def _check_online(text: str, offline: bool) -> None:
    from huggingface_hub import constants

    if offline and not constants.HF_HUB_OFFLINE:
        raise DataError(
            f"{text} is no local folder, and offline mode opens no connection: set HF_HUB_OFFLINE=1 to read it from "
            "the hub's cache, or download it once and give its folder."
        )


def _split(text: str, spec: HubSpec, splits: Sequence[str]) -> str:
    wanted = [spec.split] if spec.split else splits if len(splits) == 1 else PREFERRED
    for name in wanted:
        if name in splits:
            return name
    raise DataError(
        f"{text} has the splits {', '.join(splits) or '(none)'}, not {' or '.join(wanted)}: name one of them, as in "
        f"hub:{spec.location}:SPLIT."
    )


def _column(text: str, table: Any, role: str) -> str:
    """Return the column of the images, the first of that type, or of the labels, by name."""
    images = [name for name, feature in table.features.items() if isinstance(feature, _library().Image)]
    columns = images if role == "image" else [name for name in LABELS if name in table.features]
    if not columns:
        raise DataError(
            f"{text} has the columns {', '.join(table.features)}, none of them of {role}s: expected a column of the "
            f"type Image and one called {', '.join(LABELS)}."
        )
    return columns[0]


def _names(text: str, feature: Any, classes: int | None) -> tuple[str, ...]:
    if classes:
        return ()
    names = getattr(getattr(feature, "feature", feature), "names", None)
    if not names:
        raise DataError(f"{text} does not name its classes: give its label column the type ClassLabel with names.")
    return tuple(names)


def _index(table: Any, images: Any, image: str, label: str) -> list[IndexEntry]:
    keys = table["__key__"] if "__key__" in table.features else [f"{row:07d}" for row in range(len(table))]
    return [_entry(key, encoded[image], value) for key, encoded, value in zip(keys, images, table[label], strict=True)]


def _entry(key: str, image: Mapping[str, Any], value: Any) -> IndexEntry:
    path = image["path"] or ""
    file = val_file(path) or Path(path).name or key
    digest = sha256(_read_bytes(image)).hexdigest()
    if isinstance(value, (list, tuple)):
        return IndexEntry(key, file, digest, path, labels=tuple(value))
    return IndexEntry(key, file, digest, path, label=-1 if value is None else int(value))
