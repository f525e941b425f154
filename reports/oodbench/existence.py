"""What models say of pairs in and out of distribution: Tables 1, 10 to 13 and 18 of arXiv 2602.18094."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from ..render import Cell, NumberCell, Row, Table
from ..runs import Runs
from .blocks import OUT, WIDE, Block, asked, called, made_of, notes, pooled, tabled
from .cases import SOURCES, nothing, source
from .measures import HEADS, RATES, measured
from .pairs import INITIAL
from .progression import timed, took

TIME = "Time"
COLUMNS = ("Model", "Data Type", "Num", *HEADS.values())
CHANCE: tuple[Cell, ...] = (*(NumberCell(0.5) for name in HEADS if name != "mcc"), NumberCell(0.0))
OF_CHANCE = ("Random Chance", "ID/OOD-S/OOD-H", None)
BOTH = " --eye-set=existence.reasoning=direct,cot --eye-data=ROOT"
APOSTROPHE = (
    "Rows with an apostrophe: the initial benchmark, all that was flagged before a choice was made; the main "
    "benchmark's sets are part of these and have no time of their own."
)


def t1(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """Table 1: every model by set, all data sets pooled."""
    return made_of(tabled(pooled(asked(pool, "oodbench-T1"))), t1_table)


def t1_table(blocks: Sequence[Block]) -> Table:
    """The models that were asked about the same pairs of the same data sets."""
    names = called(blocks)
    data = joined(blocks[0])
    rows = [
        (names[id(b)], f"{name}{b.mark}", *numbers(b, name)) for b in blocks for name in b.sets() if name not in WIDE
    ]
    said = f"All answers of {data} are pooled: each data set counts by its Num."
    return Table(
        f"OODBench: existence (%), {data}",
        (*COLUMNS, *RATES.values()),
        ((*OF_CHANCE, *CHANCE, NumberCell(0.5), None), *rows),
        (said, *notes(blocks)),
        {"data": data, "pairs": blocks[0].about[0][1][:12]},
    )


def joined(block: Block) -> str:
    """The data sets of a table: `COCO + LVIS`."""
    return " + ".join(map(source, block.entries))


def numbers(block: Block, name: str, heads: Sequence[str] = (*HEADS, *RATES)) -> list[Cell]:
    """How many answers, then each number with its interval."""
    counts = block.counts(name)
    found = measured(counts, block.strata(name), block.images(name), block.seed)
    return [int(counts[:, :4].sum()), *(found[head] for head in heads)]


def of_source(name: str, wanted: str) -> Callable[[Runs, str | None], list[Table]]:
    """Tables 10 to 13: one data set, the initial benchmark where it was asked, and the time."""

    def made(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
        found = [block for block in asked(pool, name) if source(block.entries[0]) == wanted]
        if not found:
            what, command = f"shows what models see in {wanted}", f'pytest -k "oodbench and existence"{BOTH}'
            raise nothing(pool, name, what, f"{command}, where ROOT holds {wanted}")
        return made_of(tabled(found), partial(source_table, wanted=wanted))

    return made


def source_table(blocks: Sequence[Block], wanted: str) -> Table:
    """One data set and division."""
    names = called(blocks)
    rows = [(names[id(b)], f"{name}{b.mark}", *numbers(b, name), time(b, name)) for b in blocks for name in b.sets()]
    wide = any(block.initial for block in blocks)
    said = (*[APOSTROPHE] * wide, timed([block.entries[0] for block in blocks]))
    record = blocks[0].entries[0].record
    return Table(
        f"{record.benchmark}/{record.split}: {wanted}, existence (%)",
        (*COLUMNS, *RATES.values(), TIME),
        ((*OF_CHANCE, *CHANCE, NumberCell(0.5), None, None), *rows),
        (*said, *notes(blocks)),
        {"split": f"{record.benchmark}/{record.split}", "pairs": blocks[0].about[0][1][:12]},
    )


def time(block: Block, name: str) -> str | None:
    """How long a set took; of an initial benchmark its whole sets were asked, not those of the main one."""
    if name in WIDE:
        return took(block.entries[0], name.removesuffix(INITIAL))
    return None if block.initial and name in OUT else took(block.entries[0], name)


def t18(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """Table 18: models of several scales beneath one another, data set by data set."""
    singles = [block for block in asked(pool, "oodbench-T18") if not block.mark]
    found = sorted((of for of in tabled(singles) if several(of)), key=lambda of: of[0].entries[0].record.split)
    if not found:
        what = "compares models of several scales, asked about the same pairs without reasoning"
        raise nothing(pool, "oodbench-T18", what, 'pytest -k "oodbench and existence" --eye-model=A --eye-model=B')
    return [t18_table(found)]


def several(blocks: Sequence[Block]) -> bool:
    """Whether there is something to compare."""
    return len({block.model for block in blocks}) > 1


def t18_table(found: Sequence[Sequence[Block]]) -> Table:
    """A section a data set; in a csv the data set is a column."""
    sections = {title: list(scale_rows(blocks)) for title, blocks in titled(found)}
    blank = ("",) * len(COLUMNS[1:])
    chance: Row = ("Random Chance", "-", None, *CHANCE)
    rows = [row for title, section in sections.items() for row in ((title, *blank), *section)]
    plain = [(title, *row) for title, section in sections.items() for row in section]
    said = tuple(dict.fromkeys(note for blocks in found for note in notes(blocks)))
    table = partial(Table, "OODBench: models of several scales, existence (%)")
    data = table(("Data", *COLUMNS), (("", *chance), *plain))
    return table(COLUMNS, (chance, *rows), said, data=data)


def titled(found: Sequence[Sequence[Block]]) -> Iterator[tuple[str, Sequence[Block]]]:
    """Each data set with its name, and with its number where it has several divisions."""
    seen: dict[str, int] = {}
    for blocks in found:
        name = source(blocks[0].entries[0])
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})", blocks


def scale_rows(blocks: Sequence[Block]) -> Iterator[Row]:
    """The sets out of distribution of every model."""
    names = called(blocks)
    for block in blocks:
        for name in block.sets():
            if name in (*OUT, *WIDE):
                yield names[id(block)], name, *numbers(block, name, tuple(HEADS))


TABLES: Mapping[str, Callable[[Runs, str | None], list[Table]]] = {
    "oodbench-T1": t1,
    **{
        f"oodbench-T{place}": of_source(f"oodbench-T{place}", wanted)
        for place, wanted in enumerate(SOURCES.values(), 10)
    },
    "oodbench-T18": t18,
}
