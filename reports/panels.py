"""What figures have in common: rows of panels, and how many things one is drawn from."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from .render import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDE = 95  # letters of a title
ASIDE: Any = {"fontsize": 7, "loc": "upper left", "bbox_to_anchor": (1, 1)}  # a legend that hides nothing


def panels(heights: list[float], across: int, width: float) -> tuple["Figure", Any]:
    """A figure of rows with these heights in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, sum(heights)), layout="constrained")
    return figure, figure.subplots(len(heights), across, squeeze=False, height_ratios=heights)


def headed(ax: "Axes", title: str) -> None:
    """Put a title above a panel that is as wide as its figure, in as many lines as it takes."""
    ax.set_title(fill(one_line(title), WIDE, break_on_hyphens=False), fontsize=9)


def counted(sizes: Sequence[int]) -> str:
    """How many images or classes, or from how many to how many."""
    ends = dict.fromkeys(f"{size:,}" for size in (*sizes[:1], *sizes[-1:]))
    return f"n={'–'.join(ends) or 0}"
