"""What tests of oodbench/division share."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.oodbench.division.hard_samples import HardSamples
from eyechart.oodbench.division.pairs import (
    Detector,
    DetectorOutput,
    Division,
    DivisionSettings,
    build_division,
)

LOGITS = [[[0, 9, 0]] * 5, [[0, 0, 9], [9, 0, 0], [0, 0, 0], [0, 9, 0], [0, 0, 0]]]
MINED = HardSamples(np.array([4, 2]), np.array([1, 0]), np.array([0.1 + 0.2, 0.25]))


@dataclass(frozen=True)
class Folder:
    """A data set, its division, and the file."""

    dataset: Dataset
    division: Division
    path: Path

    def changed(self, change: Callable[[dict[str, Any]], object]) -> Path:
        """Change what the file says."""
        found = json.loads(self.path.read_text(encoding="utf-8"))
        change(found)
        self.path.write_text(json.dumps(found), encoding="utf-8")
        return self.path

    def csv(self, *lines: str) -> Path:
        """Write a csv with these lines."""
        path = self.path.with_suffix(".csv")
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path


def divided(dataset: Dataset, mined: HardSamples = MINED, most: int = 2) -> Division:
    detectors = [Detector("conse[]", "1 (01234567)", "ab"), Detector("open_clip[a,b=c]", "1 (01234567)", "cd")]
    found = [DetectorOutput(who, np.array(said, np.float32), {}) for who, said in zip(detectors, LOGITS, strict=True)]
    found[1] = replace(found[1], errors={3: 'imagenet/memory: s03: "no" answer\n'})
    return build_division(
        dataset, found, DivisionSettings(max_pairs=most, include_absent=True, parameters={"b": "2", "a": "1"}), mined
    )


COUNTS = [[1, 0, 0], [1, 0, -1], [2, 3, 1], [0, 0, 1], [1, 1, 1]]
