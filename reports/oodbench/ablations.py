"""One choice of the division changed and all else equal; first the threshold, Table 2 of arXiv 2602.18094."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eyechart.protocol.options import is_fraction

from ..render import Row, Table
from ..runs import Runs
from .cases import nothing_to_show, source_name
from .existence import TIME, measure_cells
from .measures import HEADS
from .model_cases import IGNORED_OPTIONS, OOD_SETS, ModelCases, all_entries, existence_cases, model_labels, table_notes
from .pairs import INITIAL
from .progression import time_note

UNKNOWN = -1.0  # the threshold of a division whose file does not say it
COMMAND = 'pytest -k "oodbench and existence" --eye-set=existence.division_scope=initial'
MAIN_NOTE = (
    "Main benchmark: flagged pairs were downsampled. The published table keeps all of them, the initial benchmark: add "
    "--eye-set=existence.division_scope=initial."
)
INITIAL_NOTE = "Sets with an apostrophe are of the initial benchmark: all that was flagged, before a choice was made."


@dataclass(frozen=True)
class AblationCases:
    """One model's cases of one data set that differ in some choices alone, in the order of their values."""

    blocks: tuple[ModelCases, ...]

    @property
    def split(self) -> str:
        """The data set, whose models stand in one table."""
        record = self.blocks[0].entries[0].record
        return f"{record.benchmark}/{record.split}"

    @property
    def initial(self) -> bool:
        """Whether all of these cases asked about the initial benchmark, which holds every flagged pair."""
        return all(block.initial for block in self.blocks)

    def set_label(self, name: str) -> str:
        """A set: of the initial benchmark, if all of these cases asked about it."""
        return name + INITIAL if self.initial else name


@dataclass(frozen=True)
class Ablation:
    """What a table compares: choices, the first of which has the values, how they are chosen and what is shown."""

    table: str
    choices: tuple[str, ...]
    head: str
    subject: str
    command: str
    select: Callable[[Sequence[ModelCases]], Iterable[Sequence[ModelCases]]]
    rows: Callable[[AblationCases, str], Iterator[Row]]
    notes: tuple[str, ...] = ()
    extra_columns: tuple[str, ...] = ()

    def __call__(self, pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG002
        """A table a data set."""
        return [self.build_table(split, found) for split, found in self.cases_by_split(pool).items()]

    def cases_by_split(self, pool: Runs) -> dict[str, list[AblationCases]]:
        """What differs in the choices alone and has two values or more, by data set."""
        found: dict[str, list[AblationCases]] = {}
        for blocks in differing_cases(pool, self.table, self.choices):
            for kept in self.select(blocks):
                if len(kept) > 1:
                    each = AblationCases(tuple(kept))
                    found.setdefault(each.split, []).append(each)
        if not found:
            what = f"compares {self.subject} of one model, all else equal"
            raise nothing_to_show(pool, self.table, what, f"{COMMAND} {self.command}")
        return found

    def model_labels(self, found: Sequence[AblationCases]) -> Mapping[int, str]:
        """What stands in the column Model, by the block's identity."""
        return model_labels([block for each in found for block in each.blocks], self.choices)

    def build_table(self, split: str, found: Sequence[AblationCases]) -> Table:
        """One data set's rows."""
        names, blocks = self.model_labels(found), [block for each in found for block in each.blocks]
        return Table(
            f"{split}: {source_name(blocks[0].entries[0])}, {self.subject}, existence (%), {benchmark_label(found)}",
            ("Model", self.head, "Data Type", "Num", *HEADS.values(), *self.extra_columns),
            tuple(row for each in found for row in self.rows(each, names[id(each.blocks[0])])),
            (
                *self.notes,
                *benchmark_notes(found),
                *[time_note(all_entries(blocks))] * (TIME in self.extra_columns),
                *table_notes(blocks, self.choices),
            ),
            {"split": split},
        )


def benchmark_label(found: Sequence[AblationCases]) -> str:
    """Return which benchmark the numbers are about: the main one, the initial one, or either by model."""
    names = {"initial" if each.initial else "main" for each in found}
    return f"{' and '.join(sorted(names))} benchmark"


def benchmark_notes(found: Sequence[AblationCases]) -> Iterator[str]:
    """Say what the marked sets are, and how to make the published table where there are others."""
    yield INITIAL_NOTE
    if not all(each.initial for each in found):
        yield MAIN_NOTE


def differing_cases(pool: Runs, name: str, choices: Sequence[str]) -> list[list[ModelCases]]:
    """What differs in some choices alone, in the order of the runs; an initial benchmark replaces the main one."""
    found: dict[tuple[str, ...], dict[str, ModelCases]] = {}
    for block in sorted(existence_cases(pool, name), key=lambda block: block.initial):
        entry = block.entries[0]
        data = (entry.record.split, entry.record.data.fingerprint, str(entry.record.limit))
        key = (*data, block.model, block.suffix, entry.prompt_settings_without((*IGNORED_OPTIONS, *choices)))
        found.setdefault(key, {})[entry.option(choices[0])] = block
    return [[*values.values()] for _, values in sorted(found.items(), key=lambda item: item[0])]


def division_threshold(block: ModelCases) -> float:
    """The threshold of a division, below all others where a file does not say it."""
    said = block.entries[0].option("threshold")
    return float(said) if is_fraction(said) else UNKNOWN


def t2_rows(found: AblationCases, model: str) -> Iterator[Row]:
    """Both sets under every threshold."""
    for block in found.blocks:
        for name in map(found.set_label, OOD_SETS):
            said = division_threshold(block)
            yield (
                model,
                "unknown" if said == UNKNOWN else f"{said:g}",
                name + block.suffix,
                *measure_cells(block, name, tuple(HEADS)),
            )


T2 = Ablation(
    "oodbench-T2",
    ("threshold",),
    "Threshold T",
    "thresholds",
    "--eye-set=existence.threshold=0.05,0.01,0.005",
    lambda blocks: [sorted(blocks, key=division_threshold, reverse=True)],
    t2_rows,
)
