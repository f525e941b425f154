"""The division of a case: built from detectors' logits with the case's options, or read from a file."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import AbsentError, DataError, ModelError, SpecError
from eyechart.files.text_files import utf8_bytes
from eyechart.inference.runner.runner import Runner
from eyechart.models.spec import parse_spec, split_outside_brackets
from eyechart.oodbench.data.annotation import Annotation, Exclusion, list_exclusions
from eyechart.oodbench.division.detectors import run_detector
from eyechart.oodbench.division.division_files import division_sha256, read_division
from eyechart.oodbench.division.division_options import BUILT, IN_A_DIVISION
from eyechart.oodbench.division.hard_samples import (
    HardSamples,
    Proposals,
    keep_annotated,
    mine_hard_samples,
    propose_top_categories,
)
from eyechart.oodbench.division.pairs import (
    NO_HARD_SAMPLES,
    DetectorOutput,
    Division,
    DivisionSettings,
    build_division,
    require_annotation,
    usable_images,
)
from eyechart.protocol.context import Context
from eyechart.protocol.options import OptionValues

_DIVIDE = "eyechart divide"
OWN, NONE = "own", "none"
TOYBOX, PAPER = (
    "open_clip[toybox-clip]+open_clip[toybox-clip-b]",
    "open_clip[ViT-L-14,pretrained=openai]+blip2[Salesforce/blip2-itm-vit-g]",
)  # for the packaged sample, and the models of arXiv 2602.18094

FIRST = 5  # unknown categories that a message shows
_Box = tuple[float, float, Annotated[float, msgspec.Meta(ge=0)], Annotated[float, msgspec.Meta(ge=0)]]


class _Detection(msgspec.Struct):
    """One box of the file; other keys are ignored."""

    image_id: int | str
    category_id: int | str
    score: Annotated[float, msgspec.Meta(ge=0, le=1)]
    bbox: _Box | None = None


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


def _read_detections(path: str | Path, annotation: Annotation) -> _Detections:
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


def _decoded(path: str | Path) -> tuple[bytes, list[_Detection]]:
    try:
        data = Path(path).read_bytes()
        return data, msgspec.json.decode(utf8_bytes(data), type=list[_Detection])
    except OSError as error:
        raise DataError(
            f"The detections {path} cannot be read ({error.strerror}). Give a file of COCO results."
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"The detections {path} are not COCO results ({error}). Expected a JSON list of objects with image_id, "
            "category_id, bbox [x, y, width, height] and a score in (0, 1]."
        ) from error


def _known_categories(path: str | Path, boxes: Sequence[_Detection], columns: dict[str, int]) -> None:
    unknown = sorted({str(box.category_id) for box in boxes} - {*columns})
    if unknown:
        others = " and others" if len(unknown) > FIRST else ""
        raise DataError(
            f"The detections {path} have {len(unknown)} category ids that are not in the annotation: "
            f"{', '.join(unknown[:FIRST])}{others}. Use the category ids of the annotation, "
            f"such as {next(iter(columns), 'none')}, not the detector's numbers."
        )


def _first(detections: Sequence[_Detection]) -> str:
    return f"the first image_id is {detections[0].image_id}" if detections else "the file is empty"


def load_division(context: Context) -> Division:
    """Return the division of a case, read from its file or computed.

    Raises AbsentError if a folder of divisions has no file for this split, DataError if it has no division at all.
    """
    location, dataset = context.options["division"], context.dataset
    if location == BUILT:
        return compute_division(
            context.runner, dataset, context.get_model, context.options, context.release_model
        ).division
    path = _division_path(location, dataset)
    if Path(location).is_dir() and not path.exists():
        if not any(Path(location).glob("*.json")):
            raise DataError(
                f"{context.flag('division')} has no division file. Create one with: {_DIVIDE} ROOT --out=DIR"
            )
        raise AbsentError(f"{location} has no {path.name}, the division of {dataset.benchmark}/{dataset.split}")
    return read_division(path, dataset)


def _division_path(location: str, dataset: Dataset) -> Path:
    """Return the path of the division file: the given file, or the split's file in the given folder."""
    path = Path(location)
    return path / f"{dataset.split}.json" if path.is_dir() else path


def division_label(context: Context, division: Division) -> str:
    """Return the label of the division in a record: `made`, or the file's name and the start of its sha256."""
    location = context.options["division"]
    if location == BUILT:
        return location
    return f"{_division_path(location, context.dataset).name} ({division_sha256(division, context.dataset)[:8]})"


@dataclass(frozen=True)
class DivisionResult:
    """A division and the outputs of its detectors."""

    division: Division
    outputs: tuple[DetectorOutput, ...]


def compute_division(
    runner: Runner,
    dataset: Dataset,
    get_model: Callable[[str], Any],
    chosen: OptionValues,
    release_model: Callable[[str], object] = lambda _: None,
) -> DivisionResult:
    """Run the detectors and build the division.

    `get_model` returns the model of a specification, and `release_model` frees it. Missing options have their defaults.
    """
    require_annotation(dataset)  # fails before any detector is loaded, as the next lines do
    settings = {option.name: chosen.get(option.name, option.default) for option in IN_A_DIVISION}
    mined = settings["hard_samples"]
    of_file = None if mined in (NONE, OWN) else _file_proposals(mined, dataset)
    specs, templates = detector_specs(settings["detectors"], dataset), settings["detector_templates"]
    outputs = []
    for spec in specs:
        with _explain_default_detectors(spec, settings["detectors"]):
            outputs.append(run_detector(runner, get_model(spec), spec, dataset, templates))
        release_model(spec)  # another model may need its memory
    candidates = _detector_proposals(outputs) if mined == OWN else of_file
    hard = _find_hard_samples(candidates, dataset, outputs) if candidates else _HardSampleResult()
    rules = DivisionSettings(
        threshold=float(settings["threshold"]),
        max_pairs=int(settings["max_pairs"]),
        seed=runner.seed,
        include_absent=settings["absent_categories"] == "yes",
        parameters={
            **settings,
            "detectors": "+".join(specs),
            "hard_samples": hard.source,
            **_selection_parameters(runner),
        },
    )
    division = build_division(dataset, outputs, rules, hard.samples)
    return DivisionResult(replace(division, notes=(*division.notes, *hard.notes)), tuple(outputs))


@contextmanager
def _explain_default_detectors(spec: str, detectors: str) -> Iterator[None]:
    """Add to the ModelError of a default detector how to choose other detectors."""
    try:
        yield
    except ModelError as error:
        if detectors != OWN:
            raise
        raise ModelError(
            f"{error} {spec} is a default detector (arXiv 2602.18094). Choose other detectors with the option "
            f"detectors=A+B, such as the packaged {TOYBOX}."
        ) from error


def _selection_parameters(runner: Runner) -> dict[str, str]:
    """Return the parameters that select images and pairs: the seed, and the limit if there is one."""
    return {"seed": str(runner.seed)} | ({} if runner.fixed_limit is None else {"limit": str(runner.limit)})


def detector_specs(detectors: str, dataset: Dataset) -> tuple[str, ...]:
    """Return the specifications of the detectors.

    Raises SpecError for a detector that is repeated.
    """
    if detectors == OWN:
        detectors = TOYBOX if dataset.split.startswith("sample-") else PAPER
    specs = tuple(str(parse_spec(spec)) for spec in split_outside_brackets(detectors, "+"))
    twice = next((spec for spec in specs if specs.count(spec) > 1), None)
    if twice:
        raise SpecError(f"The detector {twice} is given {specs.count(twice)} times. Give each detector once.")
    return specs


@dataclass(frozen=True)
class _HardSampleResult:
    """Hard samples, the source of their probabilities, and notes about what was left out."""

    samples: HardSamples = NO_HARD_SAMPLES
    source: str = NONE
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _ProposalResult:
    """Proposals for hard samples, their source, and notes about what was left out."""

    proposals: Proposals
    source: str
    notes: tuple[str, ...] = ()


def _find_hard_samples(
    candidates: _ProposalResult, dataset: Dataset, outputs: Sequence[DetectorOutput]
) -> _HardSampleResult:
    """Return hard samples from the first detector's probabilities, or from a file of an object detector's results."""
    usable = usable_images(dataset, outputs)[:, None]
    there, others = keep_annotated(candidates.proposals, require_annotation(dataset).present & usable)
    why = "its category is not in its image, or the image not in the division"
    false = [f"{others:,} × proposal left out of the hard samples: {why}"] * (others > 0)
    return _HardSampleResult(mine_hard_samples(there, dataset.keys), candidates.source, (*candidates.notes, *false))


def _detector_proposals(outputs: Sequence[DetectorOutput]) -> _ProposalResult:
    """Return the most probable category of each image under the first detector."""
    logits = outputs[0].logits.astype(np.float64)
    logits[[*outputs[0].errors]] = np.nan
    return _ProposalResult(propose_top_categories(softmax(logits, axis=1)), OWN)


def _file_proposals(path: str, dataset: Dataset) -> _ProposalResult:
    """Return the detections of a file of COCO results as proposals."""
    detections = _read_detections(path, require_annotation(dataset))
    named = f"{Path(path).name} ({detections.sha256[:8]})"
    return _ProposalResult(
        Proposals(detections.rows, detections.categories, detections.scores),
        named,
        tuple(map(str, detections.excluded)),
    )
