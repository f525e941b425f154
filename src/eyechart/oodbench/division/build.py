"""Build the OODBench divisions of annotated data sets: the work of `eyechart divide ROOT --detector=SPEC …`.

A division sorts the image–category pairs of a split into the sets ID, OOD-S and OOD-H. Each split is written as a JSON
file that `--eye-set=existence.division=DIR` reads, and as CSV files in the format of OODBench's authors.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import load_templates
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import DataError, EyechartError, SpecError
from eyechart.files.folders import STORE
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.messages.suggestions import did_you_mean
from eyechart.messages.terminal import align_numbers, progress_interval
from eyechart.models.registry import capabilities, create_model, find_backend
from eyechart.models.runtime.device import assign_device
from eyechart.models.spec import parse_spec
from eyechart.oodbench.data.annotated_splits import BENCHMARK
from eyechart.oodbench.division.case_division import NONE, OWN, DivisionResult, compute_division
from eyechart.oodbench.division.division_files import write_division
from eyechart.oodbench.division.division_options import DETECTING
from eyechart.oodbench.division.flags import OUTSCORED, UNLIKELY
from eyechart.oodbench.division.pairs import (
    HARD_SAMPLES,
    OOD_H,
    OOD_S,
    SETS,
    Division,
    require_annotation,
    usable_images,
)
from eyechart.protocol.options import OptionValues, is_fraction

INITIAL = (f"{OOD_S}'", f"{OOD_H}'")
HEADS = ("split", "images", "pairs", *SETS, *INITIAL)
PROGRAM = "eyechart divide"
PLACES = "Give folders that can be written to: --out=DIR for divisions, --store=DIR for answers."


def _table_row(dataset: Dataset, result: DivisionResult) -> tuple[str, ...]:
    """Return one row of the printed table: the numbers of images, of pairs, and of pairs in each set."""
    usable = usable_images(dataset, result.outputs)
    numbers = [int(usable.sum()), _count_pairs(dataset, result)]
    main = [_count_set(result.division, name, initial=False) for name in SETS]
    initial = [_count_set(result.division, name, initial=True) for name in (OOD_S, OOD_H)]
    return f"{dataset.benchmark}/{dataset.split}", *(f"{number:,}" for number in (*numbers, *main, *initial))


def _count_pairs(dataset: Dataset, result: DivisionResult) -> int:
    """Return the number of annotated image–category pairs in the images for which every detector has logits."""
    return int(require_annotation(dataset).present[usable_images(dataset, result.outputs)].sum())


def _count_set(division: Division, name: str, *, initial: bool) -> int:
    """Return the number of pairs of a set, in the main benchmark or (`initial`) in the initial benchmark."""
    here = np.array(division.sets, np.object_) == name
    return int((here if initial else here & division.main).sum())


def summary_lines(dataset: Dataset, result: DivisionResult, path: Path) -> Iterator[str]:
    """Yield the path of a division, the pairs that each detector flagged, and notes about what was left out."""
    yield f"{dataset.benchmark}/{dataset.split}: {path}"
    yield from (_detector_summary(dataset, result, index) for index in range(len(result.outputs)))
    absent, hard = int((~result.division.present).sum()), result.division.sets.count(HARD_SAMPLES)
    if absent:
        yield f"  absent categories that a detector predicted as present: {absent:,}"
    if hard:
        yield f"  hard samples: {hard:,}"
    if not result.division.main.any():
        yield "  note: the division has no pairs, so that there are no questions"
    yield from (f"  note: {note}" for note in result.division.notes)


def _detector_summary(dataset: Dataset, result: DivisionResult, index: int) -> str:
    """Return how many pairs one detector flagged; every flagged pair is in the initial benchmark."""
    division, every = result.division, _count_pairs(dataset, result)
    counted = division.present & (np.array(division.sets, np.object_) != HARD_SAMPLES)
    codes = division.flags[counted, index]
    case1, case2, either = (int((codes & case > 0).sum()) for case in (OUTSCORED, UNLIKELY, OUTSCORED | UNLIKELY))
    of = f" ({either / every:.1%})" if every else ""
    return (
        f"  {division.detectors[index].spec}: {either:,} of {every:,} pairs flagged{of}, {case1:,} by case 1, "
        f"{case2:,} by case 2"
    )


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """What to divide: the splits of a root (None: the packaged sample); by which detectors; and where to write."""

    root: str | None = None
    detectors: tuple[str, ...] = ()
    templates: str = "1"
    threshold: str = "0.05"
    max_pairs: int = 3000
    absent_categories: bool = False
    hard_samples: str = NONE
    splits: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 42
    store: Path = STORE
    out: Path = Path("divisions")
    offline: bool = False

    def values(self) -> OptionValues:
        """Return the options as a case of pytest has them."""
        return {
            "detectors": "+".join(self.detectors) or OWN,
            "detector_templates": self.templates,
            "threshold": self.threshold,
            "max_pairs": str(self.max_pairs),
            "absent_categories": "yes" if self.absent_categories else "no",
            "hard_samples": self.hard_samples,
        }


def build_divisions(options: BuildOptions) -> int:
    """Divide every selected split, print a summary, and return the exit status.

    An error of one split is printed on stderr; the other splits are still divided, and the exit status is 2.
    """
    check_options(options)
    refs = _select_splits(options.root, options.splits)
    lender = _DetectorPool(offline=options.offline)
    results = [divided_split for ref in refs if (divided_split := _divide_split(ref, options, lender))]
    if results:
        print("\n".join(align_numbers([HEADS, *(_table_row(*result) for result in results)])))
    for dataset, result in results:
        print("\n".join(["", *summary_lines(dataset, result, options.out / f"{dataset.split}.json")]))
    return 0 if len(results) == len(refs) else 2


def parse_probability(text: str) -> str:
    """Return a probability from 0 to 1 in the spelling that is recorded."""
    if not is_fraction(text):
        raise SpecError(f"expected a probability from 0 to 1, got '{text}'")
    return str(float(text))


def check_options(options: BuildOptions) -> None:
    """Raise SpecError or DataError for options that are wrong whatever the data are."""
    load_templates(options.templates)
    for text in options.detectors:
        if "]+" in text:
            raise SpecError(f"--detector={text} names several detectors. Repeat --detector for each of them.")
        spec = parse_spec(text)
        find_backend(spec)
        if DETECTING.isdisjoint(capabilities(spec)):
            raise SpecError(
                f"--detector={text} offers {', '.join(sorted(capabilities(spec)))}. Give an encoder, a matcher, or a "
                "classifier of the categories, such as open_clip[ViT-L-14,pretrained=openai]."
            )


def _select_splits(root: str | None, names: Sequence[str]) -> list[SplitRef]:
    """Return the annotated splits under the root, or only those with the given names."""
    packaged = [str(ref) for ref in list_splits()]
    annotated = {ref.split: ref for ref in list_splits(root) if ref.benchmark == BENCHMARK}
    if root is not None:
        annotated = {name: ref for name, ref in annotated.items() if str(ref) not in packaged}
    where = "packaged" if root is None else f"under {root}"
    if not annotated:
        raise DataError(
            f"There are no annotated images {where}. Expected the folder of COCO, LVIS, nuScenes or Cityscapes in its "
            f"published layout, or a folder of several of them: {PROGRAM} ROOT"
        )
    for name in names:
        if name not in annotated:
            raise DataError(
                f"--split={name}: there is no such split {where}{did_you_mean(name, [*annotated])} Available splits: "
                f"{', '.join(annotated)}."
            )
    return [annotated[name] for name in dict.fromkeys(names or annotated)]


def _divide_split(
    ref: SplitRef, options: BuildOptions, lender: "_DetectorPool"
) -> tuple[Dataset, DivisionResult] | None:
    """Divide a split and write its files; print the error and return None if that fails."""
    try:
        opened = open_split(ref, cache=options.store / "index", offline=options.offline)
        dataset = opened.subsample(options.limit, options.seed)
        bar = lender.start_split(str(ref))
        runner = Runner(Store(options.store, on_wait=_report_error), options.limit, options.seed, bar)
        result = compute_division(runner, dataset, lender, options.values())
        write_division(options.out / f"{dataset.split}.json", result.division, dataset)
    except EyechartError as error:
        _report_error(f"{ref}: {error}")
        return None
    except OSError as error:
        where, why = error.filename or options.out, error.strerror or error
        _report_error(f"{ref}: {where} cannot be used ({why}). {PLACES}")
        return None
    finally:
        lender.bar.close()
    return dataset, result


def _report_error(sentence: str) -> None:
    """Print an error on stderr."""
    print(f"eyechart: {sentence}", file=sys.stderr)


@dataclass
class _ProgressBar:
    """A progress bar on stderr for one detector and split."""

    title: str = ""
    bar: "tqdm[Any] | None" = None

    def __call__(self, done: int, total: int, unit: str, _cost: str = "", /) -> None:
        """Update the bar; the first call gives the number of cached answers as `done`."""
        if self.bar is None:
            self.bar = tqdm(
                desc=self.title, total=total, initial=done, unit=f" {unit}", mininterval=progress_interval()
            )
        self.bar.update(done - self.bar.n)
        if done == total:
            self.close()

    def close(self) -> None:
        """Close the bar and keep its line on the screen."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


@dataclass
class _DetectorPool:
    """Creates each detector once."""

    offline: bool
    split: str = ""
    bar: _ProgressBar = field(default_factory=_ProgressBar)
    models: dict[str, Any] = field(default_factory=dict)

    def start_split(self, split: str) -> _ProgressBar:
        """Set the split that the progress bar names, and return the bar."""
        self.split = split
        return self.bar

    def __call__(self, spec: str) -> Any:
        """Return the detector of a specification; create it on the first call."""
        self.bar.title = f"{self.split}: {spec}"
        if spec not in self.models:
            self.models[spec] = create_model(parse_spec(spec), device=assign_device(0), offline=self.offline)
        return self.models[spec]
