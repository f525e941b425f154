"""What is behind the things: plain, shaded, blotched, or a street with its sky and road."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image

from eyechart.toybox.art.draw import Draw

Colour = tuple[int, int, int]
Kind = Literal["plain", "slope", "blotches", "street"]
BLOTCH = 6


@dataclass(frozen=True)
class Backdrop:
    """A background: two colours, the share of the height where a street's road begins, and noise by its own seed."""

    kind: Kind
    colours: tuple[Colour, Colour]
    seed: str
    horizon: float = 0.0
    noise: float = 0.0


def draw_backdrop(draw: Draw, seed: str) -> Backdrop:
    """Draw a background for everyday things."""
    pale = draw.chance(0.35)
    first = draw.colour(235) if pale else draw.colour(20, 245)
    kinds: list[Kind] = ["plain", "plain", "slope", "slope", "blotches"]
    noise = draw.uniform(2, 10) if draw.chance(0.3) else 0.0
    return Backdrop(draw.pick(kinds), (first, draw.colour(20, 245)), seed, noise=noise)


def draw_street(draw: Draw, seed: str) -> Backdrop:
    """Draw a street."""
    grey = 70 + draw.below(90)
    sky = draw.pick([draw.colour(170, 240), (120, 170, 230), (200, 205, 210), (40, 50, 80)])
    return Backdrop("street", (sky, (grey, grey, grey + draw.below(12))), seed, draw.uniform(0.3, 0.55))


def paint(backdrop: Backdrop, width: int, height: int) -> Image.Image:
    """Paint a background."""
    first, second = (np.array(colour, np.float64) for colour in backdrop.colours)
    down = np.arange(height)[:, None, None] / max(1, height - 1)
    if backdrop.kind == "street":
        pixels = np.where(np.arange(height)[:, None, None] < horizon(backdrop, height), first, second)
    else:
        pixels = first + (second - first) * 0.4 * down * (backdrop.kind == "slope")
    pixels = np.broadcast_to(pixels, (height, width, 3))
    if backdrop.kind == "blotches":
        pixels = pixels + _blotches(backdrop, width, height)
    if backdrop.noise:
        pixels = pixels + Draw(backdrop.seed, "noise").noise(height, width, 3) * (backdrop.noise / 100)
    return Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))


def horizon(backdrop: Backdrop, height: int) -> int:
    """The first row of a street's road."""
    return round(backdrop.horizon * height)


def _blotches(backdrop: Backdrop, width: int, height: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    coarse = np.clip(128 + Draw(backdrop.seed, "blotches").noise(BLOTCH, BLOTCH, 3) // 2, 0, 255).astype(np.uint8)
    smooth = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    return (np.asarray(smooth).astype(np.float64) - 128) * 0.6
