"""Scenes of one to five things: drawn from a seed, rendered to pixels, and the truth read off the rendering."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from PIL import Image

from eyechart.toybox.art.backdrops import Backdrop, draw_backdrop, draw_street, paint
from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.shapes import atlas
from eyechart.toybox.art.things import Mask, Thing, draw_look, draw_variant, layer_mask, render_layer
from eyechart.toybox.art.toy_classes import Concept, classes, equivalent_classes

MAX_THINGS = 5
MIN_VISIBLE = 0.5
MAX_TRIES = 40
EQUAL_SIZES = {1: 0.85, 2: 0.48, 3: 0.44, 4: 0.40, 5: 0.36}
CROWD = 0.34
Box = tuple[int, int, int, int]
Place = tuple[float, float, float]
Size = tuple[int, int]


@dataclass(frozen=True)
class Scene:
    """A picture to be: things from back to front before a background.

    `main` is the number of the main thing, -1 where there is none; the first `crowd` things are one crowd.
    """

    key: str
    style: str
    width: int
    height: int
    backdrop: Backdrop
    things: tuple[Thing, ...] = ()
    main: int = -1
    crowd: int = 0


@dataclass(frozen=True)
class RenderedScene:
    """A picture with, for every thing, where it can be seen, and where it would be if nothing hid it."""

    scene: Scene
    image: Image.Image
    masks: tuple[Mask, ...]
    whole: tuple[Mask, ...]

    @property
    def visible_fractions(self) -> tuple[float, ...]:
        """The share of every thing that no other hides."""
        both = zip(self.masks, self.whole, strict=True)
        return tuple(float(visible.sum()) / max(1, int(whole.sum())) for visible, whole in both)

    def box(self, number: int) -> Box:
        """The left, top, width and height in pixels of what can be seen of a thing."""
        return box(self.masks[number])

    @property
    def labels(self) -> tuple[int, ...]:
        """The classes in the picture, ascending."""
        return tuple(sorted({thing.label for thing in self.scene.things}))


def box(mask: Mask) -> Box:
    """The smallest box around a mask: left, top, width, height."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    return left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top


@lru_cache(maxsize=64)
def render(scene: Scene) -> RenderedScene:
    """Draw a scene; the same scene gives the same pixels."""
    image = paint(scene.backdrop, scene.width, scene.height).convert("RGBA")
    visible: list[Mask] = []
    whole: list[Mask] = []
    for thing in scene.things:
        drawn = render_layer(thing, scene.width, scene.height)
        image = Image.alpha_composite(image, drawn)
        whole.append(layer_mask(drawn))
        visible = [earlier & ~whole[-1] for earlier in visible] + [whole[-1]]
    return RenderedScene(scene, image.convert("RGB"), tuple(visible), tuple(whole))


def single_scene(draw: Draw, key: str, style: str, label: int, side: int) -> Scene:
    """Draw a picture of one thing, mostly filling it, at times partly outside."""
    share = draw.uniform(0.5, 0.95) if draw.chance(0.8) else draw.uniform(0.3, 0.5)
    slack = max(0.04, (1 - share) / 2 + 0.02) * side
    x, y = side / 2 + draw.uniform(-slack, slack), side / 2 + draw.uniform(-slack, slack)
    thing = _thing(draw, style, label, (x, y, share * side))
    return Scene(key, style, side, side, draw_backdrop(draw, key), (thing,), 0)


def empty_scene(draw: Draw, key: str, style: str, size: Size) -> Scene:
    """Draw a background alone."""
    return Scene(key, style, *size, draw_backdrop(draw, key))


def everyday_scene(draw: Draw, key: str, style: str, size: Size, *, crowd: bool = False) -> Scene:
    """Draw a scene of any classes."""
    return _scene(draw, empty_scene(draw, key, style, size), atlas(style).classes, crowd)


def street_scene(
    draw: Draw, key: str, style: str, size: Size, named: Callable[[Concept], str], *, crowd: bool = False
) -> Scene:
    """Draw a street with classes that a data set has a name for."""
    there = [label for label in atlas(style).classes if named(classes()[label].concept)]
    return _scene(draw, Scene(key, style, *size, draw_street(draw, key)), there, crowd)


def _scene(draw: Draw, empty: Scene, labels: Sequence[int], crowd: bool) -> Scene:
    """Draw things until every one of them can be seen well enough."""
    while True:
        count = 1 + draw.below(MAX_THINGS)
        side = min(empty.width, empty.height)
        sizes = [*_sizes(draw, count, side), *([CROWD * side] if crowd else [])]
        positions = _positions(draw, sizes, empty.width, empty.height, 0.75 if draw.chance(0.2) and not crowd else 0.95)
        kinds = _kinds(draw, labels, 1 + draw.below(count) + crowd)
        many = _crowd(draw, empty.style, kinds.pop(), *positions.pop()) if crowd else []
        chosen = kinds + [draw.pick(kinds) for _ in range(count - len(kinds))]
        front = draw.sample([_thing(draw, empty.style, *pair) for pair in zip(chosen, positions, strict=True)], count)
        main = len(many) + front.index(max(front, key=lambda thing: thing.size))
        scene = replace(empty, things=(*many, *front), main=main, crowd=len(many))
        if min(render(scene).visible_fractions[len(many) :]) >= MIN_VISIBLE:
            return scene


def _kinds(draw: Draw, labels: Sequence[int], count: int) -> list[int]:
    """Choose different classes, none beside its equivalent; fewer where there are no more."""
    kinds: list[int] = []
    while len(kinds) < count:
        barred = {other for label in kinds for other in equivalent_classes(label)}
        rest = [label for label in labels if label not in barred]
        if not rest:
            break
        kinds.append(draw.pick(rest))
    return kinds


def _crowd(draw: Draw, style: str, label: int, x: float, y: float, size: float) -> list[Thing]:
    """Put nine small things of one class close together."""
    step = size / 3
    spots = [(x + step * across, y + step * down, step * 1.1) for down in (-1, 0, 1) for across in (-1, 0, 1)]
    return [_thing(draw, style, label, spot) for spot in spots]


def _sizes(draw: Draw, count: int, side: int) -> list[float]:
    """Choose one main thing among small ones, or things of about one size."""
    if count > 1 and draw.chance(0.5):
        return [draw.uniform(0.42, 0.6) * side, *(draw.uniform(0.17, 0.28) * side for _ in range(count - 1))]
    base = draw.uniform(0.65, 1) * EQUAL_SIZES[count] * side
    return [base * draw.uniform(0.9, 1.1) for _ in range(count)]


def _positions(draw: Draw, sizes: Sequence[float], width: int, height: int, apart: float) -> list[Place]:
    """Find a centre for every size, the squares inside the picture and apart; smaller ones where there is no room."""
    while True:
        positions: list[Place] = []
        for size in sizes:
            half = size / 2
            for _ in range(MAX_TRIES):
                x, y = draw.uniform(half, width - half), draw.uniform(half, height - half)
                if all(max(abs(x - a), abs(y - b)) > apart * (size + other) / 2 for a, b, other in positions):
                    positions.append((x, y, size))
                    break
        if len(positions) == len(sizes):
            return positions
        sizes = [size * 0.95 for size in sizes]


def _thing(draw: Draw, style: str, label: int, position: Place) -> Thing:
    x, y, size = position
    return Thing(
        label=label,
        style=style,
        variant=draw_variant(draw, style, label),
        x=x,
        y=y,
        size=size,
        angle=draw.uniform(-20, 20) if draw.chance(0.5) else 0.0,
        mirrored=draw.chance(0.5),
        stretch=draw.uniform(0.88, 1.14) if draw.chance(0.4) else 1.0,
        look=draw_look(draw),
    )
