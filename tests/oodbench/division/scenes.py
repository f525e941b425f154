"""What tests of oodbench/division share."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from eyechart.data.dataset.dataset import Dataset, Row
from eyechart.data.index.file_index import whole_file_source
from eyechart.oodbench.data.annotation import Annotation
from eyechart.oodbench.division.pairs import (
    Detector,
    DetectorOutput,
)

PRESENT, ABSENT, UNKNOWN = "present", "absent", "unknown"
STATES = st.sampled_from([PRESENT, PRESENT, ABSENT, ABSENT, UNKNOWN])
LOGITS = st.integers(-12, 12).map(lambda n: n / 4) | st.floats(-30, 30, width=32)


@dataclass(frozen=True)
class Scenes:
    """What is in some images, and what detectors say of it: logits (detectors, images, categories)."""

    states: list[list[str]]
    logits: np.ndarray

    @property
    def present(self) -> np.ndarray:
        return np.array(self.states) == PRESENT

    @property
    def absent(self) -> np.ndarray:
        return np.array(self.states) == ABSENT

    @property
    def dataset(self) -> Dataset:
        images, categories = self.present.shape
        keys, names = [f"i{n}" for n in range(images)], tuple(f"c{n}" for n in range(categories))
        known = self.present | self.absent
        notation = Annotation(self.present.astype(np.int32), known, known, tuple(keys), names)
        index = tuple(Row(key, f"{key}.png", key) for key in keys)
        return Dataset("oodbench", "here", index, whole_file_source(()), categories, names=names, details=notation)

    def detected(self, errors=()) -> list[DetectorOutput]:
        """Every detector; the first gave no answer about some images."""
        told = dict.fromkeys(errors, "no answer")
        return [
            DetectorOutput(Detector(f"d{index}[]", "1", ""), logits, {} if index else told)
            for index, logits in enumerate(self.logits)
        ]


@st.composite
def scenes(draw, detectors=None):
    shape = detectors or draw(st.integers(1, 4)), draw(st.integers(1, 5)), draw(st.integers(1, 5))
    states = [[draw(STATES) for _ in range(shape[2])] for _ in range(shape[1])]
    logits = draw(st.lists(LOGITS, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    return Scenes(states, np.array(logits, np.float32).reshape(shape))
