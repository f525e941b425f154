"""Training pictures: art recoloured, reshaded, redrawn, warped and put before a background, a batch at a time.

`strength` from 0 to 1 says how far from the art it goes. What it breaks is style: hue, grey, shading, texture, lines.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # its usual name

from toybox.sprites import SIDE, BatchRandom, Sprites

HALF_FROM = 0.45
OTHERS = 2


@dataclass(frozen=True)
class Pictures:
    """Pictures (n, 3, side, side) in -1..1 and the classes (n,) of their main things."""

    pixels: Tensor
    labels: Tensor


def pictures(art: Sprites, seed: int, count: int, side: int, strength: float) -> Pictures:
    """Draw a batch; the same arguments give the same pixels."""
    chance = BatchRandom(seed, count)
    image = background(chance, side, strength)
    for _ in range(OTHERS):
        chosen = (chance.often(0.2 * strength).view(-1) > 0).nonzero()[:, 0]
        if len(chosen):
            near = BatchRandom(int(chance.below(2**31 - 1)[0]), len(chosen))
            other = restyle(art.pixels[near.below(len(art.labels))], near, strength)
            image[chosen] = composite(
                image[chosen], place_at_random(other, near, side, near.uniform(0.17, 0.35), strength, 0.45)
            )
    main = chance.below(len(art.labels))
    share = torch.where(chance.often(0.75) > 0, chance.uniform(0.5, 1.0), chance.uniform(0.3, 0.5))
    thing = restyle(art.pixels[main], chance, strength)
    image = composite(image, place_at_random(thing, chance, side, share, strength, 0.0))
    return Pictures(degrade(image, chance, strength) * 2 - 1, art.labels[main])


def background(chance: BatchRandom, side: int, strength: float) -> Tensor:
    """Plain, pale, dark, shaded or blotched (n, 3, side, side)."""
    kind, colour = chance.uniform(0, 1), chance.uniform(0, 1, 3, 1, 1)
    colour = torch.where(kind < 0.35, 1 - 0.1 * colour, torch.where(kind > 0.9, 0.2 * colour, colour))
    across = torch.linspace(-0.5, 0.5, side)
    slope = chance.uniform(-0.5, 0.5, 3, 1, 1) * across + chance.uniform(-0.5, 0.5, 3, 1, 1) * across[:, None]
    blotches = chance.smooth(3, 6, side) * chance.uniform(0.02, 0.3) * chance.often(0.35)
    return (colour + strength * (slope * chance.often(0.5) + blotches)).expand(-1, 3, side, side).clone().clamp(0, 1)


def composite(image: Tensor, layer: Tensor) -> Tensor:
    """Put a layer, its colours times alpha, over an image."""
    return image * (1 - layer[:, 3:]) + layer[:, :3]


def restyle(art: Tensor, chance: BatchRandom, strength: float) -> Tensor:
    """Break the style of art (n, 4, 64, 64): colours, light, texture, lines."""
    rgb, alpha = art[:, :3], art[:, 3:]
    rgb = shade(recolour(rgb, alpha, chance, strength), alpha, chance, strength)
    rgb, alpha = draw_outline(rgb, alpha, chance, strength)
    both = torch.cat([rgb, alpha], 1)
    coarse = F.interpolate(F.avg_pool2d(both, 2), size=SIDE, mode="bilinear")
    both = both.lerp(coarse, chance.often(0.25 * strength) * chance.uniform(0.3, 1))
    return torch.cat([torch.minimum(both[:, :3].clamp(min=0), both[:, 3:]), both[:, 3:]], 1)


def recolour(rgb: Tensor, alpha: Tensor, chance: BatchRandom, strength: float) -> Tensor:
    """Turn the hue, mix the channels, take out colour, change contrast and brightness."""
    turn = chance.uniform(-math.pi, math.pi, 1, 1) * torch.where(chance.often(0.3 * strength) > 0, 1.0, 0.05)[..., 0]
    cosine, sine = turn.cos(), turn.sin()
    third, root = 1 / 3, (1 / 3) ** 0.5
    even = torch.full((3, 3), third)
    cross = torch.tensor([[0.0, -root, root], [root, 0.0, -root], [-root, root, 0.0]])
    mix = cosine * torch.eye(3) + (1 - cosine) * even + sine * cross
    mix = mix @ (torch.eye(3) + chance.uniform(-0.25, 0.25, 3, 3) * strength)
    mix = mix.lerp(even, (chance.often(0.3 * strength) * chance.uniform(0, 1))[..., 0])
    mixed = torch.bmm(mix, rgb.flatten(2)).view_as(rgb)
    return mixed * (1 + strength * chance.uniform(-0.35, 0.35)) + alpha * strength * chance.uniform(-0.2, 0.2)


def shade(rgb: Tensor, alpha: Tensor, chance: BatchRandom, strength: float) -> Tensor:
    """Light from one side, a shine, a darker rim as of a solid, a rough surface."""
    across = torch.linspace(-1, 1, SIDE)
    down = across[:, None]
    light = 1 + chance.often(0.5) * strength * (chance.uniform(-0.5, 0.5) * across + chance.uniform(-0.5, 0.5) * down)
    x, y = chance.uniform(-0.7, 0.7), chance.uniform(-0.7, 0.7)
    shine = torch.exp(-((across - x) ** 2 + (down - y) ** 2) * chance.uniform(2, 8))
    inside = F.interpolate(F.avg_pool2d(F.avg_pool2d(alpha, 4), 3, 1, 1), size=SIDE, mode="bilinear")
    rim = 1 - chance.often(0.35) * strength * chance.uniform(0, 0.7) * (1 - inside)
    rough = 1 + chance.often(0.35) * strength * chance.uniform(0, 0.35) * chance.smooth(1, 20, SIDE)
    return rgb * light * rim * rough + alpha * shine * chance.often(0.35) * strength * chance.uniform(-0.15, 0.5)


def draw_outline(rgb: Tensor, alpha: Tensor, chance: BatchRandom, strength: float) -> tuple[Tensor, Tensor]:
    """Darken the edges inside, and draw a line around."""
    grey = rgb.mean(1, keepdim=True)
    edges = F.max_pool2d(grey, 3, 1, 1) + F.max_pool2d(-grey, 3, 1, 1)
    rgb = rgb * (1 - ((edges - 0.12) * 6).clamp(0, 1) * chance.often(0.25 * strength) * chance.uniform(0, 1))
    wide = F.max_pool2d(alpha, 3, 1, 1).lerp(F.max_pool2d(alpha, 5, 1, 2), chance.often(0.5))
    grown = alpha.lerp(wide, chance.often(0.3 * strength))
    white = chance.often(0.3) * chance.uniform(0.8, 1)
    return rgb + (grown - alpha) * white, grown


def place_at_random(art: Tensor, chance: BatchRandom, side: int, share: Tensor, strength: float, off: float) -> Tensor:
    """Put art somewhere in a picture, as `put` does; `off` lets it reach that much further out."""
    slack = (1 - share).clamp(min=0) / 1 + 0.08
    x, y = (chance.uniform(-1, 1) * slack.clamp(min=off) for _ in range(2))
    return place(art, chance, side, share, x, y, strength)


def place(art: Tensor, chance: BatchRandom, side: int, share: Tensor, x: Tensor, y: Tensor, strength: float) -> Tensor:
    """Turn, stretch, shear, mirror and bend art, and put it at `share` of a picture's side (n, 4, side, side).

    `x` and `y` (n, 1, 1, 1) are its middle, -1 at the left and top edge and 1 at the others.
    """
    lines = _affine(chance, share, x, y, strength)
    grid = F.affine_grid(lines, [len(art), 4, side, side], align_corners=False)
    bend = chance.smooth(2, 5, side) * chance.often(0.5 * strength) * chance.uniform(0.02, 0.12)
    grid = grid + bend.permute(0, 2, 3, 1)
    placed = F.grid_sample(art, grid, align_corners=False)
    small = (share.view(-1) < HALF_FROM).nonzero()[:, 0]
    if len(small):
        placed[small] = F.grid_sample(F.avg_pool2d(art[small], 2), grid[small], align_corners=False)
    return placed


def _affine(chance: BatchRandom, share: Tensor, x: Tensor, y: Tensor, strength: float) -> Tensor:
    turn = chance.uniform(-0.45, 0.45) * chance.often(0.6) * strength
    stretch = torch.exp(chance.uniform(-0.18, 0.18) * strength)
    shear = chance.uniform(-0.2, 0.2) * chance.often(0.3) * strength
    mirror = 1 - 2 * chance.often(0.5)
    cosine, sine = turn.cos() / share, turn.sin() / share
    rows = [mirror * cosine * stretch, mirror * (sine + shear / share), -sine / stretch, cosine]
    a, b, c, d = (row.view(-1) for row in rows)
    left, top = x.view(-1), y.view(-1)
    return torch.stack([a, b, -(a * left + b * top), c, d, -(c * left + d * top)], 1).view(-1, 2, 3)


def degrade(image: Tensor, chance: BatchRandom, strength: float) -> Tensor:
    """Hide a part, blur, add noise."""
    side = image.shape[-1]
    soft = F.avg_pool2d(image, 3, 1, 1)
    image = image.lerp(soft, chance.often(0.25 * strength) * chance.uniform(0.3, 1))
    place = torch.linspace(0, 1, side)
    x, y, wide, high = (chance.uniform(low, top) for low, top in ((0, 1), (0, 1), (0.05, 0.2), (0.05, 0.2)))
    hidden = ((place - x).abs() < wide).float() * ((place[:, None] - y).abs() < high).float()
    image = image.lerp(chance.uniform(0, 1, 3, 1, 1), hidden * chance.often(0.2 * strength))
    noise = chance.normal(3, side, side) * chance.uniform(0, 0.06) * chance.often(0.4)
    return (image + strength * noise).clamp(0, 1)
