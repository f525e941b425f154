"""Reader of object detections in the COCO results format: a JSON list with image_id, category_id and score."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.errors import DataError
from eyechart.files.text_files import utf8_bytes
from eyechart.oodbench.data.annotation import Annotation, Exclusion, list_exclusions

FIRST = 5  # unknown categories that a message shows

Box = tuple[float, float, Annotated[float, msgspec.Meta(ge=0)], Annotated[float, msgspec.Meta(ge=0)]]


class Detection(msgspec.Struct):
    """One box of the file; other keys are ignored."""

    image_id: int | str
    category_id: int | str
    score: Annotated[float, msgspec.Meta(ge=0, le=1)]
    bbox: Box | None = None


@dataclass(frozen=True)
class _Detections:
    """Detections in file order: `rows` (m,) and `categories` (m,) of an annotation, `scores` (m,) in (0, 1]."""

    rows: NDArray[np.int64]
    categories: NDArray[np.int64]
    scores: NDArray[np.float64]
    sha256: str
    excluded: tuple[Exclusion, ...]

    def __len__(self) -> int:
        return len(self.rows)


def read_detections(path: str | Path, annotation: Annotation) -> _Detections:
    """Read a results file and map its image and category ids to the rows and columns of an annotation.

    Boxes of images that the annotation does not have, and boxes with score 0, are counted and skipped.

    Raises DataError for an unknown category id: the detector then uses other ids than the annotation.
    """
    data, boxes = _decoded(path)
    columns = {name: index for index, name in enumerate(annotation.category_ids)}
    _known_categories(path, boxes, columns)
    indices = {name: index for index, name in enumerate(annotation.image_ids)}
    here = [box for box in boxes if str(box.image_id) in indices]
    if not here:
        raise DataError(
            f"The detections {path} name none of the {len(indices):,} images: {_first(boxes)}, the data "
            f"set's first is {next(iter(indices), 'missing')}. Run the detector on the images of this data set."
        )
    kept = [box for box in here if box.score > 0]
    left = (
        *list_exclusions(
            "detection",
            "its image is not among those of the data set",
            (f"that of image {box.image_id}" for box in boxes if str(box.image_id) not in indices),
        ),
        *list_exclusions(
            "detection", "its score is 0", (f"that of image {box.image_id}" for box in here if not box.score)
        ),
    )
    return _Detections(
        np.array([indices[str(box.image_id)] for box in kept], dtype=np.int64),
        np.array([columns[str(box.category_id)] for box in kept], dtype=np.int64),
        np.array([box.score for box in kept], dtype=np.float64),
        sha256(data).hexdigest(),
        left,
    )


def _decoded(path: str | Path) -> tuple[bytes, list[Detection]]:
    try:
        data = Path(path).read_bytes()
        return data, msgspec.json.decode(utf8_bytes(data), type=list[Detection])
    except OSError as error:
        raise DataError(
            f"The detections {path} cannot be read ({error.strerror}). Give a file of COCO results."
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"The detections {path} are not COCO results ({error}). Expected a JSON list of objects with image_id, "
            "category_id, bbox [x, y, width, height] and a score in (0, 1]."
        ) from error


def _known_categories(path: str | Path, boxes: Sequence[Detection], columns: dict[str, int]) -> None:
    unknown = sorted({str(box.category_id) for box in boxes} - {*columns})
    if unknown:
        others = " and others" if len(unknown) > FIRST else ""
        raise DataError(
            f"The detections {path} have {len(unknown)} category ids that are not in the annotation: "
            f"{', '.join(unknown[:FIRST])}{others}. Use the category ids of the annotation, "
            f"such as {next(iter(columns), 'none')}, not the detector's numbers."
        )


def _first(detections: Sequence[Detection]) -> str:
    return f"the first image_id is {detections[0].image_id}" if detections else "the file is empty"
