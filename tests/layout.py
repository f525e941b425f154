"""Where the texts of a figure lie after matplotlib has laid it out, and what a reader could not read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any, NamedTuple

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

SMALLEST = 6.0  # points
SLACK = 1.0  # pixels of 100 an inch that a box may stand out, or overlap another


class Box(NamedTuple):
    """A rectangle by its left, lower, right and upper ends."""

    left: float
    low: float
    right: float
    high: float

    def exceeds(self, other: "Box") -> bool:
        """Return whether part of it lies outside another one."""
        return (self.left < other.left - SLACK or self.low < other.low - SLACK
                or self.right > other.right + SLACK or self.high > other.high + SLACK)  # fmt: skip

    def overlaps(self, other: "Box") -> bool:
        """Return whether it shares an area with another one."""
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > SLACK and min(self.high, other.high) - max(self.low, other.low) > SLACK


@dataclass(frozen=True)
class Layout:
    """A figure as matplotlib lays it out, and the texts that it draws."""

    figure: Any
    texts: tuple[Any, ...]
    renderer: Any

    def problems(self) -> Iterator[str]:
        """Return every text outside the figure, every text that is too small, and texts that overlap."""
        whole, boxes = Box(*self.figure.bbox.extents), [self.box(text) for text in self.texts]
        for text, box in zip(self.texts, boxes, strict=True):
            if box.exceeds(whole):
                yield f"outside the figure: {text.get_text()!r}"
            if text.get_fontsize() < SMALLEST:
                yield f"{text.get_fontsize():g} pt: {text.get_text()!r}"
        for first, second in overlapping(boxes):
            one, other = self.texts[first], self.texts[second]
            angle = one.get_rotation()
            if angle % 90 == 0 or angle != other.get_rotation() or self.turned(one).overlaps(self.turned(other)):
                yield f"overlap: {one.get_text()!r}, {other.get_text()!r}"

    def box(self, text: Any) -> Box:
        """Return the rectangle around a text, in pixels."""
        return Box(*Text.get_window_extent(text, self.renderer).extents)

    def turned(self, text: Any) -> Box:
        """Return the rectangle of a text in the axes along and across its own lines."""
        around, rotation = self.box(text), text.get_rotation()
        angle, (x, y) = radians(rotation), ((around.left + around.right) / 2, (around.low + around.high) / 2)
        along, across = x * cos(angle) + y * sin(angle), y * cos(angle) - x * sin(angle)
        text.set_rotation(0)
        flat = self.box(text)
        text.set_rotation(rotation)
        wide, high = (flat.right - flat.left) / 2, (flat.high - flat.low) / 2
        return Box(along - wide, across - high, along + wide, across + high)


def overlapping(boxes: Sequence[Box]) -> Iterator[tuple[int, int]]:
    """Return the places of all boxes that overlap, by pairs."""
    order = sorted(range(len(boxes)), key=lambda index: boxes[index].left)
    for rank, one in enumerate(order):
        for other in order[rank + 1 :]:
            if boxes[other].left > boxes[one].right:
                break
            if boxes[one].overlaps(boxes[other]):
                yield one, other


def lay_out(figure: Any, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """Lay a figure out as for drawing, without a pixel, and return its layout."""
    drawn: dict[Any, None] = {}

    def remember(text: Any, renderer: Any) -> None:
        if text.get_visible() and text.get_text().strip():
            drawn[text] = None

    canvas: Any = FigureCanvasAgg(figure)
    with monkeypatch.context() as patch:
        patch.setattr(Text, "draw", remember)
        figure.draw_without_rendering()
    return Layout(figure, tuple(drawn), canvas.get_renderer())
