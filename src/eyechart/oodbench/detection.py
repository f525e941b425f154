"""Detection: what one detector would flag, and how its logits are distributed."""

from dataclasses import dataclass

import numpy as np

from eyechart.data.detection.annotation import Annotation
from eyechart.oodbench.detectors import detected
from eyechart.oodbench.divide import Detected, annotation_of, judged
from eyechart.oodbench.flags import Flags
from eyechart.protocol.context import Sitting


@dataclass(frozen=True)
class Detection:
    """A detector's logits (n, k) and flags, over images that it answered about (`usable` (n,)), and the annotation."""

    detected: Detected
    flags: Flags
    notation: Annotation
    usable: np.ndarray
    keys: tuple[str, ...]
    names: tuple[str, ...]
    variant: dict[str, str]


def detection(sitting: Sitting) -> Detection:
    """Ask the model itself as a detector."""
    notation, chosen = annotation_of(sitting.dataset), sitting.chosen
    spec = str(sitting.spec)
    found = detected(sitting.asker, sitting.model, spec, sitting.dataset, chosen["detector_templates"])
    usable = np.ones(len(sitting.dataset), np.bool_)
    usable[[*found.errors]] = False
    told = {"names": "split", "templates": found.detector.templates, "source": notation.source}
    return Detection(
        detected=found,
        flags=judged(found, notation, usable, float(chosen["threshold"])),
        notation=notation,
        usable=usable,
        keys=sitting.dataset.keys,
        names=sitting.dataset.names,
        variant={**chosen, **told},
    )
