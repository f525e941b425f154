"""How long a division of COCO's size takes from kept logits to written files, beside a loop over images."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.dataset.rows import Row
from eyechart.data.index.file_index import whole_file_source
from eyechart.oodbench.data.annotation import Annotation
from eyechart.oodbench.division.division_files import read_division, write_division
from eyechart.oodbench.division.pairs import Detector, DetectorOutput, DivisionSettings, build_division

from .paired import ratio, seconds

IMAGES, CATEGORIES, DETECTORS = 5000, 80, 2
PRESENT = 2.9  # categories an image, as in COCO val2017
THRESHOLD, MOST = 0.05, 3000
OUT = ("OOD-S", "OOD-H")


@dataclass(frozen=True)
class World:
    """Images, what is in them, and what detectors say."""

    dataset: Dataset
    detected: tuple[DetectorOutput, ...]
    present: np.ndarray


def world(seed: int = 0) -> World:
    """Logits as of a model that mostly sees what is there."""
    random = np.random.default_rng(seed)
    present = random.random((IMAGES, CATEGORIES)) < PRESENT / CATEGORIES
    keys, names = [f"val2017/{n:012d}" for n in range(IMAGES)], tuple(f"thing {n}" for n in range(CATEGORIES))
    known = np.ones_like(present)
    notation = Annotation(present.astype(np.int32), known, known, tuple(map(str, range(IMAGES))), names)
    index = tuple(Row(key, f"{key}.jpg", f"{n:064x}") for n, key in enumerate(keys))
    dataset = Dataset("oodbench", "coco", index, whole_file_source(()), CATEGORIES, names=names, details=notation)
    logits = [(random.normal(size=present.shape) * 2 + 6 * present).astype(np.float32) for _ in range(DETECTORS)]
    found = [DetectorOutput(Detector(f"d{position}[]", "1", ""), each, {}) for position, each in enumerate(logits)]
    return World(dataset, tuple(found), present)


def ours(given: World, folder: Path) -> Path:
    """Flags, agreement, draws, the file and the authors' csv; nothing that was reckoned before is kept."""
    dataset = replace(given.dataset)
    divided = build_division(
        dataset, given.detected, DivisionSettings(THRESHOLD, MOST, parameters={"threshold": "0.05"})
    )
    return write_division(folder / "coco.json", divided, dataset)[0]


def plain(given: World, folder: Path) -> None:
    """The peer: image after image, category after category; one JSON file, and neither hashes nor csv."""
    sets: dict[str, list[tuple[str, int, str]]] = {"ID": [], "OOD-S": [], "OOD-H": []}
    logits = [one.logits.tolist() for one in given.detected]
    for row, here in enumerate(given.present.tolist()):
        for category, flags in flagged(here, [each[row] for each in logits]).items():
            name = "OOD-H" if all(flags) else "OOD-S" if any(flags) else "ID"
            sets[name].append((given.dataset.keys[row], category, "".join("01"[flag] for flag in flags)))
    random = Random(42)
    drawn = {name: random.sample(some, min(MOST, len(some))) for name, some in sets.items()}
    (folder / "plain.json").write_text(json.dumps([drawn, {name: sets[name] for name in OUT}]), encoding="utf-8")


def flagged(here: list[bool], detectors: list[list[float]]) -> dict[int, list[bool]]:
    """Whether each detector fails on each category of an image."""
    labels = [category for category, present in enumerate(here) if present]
    failed: dict[int, list[bool]] = {label: [] for label in labels}
    for logits in detectors:
        others = [logit for logit, present in zip(logits, here, strict=True) if not present]
        beaten = bool(labels) and max(others) > max(logits[label] for label in labels)
        for label in labels:
            rest = sum(exp(other - logits[label]) for other in others)
            failed[label].append(beaten or 1 / (1 + rest) < THRESHOLD)
    return failed


def facts(pairs: int) -> Iterator[str]:
    """The ratio, and the wall time of writing and of reading back."""
    given = world()
    with TemporaryDirectory() as folder:
        where = Path(folder)
        found = ratio(lambda: ours(given, where), lambda: plain(given, where), pairs)
        wall = min(seconds(lambda: ours(given, where)) for _ in range(pairs))
        path = ours(given, where)
        back = min(seconds(lambda: read_division(path, replace(given.dataset))) for _ in range(pairs))
        size = len(read_division(path, given.dataset))
    what = f"a division of {IMAGES:,} images × {CATEGORIES} categories by {DETECTORS} detectors' kept logits"
    yield (
        f"{what}, {size:,} pairs written: {wall:.2f} s, {{:.1f}} ({{:.1f}}–{{:.1f}}) times faster than a loop over "
        f"images; read back in {back:.2f} s".format(*found)
    )


if __name__ == "__main__":
    for line in facts(5):
        print(line, flush=True)
