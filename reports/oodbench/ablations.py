"""Ablations of the division: cases that differ in one option only, such as the threshold (arXiv 2602.18094, T2)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eyechart.protocol.options import is_fraction

from ..render import Row, Table
from ..runs import Runs
from .cases import nothing_to_show
from .measures import HEADS
from .model_cases import ModelCases, all_entries, existence_cases, measure_cells, model_labels, table_notes
from .pages import IGNORED_OPTIONS, TIME, source_name, time_note
from .pair_frames import INITIAL, OOD_SETS

UNKNOWN = -1.0  # the threshold of a division whose file does not record it
COMMAND = 'pytest -k "oodbench and existence" --eye-set=existence.division_scope=initial'
MAIN_NOTE = (
    "Main benchmark: flagged pairs were downsampled. The published table uses all of them (the initial benchmark): add "
    "--eye-set=existence.division_scope=initial."
)
INITIAL_NOTE = "Sets with an apostrophe are those of the initial benchmark: all flagged pairs, before downsampling."


@dataclass(frozen=True)
class AblationCases:
    """The cases of one model and data set that differ in the compared options only, in the order of their values."""

    blocks: tuple[ModelCases, ...]

    @property
    def split(self) -> str:
        """The benchmark and split."""
        record = self.blocks[0].entries[0].record
        return f"{record.benchmark}/{record.split}"

    @property
    def initial(self) -> bool:
        """Whether all cases asked about the initial benchmark, which has every flagged pair."""
        return all(block.initial for block in self.blocks)

    def set_label(self, name: str) -> str:
        """Return the name of a set, of the initial benchmark if all cases asked about it."""
        return name + INITIAL if self.initial else name


@dataclass(frozen=True)
class Ablation:
    """A table of an ablation: the compared options (the first one is varied), selection of cases, and rows."""

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
        """Return one table per data set."""
        return [self.build_table(split, series) for split, series in self.cases_by_split(pool).items()]

    def cases_by_split(self, pool: Runs) -> dict[str, list[AblationCases]]:
        """Return by data set the cases that differ in the compared options only and have two or more values."""
        by_split: dict[str, list[AblationCases]] = {}
        for blocks in differing_cases(pool, self.table, self.choices):
            for kept in self.select(blocks):
                if len(kept) > 1:
                    cases = AblationCases(tuple(kept))
                    by_split.setdefault(cases.split, []).append(cases)
        if not by_split:
            what = f"compares {self.subject} of one model, all else equal"
            raise nothing_to_show(pool, self.table, what, f"{COMMAND} {self.command}")
        return by_split

    def model_labels(self, series: Sequence[AblationCases]) -> Mapping[int, str]:
        """Return the text of the column Model, by the identity of the model's cases."""
        return model_labels([block for cases in series for block in cases.blocks], self.choices)

    def build_table(self, split: str, series: Sequence[AblationCases]) -> Table:
        """Return the table of one data set."""
        names, blocks = self.model_labels(series), [block for cases in series for block in cases.blocks]
        return Table(
            f"{split}: {source_name(blocks[0].entries[0])}, {self.subject}, existence (%), {benchmark_label(series)}",
            ("Model", self.head, "Data Type", "Num", *HEADS.values(), *self.extra_columns),
            tuple(row for cases in series for row in self.rows(cases, names[id(cases.blocks[0])])),
            (
                *self.notes,
                *benchmark_notes(series),
                *[time_note(all_entries(blocks))] * (TIME in self.extra_columns),
                *table_notes(blocks, self.choices),
            ),
            {"split": split},
        )


def benchmark_label(series: Sequence[AblationCases]) -> str:
    """Return which benchmark the estimates are about: main, initial, or both."""
    names = {"initial" if cases.initial else "main" for cases in series}
    return f"{' and '.join(sorted(names))} benchmark"


def benchmark_notes(series: Sequence[AblationCases]) -> Iterator[str]:
    """Yield what the marked sets are, and how to produce the published table if the main benchmark was used."""
    yield INITIAL_NOTE
    if not all(cases.initial for cases in series):
        yield MAIN_NOTE


def differing_cases(pool: Runs, name: str, choices: Sequence[str]) -> list[list[ModelCases]]:
    """Return the groups of cases that differ in some options only; the initial benchmark replaces the main one."""
    blocks_by_setting: dict[tuple[str, ...], dict[str, ModelCases]] = {}
    for block in sorted(existence_cases(pool, name), key=lambda block: block.initial):
        entry = block.entries[0]
        data = (entry.record.split, entry.record.data.fingerprint, str(entry.record.limit))
        key = (*data, block.model, block.suffix, entry.prompt_settings_without((*IGNORED_OPTIONS, *choices)))
        blocks_by_setting.setdefault(key, {})[entry.option(choices[0])] = block
    return [[*values.values()] for _, values in sorted(blocks_by_setting.items(), key=lambda item: item[0])]


def division_threshold(block: ModelCases) -> float:
    """Return the threshold of a division, -1 if its file does not record it."""
    threshold = block.entries[0].option("threshold")
    return float(threshold) if is_fraction(threshold) else UNKNOWN


def t2_rows(cases: AblationCases, model: str) -> Iterator[Row]:
    """Yield a row per threshold and OOD set."""
    for block in cases.blocks:
        for name in map(cases.set_label, OOD_SETS):
            threshold = division_threshold(block)
            yield (
                model,
                "unknown" if threshold == UNKNOWN else f"{threshold:g}",
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
