"""Images of one colour, their preprocessing, and what graphs of the means of channels answer about them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image

from eyechart.models.exported.classifier import ExportedClassifier
from eyechart.models.exported.model import ExportedModel
from eyechart.models.spec import parse_spec
from eyechart.models.types import Floats
from tests.onnx_graphs import WEIGHTS

HALF = {"input_size": [3, 8, 8], "mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "crop_pct": 1.0}
COLOURS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (51, 102, 153))
M = TypeVar("M", bound=ExportedModel)


def open_file(kind: type[M], path: Path, *parts: str) -> M:
    """Return the model of a file; `parts` are options such as `threads=2`."""
    return kind(parse_spec(f"{kind.backend}[{','.join([str(path), *parts])}]"))


def answers(made: ExportedClassifier, colours: Sequence[tuple[int, int, int]] = COLOURS) -> Floats:
    return made.classify([made.prepare(Image.new("RGB", (16, 12), colour)) for colour in colours])


def normalised(colours: Sequence[tuple[int, int, int]] = COLOURS) -> Floats:
    return np.asarray((np.array(colours) / 255 - 0.5) / 0.5, np.float32)


def expected(colours: Sequence[tuple[int, int, int]] = COLOURS) -> Floats:
    """Return the answers of a graph that multiplies the means of channels with WEIGHTS."""
    return np.asarray(normalised(colours) @ WEIGHTS, np.float32)
