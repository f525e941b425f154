"""`audit`: evaluate the same weights under other settings, and report how many answers change."""

import dataclasses
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

import pandas as pd

from eyechart.api.evaluation import evaluate
from eyechart.api.run_settings import RunSettings, complete_settings
from eyechart.data.dataset.limits import Limit
from eyechart.errors import SpecError
from eyechart.gate.verdicts.decide import DEFAULT_RULE
from eyechart.models.options import names_of
from eyechart.models.own_class import option_names
from eyechart.models.pool import ModelPool
from eyechart.models.registry import find_backend
from eyechart.models.spec import ModelSpec, parse_named_spec
from eyechart.reports.comparison.noise_floor_table import (
    Variation,
    audit_table,
    audited_cases,
    compare_settings,
    conclusions,
)
from eyechart.reports.tables.render import RENDERERS

BATCH_SIZE, DTYPE = "batch_size", "dtype"
CACHES = ("index", "weights")  # folders of the store that hold no answers


@dataclass(frozen=True)
class Audit:
    """How many answers of a model change under other settings, case by case."""

    model: str
    variations: tuple[Variation, ...]

    @cached_property
    def flips(self) -> pd.DataFrame:
        """One row per case and setting: counts, flip rate and noise floor with intervals. Shares are fractions."""
        return pd.DataFrame([_variation_row(item) for item in self.variations])

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row per sample whose prediction or outcome changed, with what it was before and after."""
        parts = [
            item.flipped.assign(case=item.case, protocol=item.protocol, setting=item.setting)
            for item in self.variations
        ]
        return pd.concat(parts, ignore_index=True)

    @property
    def conclusions(self) -> list[str]:
        """One sentence per case: the noise floor, below which the gate cannot decide."""
        return [*conclusions(self.variations)]

    def __repr__(self) -> str:
        return str(RENDERERS["md"]([audit_table(self.variations, self.model)]))


def audit(
    model: str,
    data: Any,
    *,
    batch_size: Collection[int | str] = (),
    dtype: Collection[str] = (),
    against: Collection[str] = (),
    repeats: int = 1,
    alpha: float = DEFAULT_RULE.alpha,
    protocol: str | Collection[str] = (),
    options: Mapping[str, object] | None = None,
    limit: Limit = None,
    seed: int = 42,
    **settings: Unpack[RunSettings],
) -> Audit:
    """Evaluate a model several times, and return how many of its answers change.

    The reference is the model as specified. Its answers come from the store where they are stored. Those of the others
    are computed anew: no answer is read from the store. Without `batch_size`, `dtype` and `against` the batch size 1 is
    compared, if the model has this option. Samples that end in an error are left out.

    Args:
        model: A specification.
        data: As for `evaluate`.
        batch_size: Batch sizes that are compared.
        dtype: Precisions that are compared.
        against: Other specifications, such as another engine with the same weights.
        repeats: How many evaluations under the same settings are compared.
        alpha: The significance level of the gate whose noise floor is computed.
        protocol: As for `evaluate`.
        options: As for `evaluate`.
        limit: As for `evaluate`.
        seed: As for `evaluate`.
        settings: As for `evaluate`, without `out`: runs are not kept.

    Returns:
        How many answers change under each setting, and the noise floor of the gate.

    Raises:
        EyechartError: For wrong arguments, before anything is evaluated, for missing data, or if a case cannot be
            compared.
    """
    if "out" in settings:
        raise SpecError(f"audit keeps no runs, so that out={str(settings['out'])!r} has no effect: leave it out.")
    chosen = complete_settings("audit", settings)
    spec = parse_named_spec(model)
    variants = [*vary(spec, batch_size, dtype, against, repeats)]
    _check_models([spec, *(other for _, other in variants)], offline=chosen["offline"])
    arguments: dict[str, Any] = {
        "protocol": protocol,
        "options": options,
        "limit": limit,
        "seed": seed,
        "max_errors": sys.maxsize,  # a sample without an answer is left out, and counted
    }
    variations: list[Variation] = []
    with TemporaryDirectory(prefix="eyechart-audit-") as folder:
        kept: RunSettings = {**chosen, "out": Path(folder) / "runs"}
        reference = audited_cases(evaluate(str(spec), data, **arguments, **kept).folder)
        for number, (setting, other) in enumerate(variants):
            fresh = Path(folder) / str(number)
            _copy_caches(Path(chosen["store"]), fresh)
            anew: RunSettings = {**kept, "store": fresh}
            run = evaluate(str(other), data, **arguments, **anew)
            variations += compare_settings(reference, audited_cases(run.folder), setting, alpha)
            shutil.rmtree(fresh)
    return Audit(spec.name, tuple(variations))


def vary(
    spec: ModelSpec,
    batch_sizes: Collection[int | str],
    dtypes: Collection[str],
    against: Collection[str],
    repeats: int,
) -> Iterator[tuple[str, ModelSpec]]:
    """Yield what is compared with the reference: the changed setting, and the specification."""
    if repeats < 0:
        raise SpecError(f"repeats is {repeats}. Expected a whole number of at least 0.")
    sizes = [*map(str, batch_sizes)]
    if not (sizes or dtypes or against) and BATCH_SIZE in _known_options(spec):
        sizes = ["1"]
    for number in range(1, repeats + 1):
        yield "none" if repeats == 1 else f"none ({number})", spec
    for option, values in ((BATCH_SIZE, sizes), (DTYPE, dtypes)):
        for value in values:
            yield f"{option}={value}", _with_option(spec, option, value)
    for text in against:
        other = parse_named_spec(text)
        yield other.name, other


def _known_options(spec: ModelSpec) -> Sequence[str]:
    """Return the options that a specification of this backend may have."""
    backend = find_backend(spec)
    model_class = backend.load_class()
    return names_of(model_class.declared_options) if backend.is_built_in else sorted(option_names(model_class))


def _with_option(spec: ModelSpec, option: str, value: str) -> ModelSpec:
    """Return the specification with another value of an option. Raises SpecError for a model without the option."""
    known = _known_options(spec)
    if option not in known:
        raise SpecError(
            f"'{spec}' has no option '{option}', so that --{option.replace('_', '-')} cannot change it. The options of "
            f"{spec.backend} are: {', '.join(known) or 'none'}. Leave the option out, or name another model with "
            "--against=SPEC."
        )
    return dataclasses.replace(spec, options={**spec.options, option: value})


def _check_models(specs: Sequence[ModelSpec], *, offline: bool) -> None:
    """Make every model, without loading weights: a wrong option is an error before the first evaluation."""
    models = ModelPool(offline=offline)
    for spec in dict.fromkeys(specs):
        models.create(spec).close()


def _copy_caches(store: Path, fresh: Path) -> None:
    """Copy the indexes of data and the digests of weights into a new store, which has no answers."""
    for name in CACHES:
        if (store / name).is_dir():
            shutil.copytree(store / name, fresh / name)


def _variation_row(item: Variation) -> dict[str, object]:
    """Return the row of a variation in `Audit.flips`."""
    flips, floor = item.flips, item.floor
    return {
        "case": item.case,
        "protocol": item.protocol,
        "setting": item.setting,
        "n": flips.n,
        "changed": flips.changed,
        "flip_rate": flips.rate,
        "low": flips.ci.low,
        "high": flips.ci.high,
        "lost": floor.lost,
        "gained": floor.gained,
        "errors": item.errors,
        "noise_floor": floor.detectable,
        "noise_floor_low": floor.detectable_ci.low,
        "noise_floor_high": floor.detectable_ci.high,
        "excludable_loss": floor.excludable,
        "score_change": item.score_change,
    }
