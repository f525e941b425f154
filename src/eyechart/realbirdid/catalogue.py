"""The tables and figures of RealBirdID by name, in the order of arXiv 2603.27033."""

from eyechart.realbirdid.figures import abstention_charts, bar_charts, range_charts
from eyechart.realbirdid.tables import (
    abstention_tables,
    choices,
    curves,
    data_sets,
    flat,
    genera,
    range_tables,
    reasons,
    summary_tables,
)

MODULES = (
    data_sets,
    summary_tables,
    flat,
    abstention_tables,
    genera,
    range_tables,
    reasons,
    curves,
    choices,
)
TABLES = tuple(table for module in MODULES for table in module.TABLES)
CHARTS = (genera, data_sets, bar_charts, curves, range_charts, abstention_charts, choices)
FIGURES = tuple(figure for module in CHARTS for figure in module.FIGURES)
NUMBERS = ("T2", "T3", "F4", "F19", "free-form", "T4", "F7", "F8")  # of the tables of the overview
OVERVIEW = tuple(table for number in NUMBERS for table in TABLES if f"realbirdid-{number}" in (table.alias, table.name))
