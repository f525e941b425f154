"""One choice of the division changed and all else equal; first the threshold, Table 2 of arXiv 2602.18094."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eyechart.protocol.options import is_fraction

from ..render import Row, Table
from ..runs import Runs
from .blocks import APART, OUT, Block, asked, called, entries_of, notes
from .cases import nothing, source
from .existence import TIME, numbers
from .measures import HEADS
from .pairs import INITIAL
from .progression import timed

UNKNOWN = -1.0  # the threshold of a division whose file does not say it
COMMAND = 'pytest -k "oodbench and existence" --eye-set=existence.benchmark=initial'
MAIN_NOTE = (
    "Main benchmark: flagged pairs were downsampled. The published table keeps all of them, the initial benchmark: add "
    "--eye-set=existence.benchmark=initial."
)
WHOLE = "Sets with an apostrophe are of the initial benchmark: all that was flagged, before a choice was made."


@dataclass(frozen=True)
class Compared:
    """One model's cases of one data set that differ in some choices alone, in the order of their values."""

    blocks: tuple[Block, ...]

    @property
    def split(self) -> str:
        """The data set, whose models stand in one table."""
        record = self.blocks[0].entries[0].record
        return f"{record.benchmark}/{record.split}"

    @property
    def initial(self) -> bool:
        """Whether all of these cases asked about the initial benchmark, which holds every flagged pair."""
        return all(block.initial for block in self.blocks)

    def named(self, name: str) -> str:
        """A set: of the initial benchmark, if all of these cases asked about it."""
        return name + INITIAL if self.initial else name


@dataclass(frozen=True)
class Ablation:
    """What a table compares: choices, the first of which has the values, how they are chosen and what is shown."""

    table: str
    choices: tuple[str, ...]
    head: str
    what: str
    command: str
    kept: Callable[[Sequence[Block]], Iterable[Sequence[Block]]]
    rows: Callable[[Compared, str], Iterator[Row]]
    said: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    def __call__(self, pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG002
        """A table a data set."""
        return [self.made(split, found) for split, found in self.homes(pool).items()]

    def homes(self, pool: Runs) -> dict[str, list[Compared]]:
        """What differs in the choices alone and has two values or more, by data set."""
        found: dict[str, list[Compared]] = {}
        for blocks in differing(pool, self.table, self.choices):
            for kept in self.kept(blocks):
                if len(kept) > 1:
                    each = Compared(tuple(kept))
                    found.setdefault(each.split, []).append(each)
        if not found:
            what = f"compares {self.what} of one model, all else equal"
            raise nothing(pool, self.table, what, f"{COMMAND} {self.command}")
        return found

    def named(self, found: Sequence[Compared]) -> Mapping[int, str]:
        """What stands in the column Model, by the block's identity."""
        return called([block for each in found for block in each.blocks], self.choices)

    def made(self, split: str, found: Sequence[Compared]) -> Table:
        """One data set's rows."""
        names, blocks = self.named(found), [block for each in found for block in each.blocks]
        return Table(
            f"{split}: {source(blocks[0].entries[0])}, {self.what}, existence (%), {benchmark(found)}",
            ("Model", self.head, "Data Type", "Num", *HEADS.values(), *self.more),
            tuple(row for each in found for row in self.rows(each, names[id(each.blocks[0])])),
            (
                *self.said,
                *whole(found),
                *[timed(entries_of(blocks))] * (TIME in self.more),
                *notes(blocks, self.choices),
            ),
            {"split": split},
        )


def benchmark(found: Sequence[Compared]) -> str:
    """Return which benchmark the numbers are about: the main one, the initial one, or either by model."""
    names = {"initial" if each.initial else "main" for each in found}
    return f"{' and '.join(sorted(names))} benchmark"


def whole(found: Sequence[Compared]) -> Iterator[str]:
    """Say what the marked sets are, and how to make the published table where there are others."""
    yield WHOLE
    if not all(each.initial for each in found):
        yield MAIN_NOTE


def differing(pool: Runs, name: str, choices: Sequence[str]) -> list[list[Block]]:
    """What differs in some choices alone, in the order of the runs; an initial benchmark replaces the main one."""
    found: dict[tuple[str, ...], dict[str, Block]] = {}
    for block in sorted(asked(pool, name), key=lambda block: block.initial):
        entry = block.entries[0]
        data = (entry.record.split, entry.record.data.fingerprint, str(entry.record.limit))
        key = (*data, block.model, block.mark, entry.prompt_settings_without((*APART, *choices)))
        found.setdefault(key, {})[entry.option(choices[0])] = block
    return [[*values.values()] for _, values in sorted(found.items(), key=lambda item: item[0])]


def threshold(block: Block) -> float:
    """The threshold of a division, below all others where a file does not say it."""
    said = block.entries[0].option("threshold")
    return float(said) if is_fraction(said) else UNKNOWN


def t2_rows(found: Compared, model: str) -> Iterator[Row]:
    """Both sets under every threshold."""
    for block in found.blocks:
        for name in map(found.named, OUT):
            said = threshold(block)
            yield (
                model,
                "unknown" if said == UNKNOWN else f"{said:g}",
                name + block.mark,
                *numbers(block, name, tuple(HEADS)),
            )


T2 = Ablation(
    "oodbench-T2", ("threshold",), "Threshold T", "thresholds", "--eye-set=existence.threshold=0.05,0.01,0.005",
    lambda blocks: [sorted(blocks, key=threshold, reverse=True)], t2_rows,
)  # fmt: skip
