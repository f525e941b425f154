"""OODBench's tables and figures by their names, in the order of arXiv 2602.18094."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from . import (
    oodbench_ablations,
    oodbench_charts,
    oodbench_coverage,
    oodbench_degradation,
    oodbench_detectors,
    oodbench_division,
    oodbench_existence,
    oodbench_figures,
    oodbench_hard,
    oodbench_hard_charts,
    oodbench_logit_charts,
    oodbench_logits,
    oodbench_mmd,
    oodbench_overlap,
    oodbench_progression,
    oodbench_signatures,
    oodbench_spread,
)
from .render import Table
from .runs import Pool

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES: Mapping[str, Callable[[Pool, str | None], list[Table]]] = {
    "oodbench-F2": oodbench_division.f2,
    "oodbench-F6": oodbench_coverage.f6,
    "oodbench-F8": oodbench_division.f8,
    "oodbench-T8": oodbench_hard.t8,
    "oodbench-F11": oodbench_hard.f11,
    "oodbench-F12": oodbench_spread.f12,
    "oodbench-F14": oodbench_logits.f14,
    "oodbench-F15": oodbench_logits.f15,
    "oodbench-F16": oodbench_logits.f16,
    "oodbench-mmd": oodbench_mmd.mmd,
    "oodbench-population": oodbench_overlap.refused,
    **oodbench_progression.TABLES,
    **oodbench_existence.TABLES,
    "oodbench-T2": oodbench_ablations.T2,
    "oodbench-T9": oodbench_detectors.T9,
    "oodbench-F13": oodbench_detectors.F13,
    **oodbench_degradation.TABLES,
    **oodbench_signatures.TABLES,
}
FIGURES: Mapping[str, Callable[[Pool, str | None], "Figure"]] = {
    "oodbench-F2": oodbench_charts.f2,
    "oodbench-F6": oodbench_charts.f6,
    "oodbench-F8": oodbench_charts.f8,
    "oodbench-F11": oodbench_hard_charts.f11,
    "oodbench-F12": oodbench_hard_charts.f12,
    "oodbench-F14": oodbench_logit_charts.f14,
    "oodbench-F15": oodbench_logit_charts.f15,
    "oodbench-F16": oodbench_logit_charts.f16,
    **oodbench_figures.FIGURES,
}
