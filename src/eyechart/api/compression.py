"""`compress`: evaluate a model and its compressed variants, and say for each whether the accuracy was kept."""

import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd

from eyechart.api.evaluation import evaluate, open_data
from eyechart.api.run_settings import RunSettings, check_whole_number, complete_settings
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.dataset.limits import Limit
from eyechart.errors import ModelError, SpecError
from eyechart.files.atomic import write_atomic
from eyechart.gate.session.gate_status import INCONCLUSIVE, REGRESSION
from eyechart.gate.verdicts.decide import DEFAULT_RULE, Rule
from eyechart.inference.engines.speed import Speed, compare_speeds
from eyechart.messages.plurals import count_of
from eyechart.models.pool import ModelPool
from eyechart.models.spec import ModelSpec, parse_alias, parse_named_spec
from eyechart.models.types import Identity, Model
from eyechart.models.weights.digests import file_sha256
from eyechart.reports.comparison.compression import (
    NOT_SHOWN,
    ORIGINAL,
    WORSE,
    Answers,
    CompressedCase,
    Key,
    Variant,
    compare_variant,
)
from eyechart.reports.comparison.compression_chart import draw_compression
from eyechart.reports.comparison.compression_page import compression_page
from eyechart.reports.comparison.compression_tables import compression_tables
from eyechart.reports.runs import load
from eyechart.reports.tables.render import RENDERERS, Table
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import Floats
from eyechart.results.records import LINES, Record, decode

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CACHES = ("index", "weights")  # folders of the store that hold no answers
MARGIN = 0.01


@dataclass(frozen=True)
class Compression:
    """A model and its compressed variants, case by case."""

    cases: tuple[CompressedCase, ...]

    @cached_property
    def variants(self) -> pd.DataFrame:
        """One row per case and variant: size, accuracy, flips and verdict. Shares are fractions."""
        return pd.DataFrame([_variant_row(item) for item in self.cases])

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row per sample whose prediction or outcome changed, with what it was before and after."""
        parts = [
            item.flipped.assign(case=item.key[0], protocol=item.key[1], variant=item.variant.name)
            for item in self.cases
        ]
        return pd.concat(parts, ignore_index=True)

    @cached_property
    def classes(self) -> pd.DataFrame:
        """One row per case, variant and class that lost more samples than it gained, with the difference."""
        rows = [
            (item.key[0], item.key[1], item.variant.name, target, count)
            for item in self.cases
            for target, count in item.lost_classes.items()
        ]
        return pd.DataFrame(rows, columns=["case", "protocol", "variant", "class", "lost"])

    @property
    def tables(self) -> list[Table]:
        """A table for each case of the original."""
        return compression_tables(self.cases)

    @property
    def status(self) -> int:
        """The exit status of the command: 10 if a variant is worse, else 13 if one is not shown to be kept, else 0."""
        verdicts = {item.verdict for item in self.cases}
        return REGRESSION if WORSE in verdicts else INCONCLUSIVE if NOT_SHOWN in verdicts else 0

    def plot(self) -> "Figure":
        """Draw the change of accuracy of each variant, with its interval, against size and against speed.

        Returns:
            A figure of matplotlib.

        Raises:
            ReportError: If matplotlib is missing.
        """
        return draw_compression(self.cases)

    def page(self, out: Path | str) -> Path:
        """Write a page, one HTML file that opens from disk, with the tables, the chart and the changed predictions.

        Args:
            out: The file.

        Returns:
            Its path.
        """
        path = Path(out)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, compression_page(self.cases).encode())
        return path

    def __repr__(self) -> str:
        return str(RENDERERS["md"](self.tables))


def compress(
    original: str,
    data: Any,
    variants: Mapping[str, str],
    *,
    margin: float = MARGIN,
    alpha: float = DEFAULT_RULE.alpha,
    protocol: str | Collection[str] = (),
    options: Mapping[str, object] | None = None,
    limit: Limit = None,
    seed: int = 42,
    speed: bool = True,
    calibration: Path | str | None = None,
    **settings: Unpack[RunSettings],
) -> Compression:
    """Evaluate a model and its compressed variants, and return for each whether its accuracy was kept.

    A variant is any other specification: an exported file, another precision, engine or batch size. One that equals the
    original's is computed anew, so that it shows how many answers change without a cause. All other answers come from
    the store where they are stored. Samples that end in an error are left out.

    Args:
        original: The specification of the model that was compressed.
        data: As for `evaluate`, or a list of names of splits.
        variants: The specification of each variant by its name.
        margin: The loss that must be excluded for the verdict `kept`, a fraction below 0.5.
        alpha: The significance level, as that of the gate.
        protocol: As for `evaluate`.
        options: As for `evaluate`.
        limit: As for `evaluate`.
        seed: As for `evaluate`.
        speed: Whether the speed of classifiers and image encoders is measured, by 16 images of the first split.
        calibration: The images that variants were calibrated with, a folder or the name of a split. They are refused if
            some of them are evaluated, which their bytes tell.
        settings: As for `evaluate`, without `out`: runs are not kept.

    Returns:
        Size, accuracy, changed answers and verdict of each variant.

    Raises:
        EyechartError: For wrong arguments, before anything is evaluated, for missing data, or if a case cannot be
            compared.
    """
    if "out" in settings:
        raise SpecError(f"compress keeps no runs, so that out={str(settings['out'])!r} has no effect: leave it out.")
    if not 0 < margin < 0.5:
        raise SpecError(f"margin is {margin}. Expected a fraction above 0 and below 0.5, such as 0.01 for one point.")
    if not 0 < alpha < 0.5:
        raise SpecError(f"alpha is {alpha}. Expected a significance level above 0 and below 0.5, such as 0.01.")
    chosen = complete_settings("compress", settings)
    splits = data if isinstance(data, list | tuple) else [data]
    seed = check_whole_number("seed", seed)
    spec, specs = _parse("The original", original), _name_variants(variants)
    identities, sizes = _describe_models([spec, *specs.values()], offline=chosen["offline"])
    arguments: dict[str, Any] = {
        "protocol": protocol,
        "options": options,
        "limit": limit,
        "seed": seed,
        "max_errors": sys.maxsize,  # a sample without an answer is left out, and counted
    }
    rule = Rule(alpha=alpha, margin=margin)
    cases: list[CompressedCase] = []
    with TemporaryDirectory(prefix="eyechart-compress-") as folder:
        kept: RunSettings = {**chosen, "out": Path(folder) / "runs"}
        if calibration is not None:
            hashes = _hash_calibration(calibration, kept, seed)
            for split in splits:
                _check_calibration(hashes, open_data(split, kept, limit, seed))
        before = _answer(spec, splits, arguments, kept)
        of_original = Variant(spec.name, sizes[spec])
        speeds: Sequence[Speed | None] = [None] * len(specs)
        if speed:
            images = open_data(splits[0], kept, limit, seed)
            speeds = _measure_speeds(spec, [*specs.values()], images, offline=kept["offline"])
        for (name, other), measured in zip(specs.items(), speeds, strict=True):
            with _store_for(other, spec, chosen["store"], Path(folder)) as store:
                after = _answer(other, splits, arguments, {**kept, "store": store})
            difference = _describe_difference(identities[spec], identities[other])
            variant = Variant(name, sizes[other], difference, measured)
            cases += compare_variant(of_original, before, variant, after, rule)
    return Compression(tuple(cases))


def _name_variants(variants: Mapping[str, str]) -> dict[str, ModelSpec]:
    """Return the specifications of variants by name. Raises SpecError if there is none, or a name is not allowed."""
    if not isinstance(variants, Mapping):
        raise SpecError(f"The variants are a {type(variants).__name__}. Expected a mapping from names, {{name: SPEC}}.")
    if not variants:
        raise SpecError("There is no variant to compare. Give at least one, such as int8=onnx[model_int8.onnx].")
    if ORIGINAL in variants:
        raise SpecError(f"A variant has the name '{ORIGINAL}', which the table gives the first model. Rename it.")
    return {parse_alias(name, "A variant"): _parse(f"The variant {name}", text) for name, text in variants.items()}


def _parse(subject: str, spec: object) -> ModelSpec:
    """Return a specification. Raises SpecError for a model in memory, which has no file whose size is known."""
    if not isinstance(spec, str):
        raise SpecError(
            f"{subject} is of the type {type(spec).__name__}. Expected a specification such as onnx[int8.onnx]; models "
            "in memory are compared by evaluate(…) of each and compare(A, B, margin=0.01)."
        )
    return parse_named_spec(spec)


def _hash_calibration(calibration: Path | str, settings: RunSettings, seed: int) -> dict[str, str]:
    """Return the names of calibration images by the sha256 of their bytes. Raises SpecError if there are none."""
    folder = Path(calibration)
    if not folder.is_dir():
        dataset = open_data(str(calibration), settings, None, seed)
        return dict(zip(dataset.selected_digests, dataset.keys, strict=True))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        raise SpecError(f"The folder of calibration images {folder} has no file. Check the path.")
    return {file_sha256(path): path.relative_to(folder).as_posix() for path in files}


def _check_calibration(hashes: Mapping[str, str], dataset: Dataset) -> None:
    """Raise SpecError if calibration images are evaluated: a model may be better on them than on others."""
    names = [hashes[digest] for digest in dataset.selected_digests if digest in hashes]
    if names:
        counted = count_of(len(names), "calibration image is", "calibration images are")
        raise SpecError(
            f"{counted} among the {len(dataset.selected):,} evaluated images of {dataset.benchmark}/{dataset.split}, "
            f"such as {names[0]}. A variant may be better on them than on others: calibrate with images that are not "
            "evaluated, or evaluate others."
        )


def _describe_models(
    specs: Sequence[ModelSpec], *, offline: bool
) -> tuple[dict[ModelSpec, Identity], dict[ModelSpec, int]]:
    """Return the identity of every model and the bytes of its files, 0 if these are not known.

    Weights are not loaded: a wrong option or a missing file is an error before the first evaluation.
    """
    models = ModelPool(offline=offline)
    identities, sizes = {}, {}
    for spec in dict.fromkeys(specs):
        model = models.create(spec)
        identities[spec], sizes[spec] = model.identity, _size_of(model)
        model.close()
    return identities, sizes


def _measure_speeds(
    original: ModelSpec, variants: Sequence[ModelSpec], images: Dataset, *, offline: bool
) -> list[Speed | None]:
    """Return the speed of every variant beside the original; all models are in memory meanwhile."""
    models = ModelPool(offline=offline)
    with ExitStack() as stack:
        first, *others = [models.create(spec) for spec in (original, *variants)]
        for model in (first, *others):
            stack.callback(model.close)
        return compare_speeds(first, others, images)


def _size_of(model: Model) -> int:
    try:
        return sum(path.stat().st_size for path in model.weight_files)
    except OSError as error:
        raise ModelError(f"{error.filename} cannot be read ({error.strerror}). Check the path.") from error


def _describe_difference(before: Identity, after: Identity) -> str:
    """Return what a variant has otherwise than the original, as a list.

    Settings of the processor and libraries are named; of another backend, those that both have.
    """
    parts = []
    if before.backend != after.backend:
        parts.append(f"backend ({before.backend}, now {after.backend})")
    if before.weights_sha256 != after.weights_sha256:
        parts.append("files")
    if before.dtype != after.dtype:
        parts.append(f"number format ({before.dtype}, now {after.dtype})")
    for what, old, new in (
        ("settings", before.processor, after.processor),
        ("libraries", before.libraries, after.libraries),
    ):
        known = {**old, **new} if before.backend == after.backend else sorted(old.keys() & new.keys())
        if names := [name for name in known if old.get(name) != new.get(name)]:
            parts.append(f"{what} ({', '.join(names)})")
    return ", ".join(parts)


class _ReadScores:
    """A metric without a number: it keeps the scores of each case, which files have with four digits alone."""

    def __init__(self) -> None:
        self.scores: list[Floats | None] = []

    def __call__(self, predictions: Any) -> tuple[Estimate, ...]:
        self.scores.append(getattr(predictions, "scores", None))
        return ()


def _answer(
    spec: ModelSpec, splits: Sequence[Any], arguments: Mapping[str, Any], settings: RunSettings
) -> dict[Key, Answers]:
    """Evaluate a model, and return its cases by what the same case of another model has in common."""
    found: dict[Key, Answers] = {}
    for split in splits:
        reader = _ReadScores()
        run = evaluate(str(spec), split, metrics=[reader], **arguments, **settings)
        # The lines of a run are in the order in which its cases were scored; records.json is sorted.
        lines = (run.folder / LINES).read_bytes().splitlines()
        scored = [(record.case, record.protocol) for record in (decode(line, Record) for line in lines)]
        scores = dict(zip(scored, reader.scores, strict=True))
        cases = load([run.folder]).cases
        answers = [Answers(case, case.evidence, scores[case.record.case, case.record.protocol]) for case in cases]
        found |= {item.key: item for item in answers}
    return found


@contextmanager
def _store_for(spec: ModelSpec, original: ModelSpec, store: Path | str, folder: Path) -> Iterator[Path]:
    """Yield the store of a variant: one without answers if its specification is the original's."""
    if str(spec) != str(original):
        yield Path(store)
        return
    fresh = folder / "fresh"
    for name in CACHES:
        if (Path(store) / name).is_dir():
            shutil.copytree(Path(store) / name, fresh / name)
    yield fresh
    shutil.rmtree(fresh, ignore_errors=True)


def _variant_row(item: CompressedCase) -> dict[str, object]:
    """Return the row of a case and variant in `Compression.variants`."""
    flips, floor, speed = item.flips, item.floor, item.variant.speed
    number = item.primary.comparison if item.primary else None
    return {
        "case": item.key[0],
        "protocol": item.key[1],
        "variant": item.variant.name,
        "verdict": item.verdict,
        "bytes": item.variant.size or None,
        "smaller": item.smaller,
        "images_per_second": speed.images_per_second if speed else None,
        "original_images_per_second": speed.original if speed else None,
        "faster": speed.ratio if speed else None,
        "faster_low": speed.rounds.low if speed else None,
        "faster_high": speed.rounds.high if speed else None,
        "metric": number.metric.name if number else "",
        "before": number.before if number else None,
        "after": number.after if number else None,
        "change": number.delta if number else None,
        "change_low": number.ci.low if number and number.ci else None,
        "change_high": number.ci.high if number and number.ci else None,
        "p": item.primary.adjusted if item.primary else None,
        "excluded_loss": item.primary.limit if item.primary else None,
        "n": flips.n,
        "flips": flips.changed,
        "flip_rate": flips.rate,
        "flip_rate_low": flips.ci.low,
        "flip_rate_high": flips.ci.high,
        "lost": floor.lost,
        "gained": floor.gained,
        "errors": item.errors,
        "noise_floor": floor.detectable,
        "noise_floor_low": floor.detectable_ci.low,
        "noise_floor_high": floor.detectable_ci.high,
        "excludable_loss": floor.excludable,
        "score_change": item.scores.largest if item.scores else None,
        "top1_margin": item.scores.margin if item.scores else None,
    }
