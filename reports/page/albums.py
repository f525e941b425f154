"""Albums: what can be looked at item by item. Each holds the cases that were asked about the same items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np

from eyechart.data.class_names import class_names
from eyechart.data.dataset import Dataset
from eyechart.errors import EyechartError, ReportError, VocabularyError

from ..annotation.sheet import opened
from ..answers import Floats, intact
from ..runs import Entry, Group, Pool
from .before import Moved, Old, Previous, kept_outcomes, moved
from .kinds import READERS
from .said import Held, Named, Said, naming, read_said

IMAGE = "image"
USUAL = ("species",)  # what birds are looked at by


@dataclass(frozen=True)
class Exhibit:
    """One case of an album: what it said, what was said before of the same items, and what its numbers moved by."""

    entry: Entry
    task: str
    said: Said
    before: Said | None = None
    moved: Mapping[str, Moved] = field(default_factory=dict)


@dataclass(frozen=True)
class Album:
    """Cases about the same items; `dataset` is None where the images are not here."""

    name: str
    title: str
    exhibits: tuple[Exhibit, ...]
    reference: str
    dataset: Dataset | None = None

    @property
    def items(self) -> tuple[tuple[str, str], ...]:
        """The images with what is asked about them."""
        return self.exhibits[0].said.items

    @cached_property
    def truths(self) -> Mapping[str, Held]:
        """Every ground truth, from the first case that has it; the reference comes first."""
        found = {name: held for exhibit in self.exhibits for name, held in exhibit.said.truths.items()}
        return {name: found[name] for name in sorted(found, key=lambda name: name != self.reference)}

    @cached_property
    def pictures(self) -> Mapping[str, tuple[int, str]]:
        """Each image's row in the data set and its sha256."""
        if self.dataset is None:
            return {}
        rows = zip(self.dataset.keys, self.dataset.selected, strict=True)
        return {key: (place, self.dataset.index[row].sha256) for place, (key, row) in enumerate(rows)}


@dataclass
class Curator:
    """Opens data sets and reads cases; `said` collects what there is to say about what is missing."""

    data: str | None
    store: Path
    said: list[str] = field(default_factory=list)

    def albums(self, pool: Pool, previous: Previous) -> Iterator[Album]:
        """Every album of the runs, in the order of their groups."""
        taken: dict[str, int] = {}
        for group in pool.groups:
            for album in self.of_group(group, previous):
                count = taken[album.name] = taken.get(album.name, 0) + 1
                yield album if count == 1 else renamed(album, count)

    def of_group(self, group: Group, previous: Previous) -> Iterator[Album]:
        """The albums of one group: one for all cases with the same items."""
        dataset = self.dataset(group)
        named, tasks = naming(names_of(group, dataset)), group.tasks()
        shelves: dict[tuple[tuple[str, str], ...], list[Exhibit]] = {}
        for entry in group.entries:
            if said := read_said(entry, named, READERS):
                old = previous.get(id(entry))
                numbers = moved(old, entry, [key for key, _ in said.items])
                before = self.before(old, entry, said, named)
                shelves.setdefault(said.items, []).append(Exhibit(entry, tasks[id(entry)], said, before, numbers))
        for exhibits in shelves.values():
            yield album_of(group, exhibits, dataset)

    def before(self, old: Old | None, entry: Entry, now: Said, named: Named) -> Said | None:
        """What a case is compared with, if that is about the same items."""
        if old is None:
            return None
        found = read_said(old, named, READERS) if isinstance(old, Entry) else kept_outcomes(old, entry, now)
        if found is not None and found.items == now.items:
            return found
        self.said.append(
            f"{entry.record.case} ({entry.record.protocol}): what it is compared with is about other items."
        )
        return None

    def dataset(self, group: Group) -> Dataset | None:
        """The images of a group, if they are where they were."""
        record = group.entries[0].record
        finger, limit, seed = record.data.fingerprint, record.limit, record.seed
        root = record.data.root or None if self.data is None else self.data
        offline = self.data is None  # nothing is downloaded unless it is asked for
        try:
            return opened(
                group.benchmark, root, self.store, fingerprint=finger, limit=limit, seed=seed, offline=offline
            )
        except EyechartError as error:
            self.said.append(f"{group.title}: no images. {error}")
        return None


def names_of(group: Group, dataset: Dataset | None) -> Sequence[str]:
    """The names of the classes: the data set's own, those that the run kept, or the cleaned ones of ImageNet."""
    if dataset is not None and dataset.names:
        return dataset.names
    if found := next(filter(None, map(read_class_names, group.entries)), ()):
        return found
    if (dataset is not None and dataset.classes != 1000) or group.entries[0].record.benchmark != "imagenet":
        return ()
    try:
        return class_names("kisel").names
    except VocabularyError:
        return ()


def read_class_names(entry: Entry) -> Sequence[str]:
    """The class names that a run kept; () where it kept none."""
    file = entry.record.data.class_names
    if file is None:
        return ()
    path = entry.folder / file.path
    try:
        return msgspec.json.decode(intact(path, entry.folder, file), type=tuple[str, ...])
    except msgspec.DecodeError as error:
        raise ReportError(f"{path} is no list of class names ({error}). Run the case again.") from error


def album_of(group: Group, exhibits: Sequence[Exhibit], dataset: Dataset | None) -> Album:
    """An album, called after its split; one of questions after its protocol, too."""
    first = exhibits[0].said
    known = {name for exhibit in exhibits for name in exhibit.said.truths}
    usual = (group.reference if group.labels else "", *USUAL)
    reference = next((name for name in usual if name in known), "")
    if first.unit == IMAGE:
        return Album(group.benchmark, group.title, tuple(exhibits), reference, dataset)
    protocol = exhibits[0].entry.record.protocol
    title = f"{group.title}: {protocol}"
    return Album(f"{group.benchmark}/{protocol}", title, tuple(exhibits), reference, dataset)


def renamed(album: Album, count: int) -> Album:
    """Another album of one name."""
    return Album(f"{album.name}/{count}", album.title, album.exhibits, album.reference, album.dataset)


def floats(held: Held) -> Floats:
    """Outcomes as 1, 0 and NaN."""
    values = np.full(len(held.outcomes), np.nan)
    values[held.outcomes <= 1] = held.outcomes[held.outcomes <= 1]
    return values
