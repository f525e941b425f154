"""What it costs to score stored answers of many models: `python -m tests.speed.replayed [MODELS] [IMAGES] [WORKERS]`.

A classification data set of 1,000 classes, and a file of answers for each model. The first session indexes the images;
what is measured is the second one, with `--eye-stored`.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import perf_counter

from PIL import Image

CLASSES = 1000


def write_images(root: Path, count: int) -> list[tuple[str, int]]:
    """Write a folder of images, which are one file with many names; return their keys and classes."""
    rows, first = list[tuple[str, int]](), root.parent / "one.png"
    Image.new("RGB", (8, 8)).save(first)
    for label in range(CLASSES):
        folder = root / "objects" / "many" / f"thing {label:04d}"
        folder.mkdir(parents=True)
        for number in range(count // CLASSES):
            path = folder / f"{label:04d}-{number:04d}.png"
            os.link(first, path)
            rows.append((f"{folder.name}/{path.name}", label))
    return rows


def write_answers(path: Path, rows: list[tuple[str, int]], seed: int) -> None:
    """Write the answers of a model that is right in 3 of 4 cases."""
    chance = Random(seed)
    lines = (f"{key},{label if chance.random() < 0.75 else chance.randrange(CLASSES)}" for key, label in rows)
    path.write_text("\n".join(["key,answer", *lines, ""]), encoding="utf-8")


def facts(models: int = 60, images: int = 50_000, workers: int = 2) -> Iterator[str]:
    """The wall time, CPU time and peak memory of a session."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = write_images(folder / "data", images)
        for number in range(models):
            write_answers(folder / f"{number}.csv", rows, number)
        specs = [f"--eye-model=model{number}=replay[path={number}.csv]" for number in range(models)]
        run(folder, workers, specs[:1])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = perf_counter()
        run(folder, workers, [*specs, "--eye-stored"])
        wall, after = perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    what = f"--eye-stored, {models} models with {images:,} answers each, {workers} workers"
    peak = after.ru_maxrss / 2**20
    yield f"{what}: {wall:.0f} s, {cpu / models:.1f} CPU s a model, at most {peak:.2f} GiB in one process"


def run(folder: Path, workers: int, options: list[str]) -> None:
    """Run a session; its first failure is an error."""
    command = [sys.executable, "-m", "pytest", "--pyargs", "eyechart.benchmarks", "-q", "-n", str(workers)]
    usual = ["-k", "objects/many", "--eye-data=data", "--eye-offline", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *usual, *options], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout[-3000:] + done.stderr[-2000:])


if __name__ == "__main__":
    for line in facts(*map(int, sys.argv[1:])):
        print(line, flush=True)
