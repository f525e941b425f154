"""OODBench's tables and figures by name, in the order of arXiv 2602.18094."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

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

TABLES = (
    *division.TABLES,
    *coverage.TABLES,
    *hard_samples.TABLES,
    *spread.TABLES,
    *logits.TABLES,
    *progression.TABLES,
    *existence.TABLES,
    *degradation.TABLES,
    *signatures.TABLES,
    *ablations.TABLES,
    *detectors.TABLES,
    *mmd.TABLES,
    *overlap.TABLES,
)
FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {
    "oodbench-F2": charts.f2,
    "oodbench-F6": charts.COVERAGE_CHART,
    "oodbench-F8": charts.f8,
    "oodbench-F11": hard_sample_charts.HARD_SAMPLE_CHART,
    "oodbench-F12": hard_sample_charts.f12,
    "oodbench-F14": logit_charts.f14,
    "oodbench-F15": logit_charts.f15,
    "oodbench-F16": logit_charts.f16,
    **figures.FIGURES,
}
