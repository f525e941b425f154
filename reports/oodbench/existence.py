"""Measures of existence by set: Tables 1, 10 to 13 and 18 of arXiv 2602.18094."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from ..render import Cell, NumberCell, Row, Table
from ..runs import Runs
from .cases import SOURCES, nothing_to_show, source_name
from .measures import HEADS, RATES, measure_numbers
from .model_cases import (
    INITIAL_SETS,
    OOD_SETS,
    ModelCases,
    build_tables,
    existence_cases,
    group_by_pairs,
    model_labels,
    pool_data_sets,
    table_notes,
)
from .pairs import INITIAL
from .progression import set_time, time_note

TIME = "Time"
COLUMNS = ("Model", "Data Type", "Num", *HEADS.values())
CHANCE_CELLS: tuple[Cell, ...] = (*(NumberCell(0.5) for name in HEADS if name != "mcc"), NumberCell(0.0))
CHANCE_HEAD = ("Random Chance", "ID/OOD-S/OOD-H", None)
BOTH = " --eye-set=existence.reasoning=direct,cot --eye-data=ROOT"
APOSTROPHE = (
    "Rows with an apostrophe: the initial benchmark, all flagged pairs before downsampling; it contains the sets of "
    "the main benchmark, for which no separate time is measured."
)


def t1(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """Return Table 1: every model and set, all data sets pooled."""
    return build_tables(group_by_pairs(pool_data_sets(existence_cases(pool, "oodbench-T1"))), t1_table)


def t1_table(blocks: Sequence[ModelCases]) -> Table:
    """Return the table of models with the same pairs of the same data sets."""
    names = model_labels(blocks)
    data = data_sets_label(blocks[0])
    rows = [
        (names[id(b)], f"{name}{b.suffix}", *measure_cells(b, name))
        for b in blocks
        for name in b.sets()
        if name not in INITIAL_SETS
    ]
    pooling_note = f"The answers of {data} are pooled: each data set is weighted by its Num."
    return Table(
        f"OODBench: existence (%), {data}",
        (*COLUMNS, *RATES.values()),
        ((*CHANCE_HEAD, *CHANCE_CELLS, NumberCell(0.5), None), *rows),
        (pooling_note, *table_notes(blocks)),
        {"data": data, "pairs": blocks[0].pairs_key[0][1][:12]},
    )


def data_sets_label(block: ModelCases) -> str:
    """Return the data sets of a table, such as `COCO + LVIS`."""
    return " + ".join(map(source_name, block.entries))


def measure_cells(block: ModelCases, name: str, heads: Sequence[str] = (*HEADS, *RATES)) -> list[Cell]:
    """Return the number of answers, then each measure with its interval."""
    counts = block.counts(name)
    numbers = measure_numbers(counts, block.strata(name), block.images(name), block.seed)
    return [int(counts[:, :4].sum()), *(numbers[head] for head in heads)]


def source_tables(name: str, wanted: str) -> Callable[[Runs, str | None], list[Table]]:
    """Return the function of Tables 10 to 13: one data set, the initial benchmark if available, and the time."""

    def build(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
        blocks = [block for block in existence_cases(pool, name) if source_name(block.entries[0]) == wanted]
        if not blocks:
            what, command = f"shows the existence measures on {wanted}", f'pytest -k "oodbench and existence"{BOTH}'
            raise nothing_to_show(pool, name, what, f"{command}, where ROOT holds {wanted}")
        return build_tables(group_by_pairs(blocks), partial(source_table, wanted=wanted))

    return build


def source_table(blocks: Sequence[ModelCases], wanted: str) -> Table:
    """Return the table of one data set and division."""
    names = model_labels(blocks)
    rows = [
        (names[id(b)], f"{name}{b.suffix}", *measure_cells(b, name), model_set_time(b, name))
        for b in blocks
        for name in b.sets()
    ]
    wide = any(block.initial for block in blocks)
    notes = (*[APOSTROPHE] * wide, time_note([block.entries[0] for block in blocks]))
    record = blocks[0].entries[0].record
    return Table(
        f"{record.benchmark}/{record.split}: {wanted}, existence (%)",
        (*COLUMNS, *RATES.values(), TIME),
        ((*CHANCE_HEAD, *CHANCE_CELLS, NumberCell(0.5), None, None), *rows),
        (*notes, *table_notes(blocks)),
        {"split": f"{record.benchmark}/{record.split}", "pairs": blocks[0].pairs_key[0][1][:12]},
    )


def model_set_time(block: ModelCases, name: str) -> str | None:
    """Return the time of a set; for the initial benchmark only its whole sets are timed."""
    if name in INITIAL_SETS:
        return set_time(block.entries[0], name.removesuffix(INITIAL))
    return None if block.initial and name in OOD_SETS else set_time(block.entries[0], name)


def t18(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """Return Table 18: models of several scales, data set by data set."""
    singles = [block for block in existence_cases(pool, "oodbench-T18") if not block.suffix]
    tables = sorted(
        (of for of in group_by_pairs(singles) if has_several_models(of)), key=lambda of: of[0].entries[0].record.split
    )
    if not tables:
        what = "compares models of several scales on the same pairs without chain of thought"
        raise nothing_to_show(
            pool, "oodbench-T18", what, 'pytest -k "oodbench and existence" --eye-model=A --eye-model=B'
        )
    return [t18_table(tables)]


def has_several_models(blocks: Sequence[ModelCases]) -> bool:
    """Return whether there are several models."""
    return len({block.model for block in blocks}) > 1


def t18_table(tables: Sequence[Sequence[ModelCases]]) -> Table:
    """Return a table with one section per data set; in CSV files the data set is a column."""
    sections = {title: list(scale_rows(blocks)) for title, blocks in section_titles(tables)}
    blank = ("",) * len(COLUMNS[1:])
    chance: Row = ("Random Chance", "-", None, *CHANCE_CELLS)
    rows = [row for title, section in sections.items() for row in ((title, *blank), *section)]
    plain = [(title, *row) for title, section in sections.items() for row in section]
    notes = tuple(dict.fromkeys(note for blocks in tables for note in table_notes(blocks)))
    table = partial(Table, "OODBench: models of several scales, existence (%)")
    data = table(("Data", *COLUMNS), (("", *chance), *plain))
    return table(COLUMNS, (chance, *rows), notes, data=data)


def section_titles(tables: Sequence[Sequence[ModelCases]]) -> Iterator[tuple[str, Sequence[ModelCases]]]:
    """Yield each data set with its name, numbered if it has several divisions."""
    counts: dict[str, int] = {}
    for blocks in tables:
        name = source_name(blocks[0].entries[0])
        counts[name] = counts.get(name, 0) + 1
        yield name if counts[name] == 1 else f"{name} ({counts[name]})", blocks


def scale_rows(blocks: Sequence[ModelCases]) -> Iterator[Row]:
    """Yield a row per model and OOD set."""
    names = model_labels(blocks)
    for block in blocks:
        for name in block.sets():
            if name in (*OOD_SETS, *INITIAL_SETS):
                yield names[id(block)], name, *measure_cells(block, name, tuple(HEADS))


TABLES: Mapping[str, Callable[[Runs, str | None], list[Table]]] = {
    "oodbench-T1": t1,
    **{
        f"oodbench-T{place}": source_tables(f"oodbench-T{place}", wanted)
        for place, wanted in enumerate(SOURCES.values(), 10)
    },
    "oodbench-T18": t18,
}
