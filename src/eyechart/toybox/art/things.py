"""A thing in a picture: which art, where, how large, turned and recoloured how; and the layer it makes."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.shapes import atlas

Mask = NDArray[np.bool_]
SOLID = 128
LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class Look:
    """How a thing's colours differ from its art: channels mixed (`mix`, 1 keeps them), scaled, shaded, outlined."""

    saturation: float = 1.0
    brightness: float = 1.0
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)
    shade: tuple[float, float] = (0.0, 0.0)
    outline: tuple[int, int, int] | None = None
    blur: float = 0.0
    channels: tuple[int, int, int] = (0, 1, 2)


@dataclass(frozen=True)
class Thing:
    """An object: its class, the art's style and number, its centre and long side in pixels, its turn in degrees."""

    label: int
    style: str
    variant: int
    x: float
    y: float
    size: float
    angle: float = 0.0
    mirrored: bool = False
    stretch: float = 1.0
    look: Look = field(default_factory=Look)


def draw_variant(draw: Draw, style: str, label: int) -> int:
    """Draw one of a style's pictures of a class."""
    return draw.below(len(atlas(style).sprites[label]))


def draw_look(draw: Draw) -> Look:
    """Draw how a thing's colours differ from its art."""
    return Look(
        saturation=draw.uniform(0.6, 1.25) if draw.chance(0.6) else 1.0,
        brightness=draw.uniform(0.8, 1.15),
        tint=(draw.uniform(0.9, 1.1), draw.uniform(0.9, 1.1), draw.uniform(0.9, 1.1)),
        shade=(draw.uniform(-0.3, 0.3), draw.uniform(-0.3, 0.3)) if draw.chance(0.4) else (0.0, 0.0),
        outline=draw.pick([(0, 0, 0), (0, 0, 0), (255, 255, 255)]) if draw.chance(0.15) else None,
        blur=draw.uniform(0.3, 0.8) if draw.chance(0.15) else 0.0,
    )


def render_layer(thing: Thing, width: int, height: int) -> Image.Image:
    """Draw a thing alone, transparent where it is not."""
    cut = _shaped(thing)
    canvas = Image.new("RGBA", (width, height))
    canvas.paste(cut, (round(thing.x - cut.width / 2), round(thing.y - cut.height / 2)))
    return canvas


def layer_mask(drawn: Image.Image) -> Mask:
    """Where a layer is more solid than transparent."""
    return np.asarray(drawn.getchannel("A")) >= SOLID


def _shaped(thing: Thing) -> Image.Image:
    sprite = atlas(thing.style).sprites[thing.label][thing.variant]
    if thing.mirrored:
        sprite = sprite.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    scale = thing.size / max(sprite.width * thing.stretch, sprite.height)
    size = (max(1, round(sprite.width * thing.stretch * scale)), max(1, round(sprite.height * scale)))
    cut = _recolour(sprite.resize(size, Image.Resampling.LANCZOS), thing.look)
    if thing.look.outline is not None:
        cut = _add_outline(cut, thing.look.outline)
    if thing.look.blur:
        cut = _add_margin(cut, 2).filter(ImageFilter.GaussianBlur(thing.look.blur))
    return cut.rotate(thing.angle, Image.Resampling.BICUBIC, expand=True) if thing.angle else cut


def _recolour(image: Image.Image, look: Look) -> Image.Image:
    """Change an image's colours, not its shape."""
    pixels = np.asarray(image).astype(np.float64)
    rgb = pixels[..., list(look.channels)]
    grey = (LUMA[0] * rgb[..., 0] + LUMA[1] * rgb[..., 1] + LUMA[2] * rgb[..., 2])[..., None]
    rgb = (grey + (rgb - grey) * look.saturation) * look.brightness * np.array(look.tint)
    across, down = np.linspace(-1, 1, image.width)[None, :, None], np.linspace(-1, 1, image.height)[:, None, None]
    rgb = rgb * (1 + look.shade[0] * across + look.shade[1] * down)
    changed = np.concatenate([np.clip(np.rint(rgb), 0, 255), pixels[..., 3:]], axis=2)
    return Image.fromarray(changed.astype(np.uint8))


def _add_outline(image: Image.Image, colour: tuple[int, int, int]) -> Image.Image:
    """Put a line of one pixel around an image."""
    image = _add_margin(image, 1)
    line = Image.new("RGBA", image.size, colour)
    line.putalpha(image.getchannel("A").filter(ImageFilter.MaxFilter(3)))
    return Image.alpha_composite(line, image)


def _add_margin(image: Image.Image, margin: int) -> Image.Image:
    """Add a transparent margin."""
    canvas = Image.new("RGBA", (image.width + 2 * margin, image.height + 2 * margin))
    canvas.paste(image, (margin, margin))
    return canvas
