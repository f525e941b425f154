"""The genera of the images of RealBirdID: Table 5 and Figure 3 of arXiv 2603.27033."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..oodbench.cases import nothing_to_show
from ..oodbench.pairs import Columns, parse_integers, read_artifact
from ..render import FRACTION, NumberCell, Row, Table
from ..runs import CaseRun, ComparableCases, Runs, collect_notes
from .model_families import describe_data

GENERA = "genera"
RARE_LIMIT = 5  # unanswerable images of a genus that is not rare, as the caption of Figure 3 has it
ANSWERABLE, UNANSWERABLE = "A", "UA"
COUNTED = "Counts of the data set's own images, which no sampling stands behind: they have no interval."
SHARES = "freq: the genus' share of the {} images; cdf: of all down to this row."


@dataclass(frozen=True)
class Genus:
    """A genus with its numbers of species and of answerable and unanswerable images."""

    name: str
    species: int
    answerable: int
    unanswerable: int


@dataclass(frozen=True)
class Genera:
    """The genera of one data set."""

    group: ComparableCases
    genera: tuple[Genus, ...]

    @property
    def entry(self) -> CaseRun:
        """A case of the data set."""
        return self.group.cases[0]

    def ordered(self, name: str) -> list[Genus]:
        """Return the genera with images of a set, in descending order of images, then by name."""
        some = [genus for genus in self.genera if image_count(genus, name)]
        return sorted(some, key=lambda genus: (-image_count(genus, name), genus.name))

    @cached_property
    def totals(self) -> dict[str, int]:
        """The number of images of each set."""
        return {name: sum(image_count(genus, name) for genus in self.genera) for name in (ANSWERABLE, UNANSWERABLE)}

    def shares(self, name: str) -> Iterator[tuple[Genus, NumberCell, NumberCell]]:
        """Yield each genus of a set with its share of the images and the cumulative share."""
        cumulative, total = 0, self.totals[name]
        for genus in self.ordered(name):
            cumulative += image_count(genus, name)
            yield genus, fraction(image_count(genus, name), total), fraction(cumulative, total)

    @property
    def concentration_note(self) -> str:
        """A note on how few genera have most unanswerable images, as in the caption of Figure 3."""
        many = [genus.unanswerable for genus in self.genera if genus.unanswerable > RARE_LIMIT]
        total = self.totals[UNANSWERABLE]
        share = 100 * sum(many) / total if total else 0.0
        return (
            f"{share:.0f} % of the {total:,} unanswerable images are of the {len(many)} genera that have more "
            f"than {RARE_LIMIT} each; {len(self.ordered(UNANSWERABLE))} genera have any, "
            f"{len(self.ordered(ANSWERABLE))} have answerable ones."
        )


def fraction(part: int, total: int) -> NumberCell:
    """Return a proportion of the images of the data set."""
    return NumberCell(part / total, total, style=FRACTION)


def image_count(genus: Genus, name: str) -> int:
    """Return the number of images of a set that a genus has."""
    return genus.answerable if name == ANSWERABLE else genus.unanswerable


def collect_genera(pool: Runs, name: str) -> list[Genera]:
    """Return the genera of every distinct data set; raises ReportError if there are none."""
    genera: dict[tuple[str, str], Genera] = {}
    for group in pool.groups:
        for entry in group.cases:
            if (file := entry.record.artifacts.get(GENERA)) and (group.title, file.sha256) not in genera:
                rows = read_artifact(entry.record, entry.folder, GENERA, parse_genera)
                genera[group.title, file.sha256] = Genera(group.select([entry]), rows)
    if not genera:
        raise nothing_to_show(pool, name, "shows which genera images are of", "pytest -k realbirdid")
    return list(genera.values())


def parse_genera(columns: Columns) -> tuple[Genus, ...]:
    """Return the genera of the csv."""
    numbers = [parse_integers(columns[name]).tolist() for name in ("species", "answerable", "unanswerable")]
    return tuple(map(Genus, columns["genus"], *numbers))


def t5(pool: Runs, _: str | None) -> list[Table]:
    """Return Table 5: the genera of unanswerable images, most common first."""
    tables = [genera for genera in collect_genera(pool, "realbirdid-T5") if genera.totals[UNANSWERABLE]]
    if not tables:
        what = "shows which genera unanswerable images are of, and all that were asked about are answerable"
        raise nothing_to_show(
            pool, "realbirdid-T5", what, "pytest -k realbirdid --eye-data=ROOT, with unanswerable birds"
        )
    return [t5_table(genera) for genera in tables]


def t5_table(genera: Genera) -> Table:
    """Return the table of one data set."""
    rows = [(g.name, g.unanswerable, freq, cdf, g.species) for g, freq, cdf in genera.shares(UNANSWERABLE)]
    columns = ("genus", "count", "freq", "cdf", "species")
    notes = ("count: unanswerable images; species: how many the genus has.", SHARES.format("unanswerable"))
    return build_table(genera, "genera of the unanswerable images", columns, rows, *notes)


def f3(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 3 as a table: the distribution of images over genera."""
    return [f3_table(genera) for genera in collect_genera(pool, "realbirdid-F3")]


def f3_table(genera: Genera) -> Table:
    """Return the table of one data set, first answerable, then unanswerable images."""
    rows = [
        (name, place, genus.name, image_count(genus, name), freq, cdf, genus.species)
        for name in (ANSWERABLE, UNANSWERABLE)
        for place, (genus, freq, cdf) in enumerate(genera.shares(name), 1)
    ]
    columns = ("Set", "Place", "genus", "count", "freq", "cdf", "species")
    notes = (genera.concentration_note, SHARES.format("set's"))
    return build_table(genera, "images over genera, answerable (A) and unanswerable (UA)", columns, rows, *notes)


def build_table(genera: Genera, what: str, columns: Sequence[str], rows: Sequence[Row], *notes: str) -> Table:
    """Return a table of one data set with its notes."""
    all_notes = (*notes, COUNTED, describe_data(genera.entry), *collect_notes([genera.entry]))
    title = genera.group.title
    return Table(f"{title}: {what}", tuple(columns), tuple(rows), all_notes, {"split": title})
