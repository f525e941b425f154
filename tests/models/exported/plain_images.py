"""Images of one colour, their preprocessing, and what graphs of the means of channels answer about them."""

from collections.abc import Sequence

import numpy as np
from PIL import Image

from eyechart.models.exported.classifier import ExportedClassifier
from eyechart.models.types import Floats
from tests.onnx_graphs import WEIGHTS

HALF = {"input_size": [3, 8, 8], "mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "crop_pct": 1.0}
COLOURS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (51, 102, 153))


def answers(made: ExportedClassifier, colours: Sequence[tuple[int, int, int]] = COLOURS) -> Floats:
    return made.classify([made.prepare(Image.new("RGB", (16, 12), colour)) for colour in colours])


def normalised(colours: Sequence[tuple[int, int, int]] = COLOURS) -> Floats:
    return np.asarray((np.array(colours) / 255 - 0.5) / 0.5, np.float32)


def expected(colours: Sequence[tuple[int, int, int]] = COLOURS) -> Floats:
    """Return the answers of a graph that multiplies the means of channels with WEIGHTS."""
    return np.asarray(normalised(colours) @ WEIGHTS, np.float32)
