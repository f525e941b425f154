"""Rows come in any order, in any blocks and parts: what is sealed or compacted has the same bytes."""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.inference.store.arrays import ANSWERS_FILE, Block, append, compact, seal
from eyechart.inference.store.entries import DONE, Key, Store, StoreEntry, Writer
from eyechart.models.types import Identity

IDENTITY = Identity(
    backend="test", name="m", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={}
)
KEY = Key(kind="image_features", model=IDENTITY, data="d")
ROWS, WIDTH = 12, 3
VALUES = np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype(np.float32)
Blocks = Sequence[Sequence[int]]  # the rows of each block


@st.composite
def blocks(draw: st.DrawFn) -> Blocks:
    """All rows in any order, cut anywhere, and some of them twice."""
    rows = draw(st.permutations(range(ROWS))) + draw(st.lists(st.integers(0, ROWS - 1), max_size=3))
    cuts = sorted(draw(st.sets(st.integers(1, len(rows) - 1), max_size=6)))
    return [[*dict.fromkeys(rows[start:stop])] for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def write(root: Path, answered: Blocks, runs: int, finish: Callable[[Writer], None]) -> StoreEntry:
    """Write blocks in some runs, each with a part of its own; rows from 6 on were answered in batches of 2."""
    entry = Store(root).entry(KEY)
    for run in range(runs):
        with entry.lock_for_writing() as writer:
            for rows in answered[run::runs]:
                for some, batch in (([row for row in rows if row < 6], 0), ([row for row in rows if row >= 6], 2)):
                    if some:
                        append(writer, Block((*some,), WIDTH, batch), VALUES[some])
            if run == runs - 1:
                finish(writer)
    return entry


@settings(deadline=None)
@given(blocks(), st.integers(1, 3))
def test_sealed_rows_have_the_bytes_of_one_array(answered: Blocks, runs: int) -> None:
    whole = BytesIO()
    np.save(whole, VALUES)
    with TemporaryDirectory() as location:
        entry = write(Path(location) / "any", answered, runs, lambda writer: seal(writer, ROWS))
        assert (entry.folder / ANSWERS_FILE).read_bytes() == whole.getvalue()
        other = write(Path(location) / "ascending", [range(ROWS)], 1, lambda writer: seal(writer, ROWS))
        assert (entry.folder / DONE).read_bytes() == (other.folder / DONE).read_bytes()


@settings(deadline=None)
@given(blocks(), st.integers(1, 3))
def test_compacted_rows_have_the_bytes_of_ascending_ones(answered: Blocks, runs: int) -> None:
    with TemporaryDirectory() as location:
        entry = write(Path(location) / "any", answered, runs, compact)
        other = write(Path(location) / "ascending", [range(ROWS)], 1, compact)
        parts = [{path.name: path.read_bytes() for path in one.folder.glob("*.part")} for one in (entry, other)]
        assert parts[0] == parts[1]
