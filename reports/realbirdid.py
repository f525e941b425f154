"""RealBirdID's tables and figures by their names, in the order of arXiv 2603.27033."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from . import (
    realbirdid_abstention,
    realbirdid_bar_charts,
    realbirdid_choice_charts,
    realbirdid_choices,
    realbirdid_curve_charts,
    realbirdid_curves,
    realbirdid_flat,
    realbirdid_genera,
    realbirdid_genus_charts,
    realbirdid_range_charts,
    realbirdid_ranges,
    realbirdid_reasons,
    realbirdid_summary,
    realbirdid_word_charts,
)
from .render import Table
from .runs import Pool

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES: Mapping[str, Callable[[Pool, str | None], list[Table]]] = {
    **realbirdid_summary.TABLES,
    **realbirdid_abstention.TABLES,
    "realbirdid-T5": realbirdid_genera.t5,
    "realbirdid-F3": realbirdid_genera.f3,
    **realbirdid_flat.TABLES,
    **realbirdid_ranges.TABLES,
    **realbirdid_reasons.TABLES,
    **realbirdid_curves.TABLES,
    **realbirdid_choices.TABLES,
}
FIGURES: Mapping[str, Callable[[Pool, str | None], "Figure"]] = {
    **realbirdid_genus_charts.FIGURES,
    **realbirdid_bar_charts.FIGURES,
    **realbirdid_curve_charts.FIGURES,
    **realbirdid_range_charts.FIGURES,
    **realbirdid_word_charts.FIGURES,
    **realbirdid_choice_charts.FIGURES,
}
OVERVIEW = ("T2", "T3", "F4", "F19", "free-form", "T4", "F7", "F8")  # what the overview shows of them
