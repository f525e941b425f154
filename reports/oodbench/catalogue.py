"""OODBench's tables and figures by name, in the order of arXiv 2602.18094."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..render import Table
from ..runs import Runs
from . import (
    ablations,
    charts,
    coverage,
    degradation,
    detectors,
    division,
    existence,
    figures,
    hard_sample_charts,
    hard_samples,
    logit_charts,
    logits,
    mmd,
    overlap,
    progression,
    signatures,
    spread,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES: Mapping[str, Callable[[Runs, str | None], list[Table]]] = {
    "oodbench-F2": division.SET_SIZES,
    "oodbench-F6": coverage.f6,
    "oodbench-F8": division.INITIAL_SET_SIZES,
    "oodbench-T8": hard_samples.t8,
    "oodbench-F11": hard_samples.f11,
    "oodbench-F12": spread.f12,
    "oodbench-F14": logits.f14,
    "oodbench-F15": logits.f15,
    "oodbench-F16": logits.f16,
    "oodbench-mmd": mmd.mmd,
    "oodbench-population": overlap.raise_nothing_to_show,
    **{table.alias: table for table in (*progression.TABLES, *existence.TABLES)},
    "oodbench-T2": ablations.T2,
    "oodbench-T9": detectors.T9,
    "oodbench-F13": detectors.F13,
    **degradation.TABLES,
    **signatures.TABLES,
}
FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {
    "oodbench-F2": charts.f2,
    "oodbench-F6": charts.f6,
    "oodbench-F8": charts.f8,
    "oodbench-F11": hard_sample_charts.f11,
    "oodbench-F12": hard_sample_charts.f12,
    "oodbench-F14": logit_charts.f14,
    "oodbench-F15": logit_charts.f15,
    "oodbench-F16": logit_charts.f16,
    **figures.FIGURES,
}
