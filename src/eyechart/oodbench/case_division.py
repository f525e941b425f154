"""The division that a case asks about: made from detectors' logits as the choices say, or read from a file."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from eyechart.data.dataset import Dataset
from eyechart.errors import AbsentError, DataError, ModelError, SpecError
from eyechart.inference.runner import Runner
from eyechart.oodbench.detections import read_detections
from eyechart.oodbench.detectors import run_detector
from eyechart.oodbench.division import (
    NO_HARD_SAMPLES,
    DetectorOutput,
    Division,
    DivisionSettings,
    build_division,
    require_annotation,
    usable_images,
)
from eyechart.oodbench.division_files import division_sha256, read_division
from eyechart.oodbench.hard_samples import (
    HardSamples,
    Proposals,
    keep_annotated,
    mine_hard_samples,
    propose_top_categories,
)
from eyechart.oodbench.options import BUILT, IN_A_DIVISION
from eyechart.protocol.context import Context
from eyechart.protocol.options import OptionValues
from eyechart.spec import parse_spec, split_outside_brackets

DIVIDE = "python -m eyechart.oodbench"
OWN, NONE = "own", "none"
TOYBOX, PAPER = (
    "open_clip[toybox-clip]+open_clip[toybox-clip-b]",
    "open_clip[ViT-L-14,pretrained=openai]+blip2[Salesforce/blip2-itm-vit-g]",
)  # of the packaged pictures, and the families that arXiv 2602.18094 names


def load_division(context: Context) -> Division:
    """Read the division of a case, or make it.

    Raises AbsentError where a folder of divisions has none of this split.
    """
    given, dataset = context.options["division"], context.dataset
    if given == BUILT:
        return compute_division(
            context.runner, dataset, context.get_model, context.options, context.release_model
        ).division
    path = division_path(given, dataset)
    if Path(given).is_dir() and not path.exists():
        if not any(Path(given).glob("*.json")):
            raise DataError(f"{context.flag('division')} holds no division. Make them with: {DIVIDE} ROOT --out=DIR")
        raise AbsentError(f"{given} has no {path.name}, a division of {dataset.benchmark}/{dataset.split}")
    return read_division(path, dataset)


def division_path(given: str, dataset: Dataset) -> Path:
    """Return a division file, or that of the split in a folder of them."""
    path = Path(given)
    return path / f"{dataset.split}.json" if path.is_dir() else path


def division_label(context: Context, divided: Division) -> str:
    """What a record calls it: `made`, or the name and the fingerprint of the file."""
    given = context.options["division"]
    if given == BUILT:
        return given
    return f"{division_path(given, context.dataset).name} ({division_sha256(divided, context.dataset)[:8]})"


@dataclass(frozen=True)
class DivisionResult:
    """A division, and what each detector says of every image and category."""

    division: Division
    outputs: tuple[DetectorOutput, ...]


def compute_division(
    runner: Runner,
    dataset: Dataset,
    get_model: Callable[[str], Any],
    chosen: OptionValues,
    release_model: Callable[[str], object] = lambda _: None,
) -> DivisionResult:
    """Ask the detectors and divide; `get_model` makes a model by its specification, `release_model` lets it go.

    Choices of a division that were not made are their defaults, so that one division is the same to everybody.
    """
    require_annotation(dataset)  # refused before anybody is asked
    told = {each.name: chosen.get(each.name, each.default) for each in IN_A_DIVISION}
    specs, templates = detector_specs(told["detectors"], dataset), told["detector_templates"]
    found = []
    for spec in specs:
        with explain_default_detectors(spec, told["detectors"]):
            found.append(run_detector(runner, get_model(spec), spec, dataset, templates))
        release_model(spec)  # another model may need its memory
    hard = find_hard_samples(told["hard_samples"], dataset, found)
    rules = DivisionSettings(
        threshold=float(told["threshold"]),
        max_pairs=int(told["max_pairs"]),
        seed=runner.seed,
        include_absent=told["absent_categories"] == "yes",
        parameters={**told, "detectors": "+".join(specs), "hard_samples": hard.source, **selection_parameters(runner)},
    )
    divided = build_division(dataset, found, rules, hard.samples)
    return DivisionResult(replace(divided, notes=(*divided.notes, *hard.notes)), tuple(found))


@contextmanager
def explain_default_detectors(spec: str, given: str) -> Iterator[None]:
    """Where a detector that nobody named cannot be used, say how another is named."""
    try:
        yield
    except ModelError as error:
        if given != OWN:
            raise
        raise ModelError(
            f"{error} Nobody named a detector, and {spec} is one of those of arXiv 2602.18094: name others with "
            f"the option detectors (A+B), such as the packaged {TOYBOX}."
        ) from error


def selection_parameters(runner: Runner) -> dict[str, str]:
    """How images and pairs were chosen: the seed, and the number of images where there is a limit."""
    return {"seed": str(runner.seed)} | ({} if runner.limit is None else {"limit": str(runner.limit)})


def detector_specs(given: str, dataset: Dataset) -> tuple[str, ...]:
    """The detectors' specifications, each another."""
    if given == OWN:
        given = TOYBOX if dataset.split.startswith("sample-") else PAPER
    specs = tuple(str(parse_spec(spec)) for spec in split_outside_brackets(given, "+"))
    twice = next((spec for spec in specs if specs.count(spec) > 1), None)
    if twice:
        raise SpecError(
            f"The detector {twice} is named {specs.count(twice)} times: it agrees with itself. Name it once."
        )
    return specs


@dataclass(frozen=True)
class HardSampleResult:
    """Hard samples, what they are mined from, and what was left out."""

    samples: HardSamples = NO_HARD_SAMPLES
    source: str = NONE
    notes: tuple[str, ...] = ()


def find_hard_samples(given: str, dataset: Dataset, found: Sequence[DetectorOutput]) -> HardSampleResult:
    """Hard samples of the first detector's probabilities, or of an object detector's file."""
    if given == NONE:
        return HardSampleResult()
    seen = detector_proposals(found) if given == OWN else file_proposals(given, dataset)
    usable = usable_images(dataset, found)[:, None]
    there, others = keep_annotated(seen.proposals, require_annotation(dataset).present & usable)
    why = "its category is not in its image, or the image not in the division"
    false = [f"{others:,} × proposal left out of the hard samples: {why}"] * (others > 0)
    return HardSampleResult(mine_hard_samples(there, dataset.keys), seen.source, (*seen.notes, *false))


@dataclass(frozen=True)
class ProposalResult:
    """What may be hard, who saw it, and what was left out."""

    proposals: Proposals
    source: str
    notes: tuple[str, ...] = ()


def detector_proposals(found: Sequence[DetectorOutput]) -> ProposalResult:
    """The most probable category of each image that the first detector answered about."""
    logits = found[0].logits.astype(np.float64)
    logits[[*found[0].errors]] = np.nan
    return ProposalResult(propose_top_categories(softmax(logits, axis=1)), OWN)


def file_proposals(given: str, dataset: Dataset) -> ProposalResult:
    """What an object detector found."""
    seen = read_detections(given, require_annotation(dataset))
    named = f"{Path(given).name} ({seen.sha256[:8]})"
    return ProposalResult(Proposals(seen.rows, seen.categories, seen.scores), named, tuple(map(str, seen.excluded)))
