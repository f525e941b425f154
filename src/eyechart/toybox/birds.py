"""A table of bird observations, with pictures that show the species and pictures that cannot.

A picture is unanswerable for its quality (small, grey and blurred), its angle or occlusion (a part of the bird, or a
bird behind a tree), or because only the song tells the species from another that looks the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PIL import Image, ImageEnhance, ImageFilter

from eyechart.samples.files import write_table
from eyechart.toybox.art import atlas, styles
from eyechart.toybox.backdrops import draw_backdrop
from eyechart.toybox.classes import index_of
from eyechart.toybox.draw import Draw
from eyechart.toybox.files import write_bytes
from eyechart.toybox.scenes import Place, RenderedScene, Scene, render
from eyechart.toybox.shards import encode_image
from eyechart.toybox.species import Species, candidates, look_alikes, species
from eyechart.toybox.styles import TRAINING
from eyechart.toybox.things import Thing, draw_look

NAME = "birds"
SIDE = 96
QUALITY, OCCLUSION, VOICE = "image quality", "angle/occlusion", "vocalization"
REASONS = (QUALITY, OCCLUSION, VOICE)
COVER = "tree"
HIDDEN, LEAST = 0.4, 0.01
DIGITS = 4
TABLE = (
    *("image", "observation_id", "species", "genus", "answerable", "reason", "latitude", "longitude", "candidates"),
    *("style", "drawn"),
)
TAXONOMY = ("taxon_id", "species", "genus", "common_name", "song")
RANGES = ("species", "south", "north", "west", "east")


@dataclass(frozen=True)
class Observation:
    """Who was seen where, and why the picture does not tell, if it does not."""

    number: int
    style: str
    bird: Species
    reason: str
    place: tuple[float, float] | None

    @property
    def images(self) -> tuple[str, ...]:
        """The pictures' names: every eighth observation has two."""
        return tuple(f"{self.number:05}{letter}.jpg" for letter in ("ab" if self.number % 8 == 0 else "a"))

    def row(self, image: str) -> dict[str, object]:
        """Return the line of a picture; the candidates are those that live at the place, nobody where it is unknown.

        The species stands under `drawn` alone where the picture does not tell it.
        """
        here = candidates(*self.place) if self.place else ()
        latitude, longitude = self.place or ("", "")
        names = ";".join(one.name for one in here)
        told = "" if self.reason else self.bird.name
        known = (told, self.bird.genus, int(not self.reason), self.reason)
        values = (f"images/{image}", self.number, *known, latitude, longitude, names, self.style, self.bird.name)
        return dict(zip(TABLE, values, strict=True))


def observations(seed: int, name: str, chosen: Sequence[str], number: int) -> Iterator[Observation]:
    """Yield observations, styles in turn; three in five are answerable, the others so for each reason alike."""
    for place in range(number):
        draw, style = Draw(seed, name, place), chosen[place % len(chosen)]
        reason = "" if draw.chance(0.6) else draw.pick(REASONS)
        there = [one for one in species() if one.pictures(style) and bool(one.song) == (reason == VOICE)]
        if not there:
            reason, there = "", [one for one in species() if one.pictures(style) and not one.song]
        bird = draw.pick(there)
        yield Observation(place + 1, style, bird, reason, _place(draw, bird) if draw.chance(0.85) else None)


def _place(draw: Draw, bird: Species) -> tuple[float, float]:
    """Draw where a bird lives; one with a look-alike, where both live."""
    homes = [one.range for one in (bird, *look_alikes(bird))]
    south, north = max(home.south for home in homes), min(home.north for home in homes)
    west, east = max(home.west for home in homes), min(home.east for home in homes)
    return round(draw.uniform(south, north), DIGITS), round(draw.uniform(west, east), DIGITS)


def picture(seed: int, name: str, seen: Observation, image: str) -> Image.Image:
    """Draw an observation's picture."""
    key = f"{name}/{image}"
    draw = Draw(seed, key)
    if seen.reason == OCCLUSION:
        return _hidden(draw, key, seen).image
    found = render(_scene(draw, key, seen, [_bird(draw, seen, _centre(draw))])).image
    return _spoilt(draw, found) if seen.reason == QUALITY else found


def _scene(draw: Draw, key: str, seen: Observation, things: Sequence[Thing]) -> Scene:
    return Scene(key, seen.style, SIDE, SIDE, draw_backdrop(draw, key), tuple(things), 0)


def _centre(draw: Draw) -> Place:
    share = draw.uniform(0.6, 0.9)
    slack = (1 - share) / 2
    x, y = draw.uniform(0.5 - slack, 0.5 + slack), draw.uniform(0.5 - slack, 0.5 + slack)
    return x * SIDE, y * SIDE, share * SIDE


def _bird(draw: Draw, seen: Observation, place: Place) -> Thing:
    label, variant = draw.pick(seen.bird.pictures(seen.style))
    x, y, size = place
    coat = seen.bird.apply_coat(replace(draw_look(draw), outline=None), seen.style)
    turn = draw.uniform(-15, 15)
    return Thing(label, seen.style, variant, x, y, size, turn, mirrored=draw.chance(0.5), look=coat)


def _hidden(draw: Draw, key: str, seen: Observation) -> RenderedScene:
    """Draw a part of a bird from very near, or a bird behind a tree, until a little of it can be seen."""
    near = draw.chance(0.5) or index_of(COVER) not in atlas(seen.style).sprites
    while True:
        things = _too_near(draw, seen) if near else _behind(draw, seen)
        found = render(_scene(draw, key, seen, things))
        if (near or found.visible_fractions[0] < HIDDEN) and found.masks[0].mean() > LEAST:
            return found


def _behind(draw: Draw, seen: Observation) -> list[Thing]:
    bird = _bird(draw, seen, _centre(draw))
    x, y = bird.x + draw.uniform(-9, 9), bird.y + draw.uniform(-9, 9)
    return [bird, Thing(index_of(COVER), seen.style, 0, x, y, SIDE * 1.1)]


def _too_near(draw: Draw, seen: Observation) -> list[Thing]:
    x, y = draw.uniform(-0.4, 1.4) * SIDE, draw.uniform(-0.4, 1.4) * SIDE
    return [_bird(draw, seen, (x, y, draw.uniform(2.4, 3.2) * SIDE))]


def _spoilt(draw: Draw, image: Image.Image) -> Image.Image:
    """Make a picture small, grey, dim and blurred."""
    few = 9 + draw.below(5)
    small = image.resize((few, few), Image.Resampling.BOX).resize(image.size, Image.Resampling.BICUBIC)
    grey = ImageEnhance.Color(small).enhance(draw.uniform(0, 0.25))
    flat = ImageEnhance.Contrast(grey).enhance(draw.uniform(0.3, 0.6))
    return flat.filter(ImageFilter.GaussianBlur(draw.uniform(1, 3)))


def write_bird_table(folder: Path, seed: int, name: str, chosen: Sequence[str], number: int) -> list[Observation]:
    """Write pictures, observations, taxonomy and ranges into a folder; return the observations."""
    found = list(observations(seed, name, chosen, number))
    rows = []
    for seen in found:
        for image in seen.images:
            write_bytes(folder / "images" / image, encode_image(picture(seed, name, seen, image), "JPEG"))
            rows.append(seen.row(image))
    write_table(folder / "birds.csv", TABLE, rows)
    taxa = [(one.taxon, one.name, one.genus, one.common_name, one.song) for one in species()]
    write_table(folder / "taxonomy.csv", TAXONOMY, [dict(zip(TAXONOMY, taxon, strict=True)) for taxon in taxa])
    homes = [(one.name, *(getattr(one.range, side) for side in RANGES[1:])) for one in species()]
    write_table(folder / "ranges.csv", RANGES, [dict(zip(RANGES, home, strict=True)) for home in homes])
    return found


def write(folder: Path, seed: int, number: int) -> None:
    """Write the table `drawn` in all styles, and `drawn-train` in the styles that models may train on."""
    there = styles()
    write_bird_table(folder / "drawn", seed, NAME, there, number)
    trained = [style for style in TRAINING if style in there]
    if trained:
        write_bird_table(folder / "drawn-train", seed, f"{NAME}-train", trained, number)
