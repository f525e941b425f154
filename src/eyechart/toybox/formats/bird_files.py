"""A table of bird observations, with pictures that show the species and pictures that cannot.

A picture is unanswerable for its quality (small, grey and blurred), its angle or occlusion (a part of the bird, or a
bird behind a tree), or because only the song tells the species from another that looks the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PIL import Image, ImageEnhance, ImageFilter

from eyechart.samples.files import write_table
from eyechart.toybox.art.backdrops import draw_backdrop
from eyechart.toybox.art.bird_looks import Species, candidates, look_alikes, species
from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.scenes import Place, RenderedScene, Scene, render
from eyechart.toybox.art.shapes import atlas, styles
from eyechart.toybox.art.styles import TRAINING
from eyechart.toybox.art.things import Thing, draw_look
from eyechart.toybox.art.toy_classes import index_of
from eyechart.toybox.formats.shards import encode_image
from eyechart.toybox.formats.write_json import write_bytes

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
    location: tuple[float, float] | None

    @property
    def images(self) -> tuple[str, ...]:
        """The pictures' names: every eighth observation has two."""
        return tuple(f"{self.number:05}{letter}.jpg" for letter in ("ab" if self.number % 8 == 0 else "a"))

    def row(self, image: str) -> dict[str, object]:
        """Return the line of a picture; the candidates are those that live at the place, nobody where it is unknown.

        The species stands under `drawn` alone where the picture does not tell it.
        """
        here = candidates(*self.location) if self.location else ()
        latitude, longitude = self.location or ("", "")
        names = ";".join(bird.name for bird in here)
        species_name = "" if self.reason else self.bird.name
        known = (species_name, self.bird.genus, int(not self.reason), self.reason)
        values = (f"images/{image}", self.number, *known, latitude, longitude, names, self.style, self.bird.name)
        return dict(zip(TABLE, values, strict=True))


def observations(seed: int, name: str, chosen: Sequence[str], number: int) -> Iterator[Observation]:
    """Yield observations, styles in turn; three in five are answerable, the others so for each reason alike."""
    for index in range(number):
        draw, style = Draw(seed, name, index), chosen[index % len(chosen)]
        reason = "" if draw.chance(0.6) else draw.pick(REASONS)
        there = [
            candidate
            for candidate in species()
            if candidate.pictures(style) and bool(candidate.song) == (reason == VOICE)
        ]
        if not there:
            reason, there = (
                "",
                [candidate for candidate in species() if candidate.pictures(style) and not candidate.song],
            )
        bird = draw.pick(there)
        yield Observation(index + 1, style, bird, reason, _location(draw, bird) if draw.chance(0.85) else None)


def _location(draw: Draw, bird: Species) -> tuple[float, float]:
    """Draw where a bird lives; one with a look-alike, where both live."""
    homes = [other.range for other in (bird, *look_alikes(bird))]
    south, north = max(home.south for home in homes), min(home.north for home in homes)
    west, east = max(home.west for home in homes), min(home.east for home in homes)
    return round(draw.uniform(south, north), DIGITS), round(draw.uniform(west, east), DIGITS)


def picture(seed: int, name: str, observation: Observation, image: str) -> Image.Image:
    """Draw an observation's picture."""
    key = f"{name}/{image}"
    draw = Draw(seed, key)
    if observation.reason == OCCLUSION:
        return _hidden(draw, key, observation).image
    image_drawn = render(_scene(draw, key, observation, [_bird(draw, observation, _centre(draw))])).image
    return _spoilt(draw, image_drawn) if observation.reason == QUALITY else image_drawn


def _scene(draw: Draw, key: str, observation: Observation, things: Sequence[Thing]) -> Scene:
    return Scene(key, observation.style, SIDE, SIDE, draw_backdrop(draw, key), tuple(things), 0)


def _centre(draw: Draw) -> Place:
    share = draw.uniform(0.6, 0.9)
    slack = (1 - share) / 2
    x, y = draw.uniform(0.5 - slack, 0.5 + slack), draw.uniform(0.5 - slack, 0.5 + slack)
    return x * SIDE, y * SIDE, share * SIDE


def _bird(draw: Draw, observation: Observation, position: Place) -> Thing:
    label, variant = draw.pick(observation.bird.pictures(observation.style))
    x, y, size = position
    coat = observation.bird.apply_coat(replace(draw_look(draw), outline=None), observation.style)
    turn = draw.uniform(-15, 15)
    return Thing(label, observation.style, variant, x, y, size, turn, mirrored=draw.chance(0.5), look=coat)


def _hidden(draw: Draw, key: str, observation: Observation) -> RenderedScene:
    """Draw a part of a bird from very near, or a bird behind a tree, until a little of it can be seen."""
    near = draw.chance(0.5) or index_of(COVER) not in atlas(observation.style).sprites
    while True:
        things = _too_near(draw, observation) if near else _behind(draw, observation)
        rendered = render(_scene(draw, key, observation, things))
        if (near or rendered.visible_fractions[0] < HIDDEN) and rendered.masks[0].mean() > LEAST:
            return rendered


def _behind(draw: Draw, observation: Observation) -> list[Thing]:
    bird = _bird(draw, observation, _centre(draw))
    x, y = bird.x + draw.uniform(-9, 9), bird.y + draw.uniform(-9, 9)
    return [bird, Thing(index_of(COVER), observation.style, 0, x, y, SIDE * 1.1)]


def _too_near(draw: Draw, observation: Observation) -> list[Thing]:
    x, y = draw.uniform(-0.4, 1.4) * SIDE, draw.uniform(-0.4, 1.4) * SIDE
    return [_bird(draw, observation, (x, y, draw.uniform(2.4, 3.2) * SIDE))]


def _spoilt(draw: Draw, image: Image.Image) -> Image.Image:
    """Make a picture small, grey, dim and blurred."""
    few = 9 + draw.below(5)
    small = image.resize((few, few), Image.Resampling.BOX).resize(image.size, Image.Resampling.BICUBIC)
    grey = ImageEnhance.Color(small).enhance(draw.uniform(0, 0.25))
    flat = ImageEnhance.Contrast(grey).enhance(draw.uniform(0.3, 0.6))
    return flat.filter(ImageFilter.GaussianBlur(draw.uniform(1, 3)))


def write_bird_table(folder: Path, seed: int, name: str, chosen: Sequence[str], number: int) -> list[Observation]:
    """Write pictures, observations, taxonomy and ranges into a folder; return the observations."""
    written = list(observations(seed, name, chosen, number))
    rows = []
    for observation in written:
        for image in observation.images:
            write_bytes(folder / "images" / image, encode_image(picture(seed, name, observation, image), "JPEG"))
            rows.append(observation.row(image))
    write_table(folder / "birds.csv", TABLE, rows)
    taxa = [(bird.taxon, bird.name, bird.genus, bird.common_name, bird.song) for bird in species()]
    write_table(folder / "taxonomy.csv", TAXONOMY, [dict(zip(TAXONOMY, taxon, strict=True)) for taxon in taxa])
    homes = [(bird.name, *(getattr(bird.range, side) for side in RANGES[1:])) for bird in species()]
    write_table(folder / "ranges.csv", RANGES, [dict(zip(RANGES, home, strict=True)) for home in homes])
    return written


def write(folder: Path, seed: int, number: int) -> None:
    """Write the table `drawn` in all styles, and `drawn-train` in the styles that models may train on."""
    there = styles()
    write_bird_table(folder / "drawn", seed, NAME, there, number)
    trained = [style for style in TRAINING if style in there]
    if trained:
        write_bird_table(folder / "drawn-train", seed, f"{NAME}-train", trained, number)
