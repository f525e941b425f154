"""Find images of a benchmark in another data set, such as the training data of a model.

Photos, observations and addresses of both sides are normalised to keys (realbirdid/identifiers.py). The other data set
is read in chunks and may be of any length; only the keys of the benchmark are kept in memory.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from eyechart.data.names import fold_name
from eyechart.data.tables import Table, find_table, read_table
from eyechart.errors import DataError
from eyechart.messages.suggestions import did_you_mean
from eyechart.messages.terminal import align_numbers
from eyechart.realbirdid.data.identifiers import PICTURE_KINDS, Kind, canonical_key, column_kind, may_hold_identifiers
from eyechart.realbirdid.data.observation_table import ANSWERABLE, IMAGE, OBSERVATION
from eyechart.realbirdid.leakage.chunked_tables import LINES, TableChunk, read_chunks
from eyechart.realbirdid.leakage.prefilter import Prefilter
from eyechart.statistics.intervals import Interval, wilson

_HEADERS = ("images", "number", "exact", "near", "found", "share", "95 %")
EXACT, NEAR = "exact", "near"
_MATCH_COLUMNS = (IMAGE, OBSERVATION, "answerable", "match", "by", "key", "ours", "row", "column", "theirs")


@dataclass(frozen=True)
class _Identifier:
    """An identifier of an image, as written in the table."""

    image: int
    text: str


@dataclass(frozen=True)
class Match:
    """A match of an image: the key that both sides share, and the text of each side."""

    image: int
    key: str
    benchmark_text: str
    other_text: str
    row: int
    column: str

    @property
    def exact(self) -> bool:
        """Whether the texts of both sides are equal."""
        return self.benchmark_text == self.other_text

    @property
    def kind(self) -> str:
        """The kind of the shared key: photo, url, observation or occurrence."""
        return self.key.partition(":")[0]

    @property
    def same_picture(self) -> bool:
        """Whether the image is the same, not only the observation."""
        return self.kind in PICTURE_KINDS

    @property
    def rank(self) -> tuple[bool, bool]:
        """Sort key: same photo before same observation, exact before near."""
        return not self.same_picture, not self.exact


@dataclass(frozen=True)
class _BenchmarkIdentifiers:
    """The identifiers of a benchmark: its images, and the images of every key."""

    path: Path
    images: Sequence[str]
    observations: Sequence[str]
    answerable: Sequence[bool]
    keys: Mapping[str, Sequence[_Identifier]]

    @cached_property
    def prefilter(self) -> Prefilter:
        """The filter for texts that may have one of the keys."""
        return Prefilter.from_keys(self.keys)


@dataclass(frozen=True)
class _OverlapCount:
    """The number of matched images of a set."""

    label: str
    images: int
    exact: int
    near: int

    @property
    def matched(self) -> int:
        """The number of images with an exact or near match."""
        return self.exact + self.near

    @property
    def share(self) -> float:
        """The proportion of matched images, NaN of none."""
        return self.matched / self.images if self.images else float("nan")

    @property
    def interval(self) -> Interval:
        """Wilson's interval of the proportion."""
        return wilson(self.matched, self.images)


@dataclass
class OverlapResult:
    """The best match of every image, the number of rows read, and the columns read."""

    birds: _BenchmarkIdentifiers
    other: Path
    columns: Sequence[str] = ()
    rows: int = 0
    best: dict[int, Match] = field(default_factory=dict)

    def add(self, match: Match) -> None:
        """Add a match, unless its image already has one that is at least as good."""
        kept = self.best.get(match.image)
        if kept is None or match.rank < kept.rank:
            self.best[match.image] = match

    @property
    def matches(self) -> list[Match]:
        """The best matches, in the order of the images."""
        return [self.best[image] for image in sorted(self.best)]

    @property
    def counts(self) -> tuple[_OverlapCount, _OverlapCount, _OverlapCount]:
        """The counts of answerable, unanswerable and all images."""
        answerable = self.birds.answerable
        return (
            self._count("answerable", [index for index, is_answerable in enumerate(answerable) if is_answerable]),
            self._count("unanswerable", [index for index, is_answerable in enumerate(answerable) if not is_answerable]),
            self._count("all", range(len(answerable))),
        )

    def _count(self, label: str, images: Sequence[int]) -> _OverlapCount:
        exact = [self.best[image].exact for image in images if image in self.best]
        return _OverlapCount(label, len(images), sum(exact), len(exact) - sum(exact))

    @property
    def same_pictures(self) -> int:
        """The number of images that match by photo or address, not only by observation."""
        return sum(match.same_picture for match in self.best.values())


def _read_identifiers(location: Path) -> _BenchmarkIdentifiers:
    """Read the identifiers of a table of birds, or of that in a folder; raises DataError if it has none."""
    path = find_table(location, "birds") if location.is_dir() else location
    if path is None:
        raise DataError(f"{location} has no birds.csv and no birds.parquet: give a folder that has one, or the file.")
    table = read_table(path, (IMAGE, "answerable"))
    keys: defaultdict[str, list[_Identifier]] = defaultdict(list)
    for column in [name for name in table.columns if may_hold_identifiers(name)]:
        for row, cell in enumerate(table[column]):
            if key := canonical_key(cell, column_kind(column)):
                keys[key].append(_Identifier(row, cell))
    if not keys:
        raise DataError(
            f"{path} has no identifier in any row: expected a column observation_id, photo_id or url; its columns are "
            f"{', '.join(table.columns)}."
        )
    observations = table.columns.get(OBSERVATION, [""] * len(table))
    return _BenchmarkIdentifiers(
        path, table[IMAGE], observations, [_answerable(table, row) for row in range(len(table))], keys
    )


def _answerable(table: Table, row: int) -> bool:
    cell = table["answerable"][row]
    if fold_name(cell) not in ANSWERABLE:
        raise DataError(f"{table.location(row)} has '{cell}' as answerable: expected 0, 1, true or false.")
    return ANSWERABLE[fold_name(cell)]


@dataclass(frozen=True)
class _ColumnSelector:
    """Select the columns to read: the requested ones, else those whose names suggest identifiers."""

    other: Path
    requested: Sequence[str]
    overlap: OverlapResult

    def __call__(self, names: Sequence[str]) -> Sequence[str]:
        """Return the columns; raises DataError for an unknown column, and if no name suggests identifiers."""
        for name in self.requested:
            if name not in names:
                raise DataError(
                    f"{self.other} has no column '{name}'{did_you_mean(name, [*names])} It has {', '.join(names)}."
                )
        candidates = [name for name in names if may_hold_identifiers(name)]
        if not (self.requested or candidates):
            raise DataError(
                f"{self.other} has no column that is called as identifiers or addresses are; it has "
                f"{', '.join(names)}. Name those to read: --column=NAME."
            )
        selected = self.requested or candidates
        self.overlap.columns = [*dict.fromkeys([*self.overlap.columns, *selected])]
        return selected


def find_overlap(
    birds: Path,
    other: Path,
    *,
    columns: Sequence[str] = (),
    numbers: Kind | None = None,
    progress: Callable[[int], object] = bool,
) -> OverlapResult:
    """Return the matches of a benchmark in a table, a list or a folder of them.

    `columns` are the columns to read. `numbers` is the kind of bare numbers in columns whose names do not show it. Rows
    are counted from 1, without the header. Raises DataError for unreadable tables and tables without identifiers.
    """
    result = OverlapResult(_read_identifiers(birds), other)
    for part in read_chunks(other, _ColumnSelector(other, columns, result)):
        for match in _matches(result.birds, part, numbers):
            result.add(match)
        result.rows += part.rows
        progress(part.rows)
    if not result.rows:
        raise DataError(f"{other} has no rows: nothing can be said about an overlap with nothing.")
    return result


def _matches(birds: _BenchmarkIdentifiers, part: TableChunk, numbers: Kind | None) -> Iterator[Match]:
    for column, cells in part.columns.items():
        kind = column_kind(column) or numbers
        if column == LINES and kind is None and part.first == 1:
            _check_list(cells[0].as_py())
        for index in birds.prefilter.candidates(cells):
            theirs = cells[index].as_py().strip()
            key = canonical_key(theirs, kind)
            for ours in birds.keys.get(key, ()):
                yield Match(ours.image, key, ours.text, theirs, part.first + index, column)


def _check_list(first: str) -> None:
    if first.replace(".", "", 1).isdecimal():
        raise DataError(
            f"The list begins with the number {first}, and nothing says whether it is a photo's or an observation's: "
            "say it, --numbers=photo or --numbers=observation."
        )


def write_matches(path: Path, result: OverlapResult) -> None:
    """Write one row for every matched image."""
    birds = result.birds
    rows = (
        {
            IMAGE: birds.images[match.image],
            OBSERVATION: birds.observations[match.image],
            "answerable": int(birds.answerable[match.image]),
            "match": EXACT if match.exact else NEAR,
            "by": match.kind,
            "key": match.key,
            "ours": match.benchmark_text,
            "row": match.row,
            "column": match.column,
            "theirs": match.other_text,
        }
        for match in result.matches
    )
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _MATCH_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def summary_lines(result: OverlapResult) -> Iterator[str]:
    """Yield the summary of an overlap, line by line."""
    columns, birds = ", ".join(result.columns) or "its lines", result.birds
    yield f"{birds.path}: {len(birds.images):,} images with {len(birds.keys):,} different identifiers"
    yield f"{result.other}: {result.rows:,} rows, read {columns}"
    yield ""
    yield from align_numbers([_HEADERS, *map(_cells, result.counts)])
    yield ""
    alone = len(result.best) - result.same_pictures
    yield f"Found by photo or address: {result.same_pictures:,}; by observation alone: {alone:,}."
    yield "exact: written alike; near: the same photo, observation or address in another form."


def _cells(count: _OverlapCount) -> tuple[str, ...]:
    low, high = count.interval
    share = f"{count.share:.2%}" if count.images else "–"
    return (
        *(count.label, f"{count.images:,}", f"{count.exact:,}", f"{count.near:,}", f"{count.matched:,}", share),
        f"{low:.2%} – {high:.2%}" if count.images else "–",
    )
