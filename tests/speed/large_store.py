"""Peak memory of the store and of k-NN with the features of many images: sealing, compaction, neighbours.

    python -m tests.speed.large_store --rows 1280000

Writes rows of 768 numbers in blocks of 64, as a run does, in ascending or in any order. Each step runs in a process of
its own. The peak is that of the process. For k-NN, whose supports are a memory map, it is that of what is allocated:
pages of the map count for the process too, but the system takes them back when memory is short.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eyechart.classification.protocols.knn import knn_scores
from eyechart.classification.protocols.nearest import SelectedRows
from eyechart.inference.store.arrays import Block, append, compact, load, seal
from eyechart.inference.store.entries import Key, Store, StoreEntry
from eyechart.models.types import Identity

WIDTH, BATCH, QUERIES, CLASSES = 768, 64, 1000, 1000
STEPS = ("write", "compact", "seal", "nearest")
STEPS_OF = {"ascending": STEPS, "any": ("write", "seal", "nearest")}  # compaction would put the rows in order
IDENTITY = Identity(
    backend="test", name="m", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={}
)


def entry_in(folder: Path) -> StoreEntry:
    """Return the entry that is measured."""
    return Store(folder).entry(Key(kind="image_features", model=IDENTITY, data="d"))


def write(entry: StoreEntry, rows: int, order: str) -> None:
    """Append random rows to an entry."""
    draws = np.random.default_rng(0)
    numbers = np.arange(rows) if order == "ascending" else draws.permutation(rows)
    with entry.lock_for_writing() as writer:
        for start in range(0, rows, BATCH):
            some = (*numbers[start : start + BATCH].tolist(),)
            append(writer, Block(some, WIDTH), draws.standard_normal((len(some), WIDTH), np.float32))


def find_nearest(entry: StoreEntry, rows: int) -> float:
    """Return the peak in MB of what k-NN allocates for some queries with all rows as supports."""
    values = load(entry).values
    support = SelectedRows(values, np.arange(rows))
    tracemalloc.start()
    knn_scores(values[:QUERIES], support, np.arange(rows) % CLASSES, CLASSES)
    return tracemalloc.get_traced_memory()[1] / 2**20


def run(step: str, folder: Path, rows: int, order: str) -> str:
    """Run one step in this process; return its time and peak memory."""
    entry, began = entry_in(folder), time.perf_counter()
    if step == "nearest":
        peak = find_nearest(entry, rows)
    else:
        if step == "write":
            write(entry, rows, order)
        else:
            with entry.lock_for_writing() as writer:
                seal(writer, rows) if step == "seal" else compact(writer)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{step}, {rows:,} rows, {order} order: {time.perf_counter() - began:.0f} s, peak {peak:.0f} MB"


def facts(_: int, rows: tuple[int, ...] = (40_000, 160_000)) -> Iterator[str]:
    """Yield the time and peak memory of each step, for numbers of rows and both orders."""
    for count in rows:
        for order, steps in STEPS_OF.items():
            with tempfile.TemporaryDirectory() as folder:
                for step in steps:
                    command = [sys.executable, "-m", __spec__.name, "--rows", str(count), "--order", order]
                    command += ["--step", step, "--folder", folder]
                    yield subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Measure all steps, or one in this process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_280_000)
    parser.add_argument("--order", choices=STEPS_OF, default="ascending")
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.step:
        print(run(given.step, given.folder, given.rows, given.order))
        return
    for line in facts(1, (given.rows,)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
