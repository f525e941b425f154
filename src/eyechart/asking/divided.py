"""The division that a case asks about: made from detectors' logits as the choices say, or read from a file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.special import softmax

from eyechart.asking.detecting import detected
from eyechart.asking.sitting import Sitting
from eyechart.data.detections import read_detections
from eyechart.data.division_files import read_division
from eyechart.data.divisions import Division
from eyechart.dividing import NONE_MINED, Detected, Rules, annotation_of, divide
from eyechart.errors import SpecError
from eyechart.protocols.hard_samples import Mined, Proposals, existing, mined, most_probable
from eyechart.spec import pieces

MADE, OWN, NONE = "made", "own", "none"
PARAMETERS = ("detectors", "detector_templates", "threshold", "most", "absent", "hard")
TOY, PAPERS = (
    "open_clip[toybox-clip]+conse[]",
    "open_clip[ViT-L-14,pretrained=openai]+blip2[Salesforce/blip2-itm-vit-g]",
)  # of the packaged pictures, and the families that arXiv 2602.18094 names


def division(sitting: Sitting) -> Division:
    """Find or make it."""
    chosen = sitting.chosen
    if chosen["division"] != MADE:
        return read_division(file_of(chosen["division"], sitting), sitting.dataset)
    rules = Rules(
        threshold=float(chosen["threshold"]),
        most=int(chosen["most"]),
        seed=sitting.asker.seed,
        absent=chosen.get("absent") == "yes",
        parameters={name: chosen[name] for name in PARAMETERS if name in chosen} | {"seed": str(sitting.asker.seed)},
    )
    found = [ask_detector(sitting, spec) for spec in detectors(sitting)]
    return divide(sitting.dataset, found, rules, hard(sitting, found))


def file_of(given: str, sitting: Sitting) -> Path:
    """A division file, or that of the split in a folder of them."""
    path = Path(given)
    return path / f"{sitting.dataset.split}.json" if path.is_dir() else path


def detectors(sitting: Sitting) -> list[str]:
    """The detectors' specifications."""
    given = sitting.chosen["detectors"]
    if given == OWN:
        given = TOY if sitting.dataset.split.startswith("sample-") else PAPERS
    return list(pieces(given, "+"))


def ask_detector(sitting: Sitting, spec: str) -> Detected:
    """Lend a detector, ask it, and let it go: the model that the case is about may need its memory."""
    found = detected(sitting.asker, sitting.lend(spec), spec, sitting.dataset, sitting.chosen["detector_templates"])
    sitting.dismiss(spec)
    return found


def hard(sitting: Sitting, found: Sequence[Detected]) -> Mined:
    """Hard samples of the first detector's probabilities, or of an object detector's file."""
    if sitting.chosen.get("hard", NONE) == NONE:
        return NONE_MINED
    notation = annotation_of(sitting.dataset)
    there, _ = existing(proposals(sitting, found), notation.present)
    return mined(there, sitting.dataset.keys)


def proposals(sitting: Sitting, found: Sequence[Detected]) -> Proposals:
    """What may be hard."""
    if sitting.chosen["hard"] == OWN:
        return most_probable(softmax(found[0].logits.astype(np.float64), axis=1))
    try:
        seen = read_detections(sitting.chosen["hard"], annotation_of(sitting.dataset))
    except OSError as error:
        raise SpecError(f"--eye-hard={sitting.chosen['hard']} cannot be read ({error.strerror}).") from error
    return Proposals(seen.rows, seen.categories, seen.scores)
