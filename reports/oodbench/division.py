"""The sizes of a division's sets, by data set and category: Figures 2 and 8 of arXiv 2602.18094."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from eyechart.oodbench.division import HARD_SAMPLES, ID, OOD_H, OOD_S

from ..render import Row, Table
from ..runs import CaseRun, Runs
from .cases import (
    EXISTENCE,
    PROGRESSION,
    data_notes,
    division_sha256,
    group_by_division,
    nothing_to_show,
    published_order,
    set_label,
    source_name,
    with_unique_titles,
)
from .pairs import INITIAL, Columns, read_artifact

DIVISION, ALL = "division", "all"
DIVISION_OPTIONS = (
    "detectors",
    "detector_templates",
    "threshold",
    "max_pairs",
    "absent_categories",
)  # options that define a division
OOD_SETS = (OOD_S, OOD_H)
Counts = Mapping[str, Counter[str]]


@dataclass(frozen=True)
class DivisionSizes:
    """The number of pairs per set and category of one data set; `initial`: before downsampling."""

    entry: CaseRun
    title: str
    initial: bool
    counts: Counts

    @property
    def source(self) -> str:
        """The name of the data set."""
        return source_name(self.entry)

    @property
    def total(self) -> Counter[str]:
        """The number of pairs per set, of all categories."""
        return sum(self.counts.values(), Counter())

    @property
    def without_hard_samples(self) -> dict[str, dict[str, int]]:
        """The counts without hard samples, which not all divisions have, and without categories that become empty."""
        kept = {
            name: {of: n for of, n in counts.items() if n and of != HARD_SAMPLES}
            for name, counts in self.counts.items()
        }
        return {name: counts for name, counts in kept.items() if counts}

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets of the division, including hard samples if there are any."""
        return (ID, *OOD_SETS, *[HARD_SAMPLES] * (HARD_SAMPLES in self.total))

    def set_label(self, name: str) -> str:
        """Return the name of a set in this benchmark."""
        return f"{name}{INITIAL}" if self.initial and name in OOD_SETS else set_label(name)

    def sorted_categories(self) -> list[tuple[str, Counter[str]]]:
        """Return the categories, those with most OOD pairs first."""
        return sorted(self.counts.items(), key=lambda item: (-count_ood(item[1]), item[0]))


def count_ood(counts: Counter[str]) -> int:
    """Return the number of OOD pairs."""
    return sum(counts[name] for name in OOD_SETS)


def f2(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 2 as a table: the main benchmark."""
    return sizes_tables(division_sizes(pool, "oodbench-F2", initial=False))


def f8(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 8 as a table: the initial benchmark, before downsampling."""
    return sizes_tables(division_sizes(pool, "oodbench-F8", initial=True))


def sizes_tables(groups: Sequence[Sequence[DivisionSizes]]) -> list[Table]:
    """Return one table per settings of the division."""
    return with_unique_titles(list(map(sizes_table, groups)), [[sizes.entry for sizes in of] for of in groups])


def division_sizes(pool: Runs, name: str, *, initial: bool) -> list[list[DivisionSizes]]:
    """Return the sizes of every division, grouped by settings."""
    groups: dict[tuple[object, ...], list[DivisionSizes]] = {}
    for entry, title in division_entries(pool):
        counts = read_artifact(entry.record, entry.folder, DIVISION, partial(count_by_category, initial=initial))
        sizes = DivisionSizes(entry, title, initial, counts)
        home = groups.setdefault((*map(entry.option, DIVISION_OPTIONS), entry.record.limit), [])
        if all(
            (sizes.title, sizes.without_hard_samples) != (other.title, other.without_hard_samples) for other in home
        ):
            home.append(sizes)
    if not groups:
        raise nothing_to_show(pool, name, "shows how large the sets of a division are", "pytest -k oodbench")
    return [sorted(every, key=lambda sizes: published_order(sizes.entry)) for every in groups.values()]


def division_entries(pool: Runs) -> Iterator[tuple[CaseRun, str]]:
    """Yield one case per division with the title of its data set, divisions with hard samples first.

    Of several lists of detectors that give the same division, the shortest one is shown.
    """
    groups = [group for protocol in (EXISTENCE, PROGRESSION) for group in group_by_division(pool, protocol)]
    entries: dict[tuple[str, str], tuple[CaseRun, str]] = {}
    for group in sorted(groups, key=lambda group: group.cases[0].option("hard_samples", "none") == "none"):
        case = group.cases[0]
        key = group.title, division_sha256(case)
        if DIVISION in case.record.artifacts and (
            key not in entries or count_detectors(case) < count_detectors(entries[key][0])
        ):
            entries[key] = case, group.title
    yield from entries.values()


def count_detectors(case: CaseRun) -> int:
    """Return the number of detectors of a case's division."""
    return len(case.option("detectors").split("+"))


def count_by_category(columns: Columns, *, initial: bool) -> Counts:
    """Return the number of pairs by category name and set."""
    counts: dict[str, Counter[str]] = {}
    for name, of, main in zip(columns["name"], columns["set"], columns["main"], strict=True):
        counts.setdefault(name, Counter())[of] += initial or main == "1"
    return counts


def sizes_table(data_sets: Sequence[DivisionSizes]) -> Table:
    """Return the table of one settings: the total of every data set, then its categories."""
    names = max((sizes.sets for sizes in data_sets), key=len)
    rows: list[Row] = []
    if len(data_sets) > 1:
        rows.append((ALL, ALL, *size_cells(sum((sizes.total for sizes in data_sets), Counter()), names)))
    for sizes in data_sets:
        rows.append((sizes.source, ALL, *size_cells(sizes.total, names)))
        rows += [(sizes.source, category, *size_cells(counts, names)) for category, counts in sizes.sorted_categories()]
    which = "initial" if data_sets[0].initial else "main"
    settings = ", ".join(f"{name} {data_sets[0].entry.option(name) or '—'}" for name in DIVISION_OPTIONS)
    meaning = "Numbers of image–category pairs; two opposite questions are asked about each pair."
    return Table(
        f"OODBench: sizes of the {which} benchmark's sets by category",
        ("Data", "Category", *map(data_sets[0].set_label, names), "OOD"),
        tuple(rows),
        (meaning, f"Divided by: {settings}.", *data_notes([sizes.entry for sizes in data_sets])),
        {"benchmark": which, "divided": settings},
    )


def size_cells(counts: Counter[str], names: Sequence[str]) -> list[int]:
    """Return the counts of a row, with the total of OOD pairs last."""
    return [*(counts[name] for name in names), count_ood(counts)]
