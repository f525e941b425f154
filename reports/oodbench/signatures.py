"""Comparison of a model's degradation with reference models: section B.2.2 and Figure 10 of arXiv 2602.18094."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyechart.errors import ReportError
from eyechart.metrics.degradation import Equivalence, degradation_band, tost
from eyechart.metrics.intervals import Interval
from eyechart.oodbench.division import ID
from eyechart.spec import did_you_mean

from ..answers import Ints
from ..render import MISSING, PERCENT, Cell, NumberCell, Table
from ..runs import Runs
from .cases import nothing_to_show
from .degradation import (
    DELTA_STYLE,
    FALL,
    SetDegradation,
    build_tables,
    degradation_table,
    long_rows,
    pooled_degradations,
)
from .measures import HEADS, TIMES, interval_or_none
from .model_cases import model_labels

BAND = "Band: from the lowest lower to the highest upper end of the reference models' intervals of Δ."
ALIKE = (
    f"δ: the model's Δ less the mean Δ of the reference models, in % points, over pairs that all have answered; "
    f"brackets: 90 % intervals of {TIMES:,} resamples, which draw the same images for all. η: the standard "
    "deviation of the reference models' resampled Δ, pooled. Equivalent: the interval lies inside ±η (two one-sided "
    "tests at 5 %)."
)


@dataclass(frozen=True)
class ReferenceComparison(SetDegradation):
    """A model's degradation and those of reference models with the same pairs and settings."""

    references: tuple[SetDegradation, ...] = ()

    @cached_property
    def bands(self) -> Mapping[str, Interval]:
        """The band of the reference models' degradations."""
        return {measure: degradation_band([fall.measures[measure].ci for fall in self.references]) for measure in HEADS}

    @cached_property
    def equivalence(self) -> Mapping[str, Equivalence]:
        """The test of equivalence with the mean degradation of the reference models."""
        in_rows, ood_rows = (self.all_answered(name) for name in (ID, self.name))
        strata, images = (in_rows[1], ood_rows[1]), (in_rows[2], ood_rows[2])
        return tost(in_rows[0], ood_rows[0], TIMES, self.block.seed, strata, images)

    def all_answered(self, name: str) -> tuple[Ints, Ints, Ints]:
        """Return confusion tables (models, m, 4), data sets (m,) and images (m,) of pairs that all models answered."""
        rows = [block.rows(name) for block in (self.block, *(fall.block for fall in self.references))]
        kept = np.all([answered for *_, answered in rows], axis=0)
        return np.stack([counts[kept, :4] for counts, *_ in rows]), rows[0][1][kept], rows[0][2][kept]


def reference_comparisons(pool: Runs, name: str) -> list[list[ReferenceComparison]]:
    """Return each model with its reference models: those of `--reference`, or else all other models."""
    groups = pooled_degradations(pool, name)
    chosen = reference_models(pool, [fall for of in groups for fall in of])
    comparisons = [
        [comparison for fall in of if (comparison := with_references(fall, of, chosen)).references] for of in groups
    ]
    if not any(comparisons):
        what = "compares models with reference models that were asked the same pairs in the same way"
        raise nothing_to_show(pool, name, what, 'pytest -k "oodbench and existence" --eye-model=A --eye-model=B')
    return [of for of in comparisons if of]


def with_references(
    fall: SetDegradation, others: Sequence[SetDegradation], chosen: Sequence[str]
) -> ReferenceComparison:
    """Return a degradation with those of its reference models; a model that `--reference` names gets none."""
    alike = [
        other
        for other in others
        if (other.name, other.block.prompt_settings()) == (fall.name, fall.block.prompt_settings())
        and other.block.model != fall.block.model
    ]
    if chosen:
        alike = [other for other in alike if other.block.model in chosen and fall.block.model not in chosen]
    return ReferenceComparison(fall.block, fall.name, tuple(alike))


def reference_models(pool: Runs, falls: Sequence[SetDegradation]) -> tuple[str, ...]:
    """Return the names of the reference models as shown in tables; raise ReportError for an unknown model."""
    known = {fall.block.entries[0].record.model.title: fall.block.model for fall in falls}
    known |= {model: model for model in known.values()}
    for name in pool.references:
        if name not in known:
            raise ReportError(
                f"--reference={name} is no model that these runs asked{did_you_mean(name, [*known])} "
                f"There are: {', '.join(known)}."
            )
    return tuple(known[name] for name in pool.references)


def signature_tables(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """Return the tables of behavioural signatures: each model's degradation and the band of its reference models."""
    columns = ("Model", "Data Type", "Num", "Measure", "Δ", "Band low", "Band high", "Δ lies")
    return build_tables(
        reference_comparisons(pool, "oodbench-signature"),
        lambda of: degradation_table(
            of, "behavioural signature", columns, list(long_rows(of, band_cells)), FALL, BAND, *reference_notes(of)
        ),
    )


def band_cells(fall: ReferenceComparison, measure: str) -> Iterator[Cell]:
    """Yield the cells of one measure: the degradation, both ends of the band, and the position relative to the band."""
    low, high = fall.bands[measure]
    delta = fall.measures[measure].delta
    yield fall.delta(measure)
    yield from (NumberCell(end, style=DELTA_STYLE) for end in (low, high))
    yield MISSING if np.isnan([low, delta]).any() else "below" if delta < low else "above" if delta > high else "inside"


def f10(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """Return Figure 10 as a table: the test of equivalence with the reference models."""
    columns = ("Model", "Data Type", "Num", "Measure", "δ", "η", "Equivalent")
    return build_tables(
        reference_comparisons(pool, "oodbench-F10"),
        lambda of: degradation_table(
            of,
            "equivalence of falls",
            columns,
            list(long_rows(of, equivalence_cells, count_shared_answers)),
            ALIKE,
            *reference_notes(of),
        ),
    )


def count_shared_answers(fall: ReferenceComparison) -> int:
    """Return the number of the model's answers to pairs that all models answered."""
    return sum(int(fall.all_answered(name)[0][0].sum()) for name in (ID, fall.name))


def equivalence_cells(fall: ReferenceComparison, measure: str) -> Iterator[Cell]:
    """Yield the cells of one measure: the difference, the margin, and the decision."""
    result = fall.equivalence[measure]
    yield NumberCell(result.delta, ci=interval_or_none(result.ci), style=DELTA_STYLE)
    yield NumberCell(result.eta, style=PERCENT)
    yield MISSING if np.isnan(result.delta) else "yes" if result.equivalent else "no"


def reference_notes(comparisons: Sequence[ReferenceComparison]) -> Iterator[str]:
    """Yield one note per model that lists its reference models."""
    names = model_labels([fall.block for of in comparisons for fall in (of, *of.references)])
    for block, references in {id(fall.block): (fall.block, fall.references) for fall in comparisons}.values():
        others = ", ".join(names[id(other.block)] for other in references)
        yield f"Reference of {names[id(block)]}{block.suffix}: {others}."


TABLES: Mapping[str, Callable[[Runs, str | None], list[Table]]] = {
    "oodbench-signature": signature_tables,
    "oodbench-F10": f10,
}
