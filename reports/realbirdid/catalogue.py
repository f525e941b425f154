"""The tables and figures of RealBirdID by name, in the order of arXiv 2603.27033."""

from . import (
    abstention,
    abstention_charts,
    bar_charts,
    choices,
    correlation,
    curve_charts,
    curves,
    data_sets,
    flat,
    genera,
    range_charts,
    ranges,
    reasons,
    summary,
)

MODULES = (data_sets, summary, correlation, flat, abstention, genera, ranges, reasons, curves, choices)
TABLES = tuple(table for module in MODULES for table in module.TABLES)
CHARTS = (genera, data_sets, bar_charts, curve_charts, range_charts, abstention_charts, choices)
FIGURES = tuple(figure for module in CHARTS for figure in module.FIGURES)
OVERVIEW = ("T2", "T3", "F4", "F19", "free-form", "T4", "F7", "F8")  # tables of the overview
