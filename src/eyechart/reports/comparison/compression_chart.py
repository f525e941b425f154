"""The chart of compressed variants: the change of accuracy, with its interval, against size and against speed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eyechart.reports.comparison.compression import ORIGINAL, CompressedCase
from eyechart.reports.figures.charts import COLOURS
from eyechart.reports.figures.panels import LEGEND_ASIDE, create_panels, set_title
from eyechart.reports.figures.registry import matplotlib_defaults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, WIDTH = 3.2, 10.0  # inches
MARKERS = {"equal": "s", "kept": "o", "worse": "X", "not shown": "D"}


@dataclass(frozen=True)
class _Point:
    """A model in a panel: its costs x with its ends, and its change of accuracy with its interval, as fractions."""

    name: str
    verdict: str
    x: tuple[float, float, float]
    change: tuple[float, float, float]


def draw_compression(cases: Sequence[CompressedCase]) -> "Figure":
    """Return a figure with two panels for each case of the original: against size, and against speed."""
    keys = [*dict.fromkeys(case.key for case in cases)]
    with matplotlib_defaults():
        figure, axes = create_panels([PANEL] * len(keys), 2, WIDTH)
        for row, key in zip(axes, keys, strict=True):
            of_key = [case for case in cases if case.key == key]
            title = f"{of_key[0].original.name} on {' '.join(key)}"
            for ax, points, label in zip(row, (_size_points(of_key), _speed_points(of_key)), LABELS, strict=True):
                set_title(ax, title)
                _draw_points(ax, points, label, of_key)
            row[1].legend(*_legend(row), **LEGEND_ASIDE)
        return figure


LABELS = ("size, MB", "times as fast as the original")


def _legend(row: Sequence["Axes"]) -> tuple[list[Any], list[str]]:
    """Return what the panels of a row show, each model once."""
    named = {label: handle for ax in row for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    return [*named.values()], [*named]


def _size_points(cases: Sequence[CompressedCase]) -> list[_Point]:
    """Return the original and its variants by the bytes of their files, without those whose size is not known."""
    sizes = [(case, case.variant.size / 1e6) for case in cases if case.variant.size]
    points = [point for case, size in sizes if (point := _point(case, (size, size, size)))]
    size = cases[0].original.size / 1e6
    return [_original((size, size, size)), *points] if points and size else points


def _speed_points(cases: Sequence[CompressedCase]) -> list[_Point]:
    """Return the original and its variants by their speed, without those whose speed is not known."""
    speeds = [(case, case.variant.speed) for case in cases if case.variant.speed]
    found = [(case, (speed.ratio, speed.rounds.low, speed.rounds.high)) for case, speed in speeds if speed]
    points = [point for case, x in found if (point := _point(case, x))]
    return [_original((1, 1, 1)), *points] if points else []


def _original(x: tuple[float, float, float]) -> _Point:
    return _Point(ORIGINAL, ORIGINAL, x, (0, 0, 0))


def _point(case: CompressedCase, x: tuple[float, float, float]) -> _Point | None:
    if case.primary is None or case.primary.comparison.ci is None:
        return None
    number = case.primary.comparison
    ends = (-number.ci.low, -number.ci.high) if number.metric.direction < 0 and number.ci else tuple(number.ci or ())
    return _Point(case.variant.name, case.verdict, x, (-number.loss, min(ends), max(ends)))


def describe_dominated(cases: Sequence[CompressedCase]) -> Iterator[str]:
    """Yield a sentence for each variant that another model beats in accuracy and in size, or in accuracy and speed.

    Both must say so: the intervals of the changes of accuracy are apart, and those of the speeds, too.
    """
    for points, better in ((_size_points(cases), "no larger"), (_speed_points(cases), "faster")):
        for point in points:
            beats = [
                other.name for other in points if _is_more_accurate(other, point) and _costs_less(other, point, better)
            ]
            if beats:
                yield f"{point.name} is dominated: {beats[0]} is {better} and more accurate, beyond both intervals."


def _is_more_accurate(other: _Point, point: _Point) -> bool:
    return other.change[1] > point.change[2]


def _costs_less(other: _Point, point: _Point, better: str) -> bool:
    return other.x[1] > point.x[2] if better == "faster" else other.x[0] <= point.x[0]


def _draw_points(ax: "Axes", points: Sequence[_Point], label: str, cases: Sequence[CompressedCase]) -> None:
    """Draw the models of a panel, each in its colour with the marker of its verdict; the margin is a dashed line."""
    ax.axhline(0, color="black", linewidth=0.6)
    ax.axhline(-100 * cases[0].margin, color="black", linewidth=0.8, linestyle="--")
    names = [case.variant.name for case in cases]
    style: Any = {"elinewidth": 1, "capsize": 2, "markersize": 5}
    for point in points:
        colour = COLOURS[names.index(point.name) % len(COLOURS)] if point.name in names else "black"
        value, low, high = (100 * part for part in point.change)
        x, left, right = point.x
        ax.errorbar(
            x,
            value,
            xerr=[[x - left], [right - x]],
            yerr=[[value - low], [high - value]],
            color=colour,
            linestyle="none",
            label=point.name if point.name == ORIGINAL else f"{point.name}: {point.verdict}",
            marker=MARKERS.get(point.verdict, "*"),
            **style,
        )
    if not points:
        ax.text(0.5, 0.5, "not known", transform=ax.transAxes, ha="center", fontsize=8)
    ax.set_xlabel(label, fontsize=8)
    ax.set_ylabel("change of accuracy, points", fontsize=8)
    ax.margins(0.15)
