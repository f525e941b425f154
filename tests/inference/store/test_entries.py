"""The store: append-only parts, torn tails, whole answers, and sentences when something is wrong."""

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from eyechart.errors import StoreError
from eyechart.inference.store.arrays import Block, append, compact, gather, load, seal, stored_rows
from eyechart.inference.store.entries import Key, Store, StoreEntry, Writer, _frame_block, scan_blocks
from eyechart.models.types import Identity

IDENTITY = Identity(
    backend="test", name="m", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={}
)
KEY = Key(kind="image_features", model=IDENTITY, data="d")
ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def write(store: Store) -> Callable[..., StoreEntry]:
    """Write the blocks given by their bounds; finish when all rows are there."""

    def write(*bounds: tuple[int, int], whole: bool = True) -> StoreEntry:
        entry = store.entry(KEY)
        with entry.lock_for_writing() as writer:
            for start, stop in bounds:
                append(writer, Block((*range(start, stop),), 2), ROWS[start:stop])
            if whole:
                seal(writer, len(ROWS))
        return entry

    return write


def test_answers_come_back_as_they_were_given(write: Callable[..., StoreEntry]) -> None:
    answers = load(write((0, 4), (4, 6)))
    assert np.array_equal(answers.values, ROWS)
    assert answers.errors == {}


def test_an_interrupted_entry_ends_byte_for_byte_as_an_uninterrupted_one(
    write: Callable[..., StoreEntry], tmp_path: Path, store: Store
) -> None:
    write((0, 2), whole=False)
    write((2, 4), whole=False)
    resumed = write((4, 6)).folder
    store.root = tmp_path / "other"
    whole = write((0, 2), (2, 4), (4, 6)).folder
    assert contents(resumed) == contents(whole)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}


def test_the_parts_are_gone_when_all_is_answered(write: Callable[..., StoreEntry]) -> None:
    assert not list(write((0, 6)).folder.glob("*.part"))


@pytest.mark.parametrize("cut", [1, 5, 30, 45])
def test_a_torn_tail_is_asked_again_and_the_rest_is_kept(write: Callable[..., StoreEntry], cut: int) -> None:
    part = write((0, 2), (2, 4), whole=False).folder / "00000.part"
    part.write_bytes(part.read_bytes()[:-cut])
    assert stored_rows(Writer(part.parent)) == {0, 1}


BLOCKS = [(b"header %d" % number, b"EYE1 is no block " * number) for number in range(4)]
PART = b"".join(_frame_block(*block) for block in BLOCKS)


def test_a_flipped_bit_loses_its_own_block_alone() -> None:
    ends, wrong = np.cumsum([len(_frame_block(*block)) for block in BLOCKS]), []
    for bit in range(0, 8 * len(PART), 7):
        data = bytearray(PART)
        data[bit // 8] ^= 1 << bit % 8
        hit = int(np.searchsorted(ends, bit // 8, side="right"))
        if list(scan_blocks(BytesIO(data))) != [block for number, block in enumerate(BLOCKS) if number != hit]:
            wrong.append(bit)
    assert wrong == []


@pytest.mark.parametrize("filler", [b"", b"\0" * 70_000, b"EYE1" * 20_000, b"EYE" * 40_000])
def test_blocks_behind_what_is_no_block_are_found(filler: bytes) -> None:
    assert list(scan_blocks(BytesIO(PART + filler + PART + filler))) == BLOCKS * 2


def test_rows_behind_a_flipped_bit_are_not_asked_again(write: Callable[..., StoreEntry]) -> None:
    entry = write((0, 2), (2, 4), (4, 6), whole=False)
    part = entry.folder / "00000.part"
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    assert stored_rows(entry) == {0, 1, 4, 5}


def test_a_format_that_is_no_text_is_refused(store: Store, write: Callable[..., StoreEntry]) -> None:
    write((0, 6))
    (store.root / "format").write_bytes(b"\xff\xfe1\n")
    with pytest.raises(StoreError, match=r"has format .*reads format 1.*--eye-store"):
        store.entry(KEY)


def test_damaged_answers_are_refused_by_name(write: Callable[..., StoreEntry]) -> None:
    entry = write((0, 6))
    path = entry.folder / "answers.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    with pytest.raises(StoreError, match=rf"{path}.*damaged.*Delete the folder"):
        load(entry)


def test_a_store_of_another_format_is_refused(store: Store, write: Callable[..., StoreEntry]) -> None:
    write((0, 6))
    (store.root / "format").write_text("99\n")
    with pytest.raises(StoreError, match=r"format '99'.*--eye-store"):
        store.entry(KEY)


def test_a_full_disk_keeps_what_was_written(write: Callable[..., StoreEntry]) -> None:
    with write((0, 2), whole=False).lock_for_writing() as writer:
        writer.part = Path("/dev/full").open("ab")  # noqa: SIM115  # the writer closes it
        with pytest.raises(StoreError, match=r"No space left.*--eye-store"):
            append(writer, Block((2, 3), 2), ROWS[2:4])
    assert np.array_equal(load(write((2, 4), (4, 6))).values, ROWS)


READ_ONLY = """
import os, sys, tempfile
from pathlib import Path
import test_entries
from eyechart.errors import StoreError
from eyechart.inference.store.entries import Store
with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o555)
    if os.getuid() == 0:
        os.seteuid(65534)  # root may write anywhere
    try:
        Store(Path(folder) / "store").entry(test_entries.KEY).lock_for_writing().__enter__()
    except StoreError as error:
        print(error)
    finally:
        os.seteuid(os.getuid())
"""


@pytest.mark.deep
def test_a_read_only_store_is_refused_with_the_remedy() -> None:
    said = run(READ_ONLY)
    assert "Permission denied" in said
    assert "--eye-store" in said


def run(code: str) -> str:
    here = Path(__file__).parent
    return subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True).stdout


def test_complete_answers_are_read_from_a_store_that_cannot_be_written(write: Callable[..., StoreEntry]) -> None:
    entry = write((0, 6))
    for path in (*entry.folder.iterdir(), entry.folder):
        path.chmod(0o555)
    assert entry.complete
    assert np.array_equal(load(entry).values, ROWS)


HOLD = """
import sys
from pathlib import Path
import test_entries as t
from eyechart.inference.store.arrays import Block, append, seal
from eyechart.inference.store.entries import Store
with Store(Path(sys.argv[1])).entry(t.KEY).lock_for_writing() as writer:
    print("holding", flush=True)
    sys.stdin.readline()
    append(writer, Block((*range(6),), 2), t.ROWS)
    seal(writer, 6)
"""


@pytest.mark.deep
def test_a_second_run_waits_for_the_first_and_finds_its_answers(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parent, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == "holding\n"
        said: list[str] = []

        def waiting(text: str) -> None:
            said.append(text)
            print("go", file=other.stdin, flush=True)

        with (entry := Store(tmp_path, waiting).entry(KEY)).lock_for_writing():
            assert entry.complete
    assert "another run is answering m" in said[0]


@pytest.mark.parametrize("order", ["ascending", "any"])
@pytest.mark.parametrize("kept", ["sealed", "compacted"])
def test_the_answers_are_never_all_in_memory(store: Store, order: str, kept: str) -> None:
    rows, width = 4096, 1024
    entry = store.entry(KEY)
    numbers = np.arange(rows) if order == "ascending" else np.random.default_rng(0).permutation(rows)
    with entry.lock_for_writing() as writer:
        for some in numbers.reshape(-1, 64):
            append(writer, Block((*some.tolist(),), width), np.repeat(some[:, None].astype(np.float32), width, axis=1))
        tracemalloc.start()
        try:
            seal(writer, rows) if kept == "sealed" else compact(writer)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        found = load(entry) if kept == "sealed" else gather(writer, range(rows))[0]
    assert peak < rows * width * 4 / (8 if kept == "sealed" else 3)
    assert np.array_equal(found.values[:, -1], np.arange(rows))
