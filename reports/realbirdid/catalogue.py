"""The tables and figures of RealBirdID by name, in the order of arXiv 2603.27033."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..render import Table
from ..runs import Runs
from . import (
    abstention,
    abstention_charts,
    bar_charts,
    candidate_charts,
    candidate_counts,
    curve_charts,
    curves,
    flat,
    genera,
    genus_charts,
    range_charts,
    ranges,
    reasons,
    summary,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODULES = (summary, flat, abstention, genera, ranges, reasons, curves, candidate_counts)
TABLES: Mapping[str, Callable[[Runs, str | None], list[Table]]] = {
    table.alias or table.name: table for module in MODULES for table in module.TABLES
}
FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {
    **genus_charts.FIGURES,
    **bar_charts.FIGURES,
    **curve_charts.FIGURES,
    **range_charts.FIGURES,
    **abstention_charts.FIGURES,
    **candidate_charts.FIGURES,
}
OVERVIEW = ("T2", "T3", "F4", "F19", "free-form", "T4", "F7", "F8")  # tables of the overview
