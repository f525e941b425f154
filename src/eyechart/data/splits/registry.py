"""Data sets by name: those of installed packages, eyechart among them.

A package registers a data set, in whatever format, with an entry point that names an object with `splits` and
`dataset(split)`:

    [project.entry-points."eyechart.datasets"]
    flowers = "mypackage.data:FLOWERS"

The object of a format that users have below their data root also has `recognises`, `open_folder` and `expected`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Protocol, runtime_checkable

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError
from eyechart.files.installed import find_entry_points, is_own, load_entry_point

GROUP = "eyechart.datasets"
ANY = "*"  # among names of benchmarks: every benchmark of the data root that is not packaged


@dataclass(frozen=True)
class SplitRef:
    """A split and its location.

    `layout` is how its files lie: sample, registered, shards, folder, hub, disk, none, or a layout of the registered
    data set `reader`, which then opens it. `family` is the format if only protocols that name it can ask about the
    split, "" for labelled images. `missing` says which data are missing. `defect` says why an existing folder
    cannot be opened, if the listing shows it. `part` is a part of the data in the folder.
    """

    benchmark: str
    split: str
    layout: str = "sample"
    location: str = ""
    missing: str = ""
    part: str = ""
    defect: str = ""
    reader: str = ""
    family: str = ""

    def __str__(self) -> str:
        return f"{self.benchmark}/{self.split}"


class _DatasetSource(Protocol):
    """A registered data set: the names of its splits, and a method that opens one.

    It may have a `summary`, a sentence for lists of data sets, and `default_models`, the specifications of the models
    that a session without `--eye-model` evaluates on it.
    """

    @property
    def splits(self) -> Sequence[str]:
        """The splits whose files are installed."""

    def dataset(self, split: str) -> Dataset:
        """Open a split."""


@runtime_checkable
class FolderSource(Protocol):
    """A registered data set that also reads folders of the user; `expected` says which, for messages."""

    expected: str

    def recognises(self, folder: Path, root: Path, /) -> Sequence[SplitRef]:
        """Return the splits in a folder, () for a folder of another kind. Files are not opened.

        The folder is the data root itself, ROOT/<folder> or ROOT/<benchmark>/<folder>.
        """

    def open_folder(self, ref: SplitRef, cache: Path | None, /) -> Dataset:
        """Open a split that `recognises` returned; `cache` is the folder of indices."""


@dataclass(frozen=True)
class PackagedSample:
    """A registered data set whose files are packaged."""

    summary: str
    list_splits: Callable[[], Sequence[str]]
    open: Callable[[str], Dataset]
    default_models: tuple[str, ...] = ()

    @property
    def splits(self) -> Sequence[str]:
        """The splits whose files are installed."""
        return self.list_splits()

    def dataset(self, split: str) -> Dataset:
        """Open a split."""
        return self.open(split)


@cache
def _points() -> Mapping[str, EntryPoint]:
    points: dict[str, EntryPoint] = {}
    for point in find_entry_points(GROUP):
        if point.name in points:
            raise DataError(f"Two data sets are called '{point.name}', one of them {point.value}. Rename one.")
        points[point.name] = point
    return points


@cache
def registered_datasets() -> Mapping[str, _DatasetSource]:
    """Return the registered data sets by benchmark.

    Raises DataError if two have one name, and SpecError for one that cannot be imported.
    """
    return {name: load_entry_point(point) for name, point in _points().items()}


@cache
def packaged_benchmarks() -> tuple[str, ...]:
    """Return the benchmarks of eyechart itself: a protocol is run on them only if it names them.

    >>> "imagenet" in packaged_benchmarks(), "pets" in packaged_benchmarks()
    (True, False)
    """
    return tuple(name for name, point in _points().items() if is_own(point))


def includes_benchmark(names: Collection[str], benchmark: str, family: str | None = "") -> bool:
    """Return whether names of benchmarks include one: by its name, or, if it is not packaged, by "*" or "FAMILY/*".

    "*" stands for benchmarks of labelled images, "FAMILY/*" for those whose splits are of this family; where the family
    is not known (None), any of them is enough.

    >>> [includes_benchmark(("imagenet", "*"), name) for name in ("imagenet", "toybox", "pets")]
    [True, False, True]
    >>> [includes_benchmark(["questions/*"], "myshop", family) for family in ("questions", "", None)]
    [True, False, True]
    """
    patterns = {name for name in names if name.endswith(ANY)}
    fitting = patterns if family is None else patterns & {f"{family}/{ANY}" if family else ANY}
    return benchmark in names or (bool(fitting) and benchmark not in packaged_benchmarks())


def folder_sources() -> Mapping[str, FolderSource]:
    """Return the registered data sets that read folders of the user, by benchmark."""
    return {name: source for name, source in registered_datasets().items() if isinstance(source, FolderSource)}


def default_models() -> Mapping[str, tuple[str, ...]]:
    """Return the models that a session without `--eye-model` evaluates, by the benchmarks that name some.

    >>> default_models()["imagenet"]
    ('timm[tf_efficientnet_lite0]', 'conse[]')
    """
    named = {name: tuple(getattr(source, "default_models", ())) for name, source in registered_datasets().items()}
    return {name: models for name, models in named.items() if models}


def is_url(location: object) -> bool:
    """Return whether a data root or the location of a split is a URL.

    >>> is_url("s3://bucket/data"), is_url("/data"), is_url("hub:owner/name")
    (True, False, False)
    """
    return "://" in str(location)


def is_folder(root: str) -> bool:
    """Return whether a data root is a folder of this machine, neither a URL nor a data set of the hub.

    >>> is_folder("data"), is_folder("s3://bucket/data"), is_folder("hub:owner/name")
    (True, False, False)
    """
    return not (root.startswith("hub:") or is_url(root))
