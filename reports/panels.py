"""What figures have in common: rows of panels, and how many things one is drawn from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def panels(heights: list[float], across: int, width: float) -> tuple["Figure", Any]:
    """A figure of rows with these heights in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, sum(heights)), layout="constrained")
    return figure, figure.subplots(len(heights), across, squeeze=False, height_ratios=heights)


def counted(sizes: Sequence[int]) -> str:
    """How many images or classes, or from how many to how many."""
    ends = dict.fromkeys(f"{size:,}" for size in (*sizes[:1], *sizes[-1:]))
    return f"n={'–'.join(ends) or 0}"
