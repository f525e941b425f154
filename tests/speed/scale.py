"""What eyechart does at the scale of ImageNet: `python -m tests.speed.scale NAME [NUMBER …]`.

    index [IMAGES]                       open a folder of images whose index is cached
    labels [ROWS]                        read a label file and align it with a split
    scores [IMAGES]                      score the stored logits of a classifier under 4 label sets, as `--eye-stored`
    replay [ROWS [MODELS]]               read the answers of a file, and of a file for each of several models
    cases [CASES]                        overview, tables and gate of a run with many cases
    warm                                 README's first command, again when its answers are stored, and one case of it
    unrelated [PAIRS]                    a pytest session that does not use eyechart, with and without its plugin

Each measured step is a process of its own. CPU seconds include the start of Python.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np
from PIL import Image

from eyechart.data.imagenet.classes import synset_classes
from eyechart.models.types import Floats

from .replayed import write_answers
from .sleeping import CLASSES, Sleeping

LABEL_SETS = 3  # beside that of the folders
SPLITS = 100  # of a run with many cases


class Drawn(Sleeping):
    """Returns random logits at once."""

    def classify(self, images: Sequence[object]) -> Floats:
        """Return logits that are others for each batch."""
        self.batches = getattr(self, "batches", 0) + 1
        return np.random.default_rng(self.batches).normal(size=(len(images), CLASSES)).astype(np.float32)


class Cost(NamedTuple):
    """The CPU seconds, wall seconds and peak memory in GiB of a process, and what it printed."""

    cpu: float
    wall: float
    peak: float
    output: str

    def __str__(self) -> str:
        return f"{self.cpu:.1f} CPU s, {self.wall:.1f} s, {self.peak:.2f} GiB"


def measure(folder: Path, *command: str) -> Cost:
    """Run Python with arguments in a folder. Raises RuntimeError if it fails."""
    started, read_end = perf_counter(), subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, *command], cwd=folder, stdout=read_end, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(output[-4000:])
    return Cost(usage.ru_utime + usage.ru_stime, perf_counter() - started, usage.ru_maxrss / 2**20, output)


def run(folder: Path, *options: str) -> Cost:
    """Run the benchmarks in a folder."""
    usual = ("-m", "pytest", "--pyargs", "eyechart.benchmarks", "-q", "-p", "no:cacheprovider", "--eye-offline")
    return measure(folder, *usual, *options)


def write_images(folder: Path, images: int) -> list[Path]:
    """Write a folder for each of ImageNet's classes; the images of a class are one file with many names."""
    paths = []
    for label, synset in enumerate(synset_classes()):
        (position := folder / synset).mkdir(parents=True)
        first = position / f"{synset}_0000.png"
        Image.new("RGB", (8, 8), (label % 256, label // 256, 0)).save(first)
        paths.append(first)
        for number in range(1, images // CLASSES):
            paths.append(position / f"{synset}_{number:04d}.png")
            os.link(first, paths[-1])
    return paths


OPEN = """
import sys, time
from pathlib import Path
from eyechart.data.readers.folder import open_folder
started = time.perf_counter(), time.process_time()
dataset = open_folder(Path("data/imagenet/many"), "imagenet", "many", cache=Path("cache"))
print(len(dataset.index), time.perf_counter() - started[0], time.process_time() - started[1])
"""


def index(images: int = 50_000) -> Iterator[str]:
    """Yield the time to open a folder: first, and when its index is cached."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_images(folder / "data" / "imagenet" / "many", images)
        for when in ("first", "index cached", "index cached"):
            cost = measure(folder, "-c", OPEN)
            count, wall, cpu = map(float, cost.output.split())
            yield f"open a folder of {count:,.0f} images, {when}: {wall:.2f} s, {cpu:.2f} CPU s, {cost.peak:.2f} GiB"


ALIGN = """
import time
from pathlib import Path
from eyechart.data.readers.folder import open_folder
from eyechart.data.labels.label_files import ImageNames, align_labels, describe_mismatches, read_labels
dataset = open_folder(Path("data/imagenet/many"), "imagenet", "many", cache=Path("cache"))
images = ImageNames(dataset.index)
for number in range(2):
    started = time.process_time()
    labels = read_labels(f"{number}.csv", classes=1000)
    read = time.process_time()
    align_labels(labels, images, str(number), "correct")
    describe_mismatches(labels, images)
    print(read - started, time.process_time() - read)
"""


def labels(images: int = 50_000) -> Iterator[str]:
    """Yield the time to read and align label files: the first one of a split, and the second one with its names."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_labels(folder, write_images(folder / "data" / "imagenet" / "many", images))
        output = measure(folder, "-c", ALIGN).output.split()
        for when, read, align in zip(("first", "second"), output[::2], output[1::2], strict=True):
            yield f"a label file of {images:,} rows, {when}: read {float(read):.2f}, align {float(align):.2f} CPU s"


def write_labels(folder: Path, paths: Sequence[Path]) -> list[str]:
    """Write label files with random classes, and return the options that name them."""
    random, options = np.random.default_rng(0), list[str]()
    for number in range(LABEL_SETS):
        classes = random.integers(CLASSES, size=len(paths))
        lines = [f"{path.name},{label}" for path, label in zip(paths, classes, strict=True)]
        (folder / f"{number}.csv").write_text("\n".join(["file,labels", *lines, ""]), encoding="utf-8")
        options.append(f"--eye-labels=L{number}={number}.csv")
    return options


def scores(images: int = 50_000) -> Iterator[str]:
    """Yield the cost of a session that scores the stored logits of a classifier."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_labels(folder, write_images(folder / "data" / "imagenet" / "many", images))
        model = f"--eye-model={__spec__.name}:Drawn[nap=0,batch_size=500]"
        usual = ("-k", "imagenet/many and supervised", "--eye-data=data", model)
        os.environ["PYTHONPATH"] = str(Path.cwd())
        run(folder, *usual)
        empty = measure(folder, "-m", "pytest", "--pyargs", "eyechart.benchmarks", "-q", "--collect-only")
        first, again = (run(folder, *usual, *files, "--eye-stored") for _ in range(2))
    yield f"score {images:,} × {CLASSES:,} stored logits, {LABEL_SETS + 1} label sets: {first}; again: {again}"
    yield f"- collecting the benchmarks alone: {empty}"


def replay(rows: int = 500_000, models: int = 2) -> Iterator[str]:
    """Yield the cost of sessions that score files of answers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_images(folder / "data" / "objects" / "many", rows)
        options = list[str]()
        classes = {synset: label for label, synset in enumerate(synset_classes())}
        keys = [(f"{path.parent.name}/{path.name}", classes[path.parent.name]) for path in paths]
        for number in range(models):
            write_answers(folder / f"{number}.csv", keys, number)
            options.append(f"--eye-model=model{number}=replay[path={number}.csv]")
        usual = ("-k", "objects/many", "--eye-data=data")
        run(folder, *usual, options[0])
        for count in (1, models):
            yield f"score {count} × {len(paths):,} replayed answers: {run(folder, *usual, *options[:count])}"


def cases(count: int = 5000, images: int = 20) -> Iterator[str]:
    """Yield the cost of a run with many small cases, and of its overview, a table and the gate."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        keys, options = list[str](), list[str]()
        for split in range(SPLITS):
            for number in range(images):
                position = folder / "data" / "objects" / f"split{split}" / f"thing{number % 4}"
                position.mkdir(parents=True, exist_ok=True)
                Image.new("RGB", (8, 8), (split, number, 0)).save(position / f"{number}.png")
                if not split:
                    keys.append(f"{position.name}/{number}.png")
        for number in range(count // SPLITS):
            answers = np.random.default_rng(number).integers(4, size=len(keys))
            lines = [f"{key},{answer}" for key, answer in zip(keys, answers, strict=True)]
            (folder / f"{number}.csv").write_text("\n".join(["key,answer", *lines, ""]), encoding="utf-8")
            options.append(f"--eye-model=model{number}=replay[path={number}.csv]")
        usual = ("-k", "objects/split", "--eye-data=data", *options)
        half = run(folder, *usual[:3], *options[: len(options) // 2])
        yield f"a session of {count // 2:,} cases of {images} replayed answers: {half}"
        kept = (*usual, "--eye-baseline=kept")
        yield f"a session of {count:,} cases, which writes baselines: {run(folder, *kept, '--eye-update-baseline')}"
        yield f"the same with a gate: {run(folder, *kept)}"
        for command in (("overview",), ("leaderboard",), ("page",)):
            yield f"eyechart {command[0]}: {measure(folder, '-m', 'eyechart', *command, 'reports/runs/latest')}"


def warm() -> Iterator[str]:
    """Yield the cost of README's first command without and with stored answers, and of one of its cases with them."""
    with tempfile.TemporaryDirectory() as name:
        for when in ("first", "its answers are stored"):
            cost = run(Path(name), "--eye-preset=first-run")
            yield f"the main job, {when}: {cost}"
        one = ("-k", "supervised and imagenet/sample/")
        yield f"one case of 177 images: {run(Path(name), *one)}"
        others = [point.name for point in entry_points(group="pytest11") if point.name != "eyechart.plugins"]
        without = run(Path(name), *one, *(f"-pno:{plugin}" for plugin in others))
        yield f"the same without the plugins of other packages: {without}"


def unrelated(pairs: int = 11) -> Iterator[str]:
    """Yield what an installed eyechart adds to a pytest session that does not use it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_one.py").write_text("def test_one() -> None: ...\n", encoding="utf-8")
        usual = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
        plain = (*usual, "-p", "no:eyechart.plugins")
        more = sorted(measure(folder, *usual).cpu - measure(folder, *plain).cpu for _ in range(pairs))
    yield f"an unrelated pytest session: {median(more):.3f} CPU s more ({more[0]:.3f} to {more[-1]:.3f})"


MEASUREMENTS: Mapping[str, Callable[..., Iterator[str]]] = {
    "index": index,
    "labels": labels,
    "scores": scores,
    "replay": replay,
    "cases": cases,
    "warm": warm,
    "unrelated": unrelated,
}

if __name__ == "__main__":
    for line in MEASUREMENTS[sys.argv[1]](*map(int, sys.argv[2:])):
        print(line, flush=True)
