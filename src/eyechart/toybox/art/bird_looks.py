"""The birds of the toy world: what they look like, where they live, and who sings differently but looks the same."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from eyechart.toybox.art.shapes import atlas
from eyechart.toybox.art.things import Look
from eyechart.toybox.art.toy_classes import index_of

SPECIES = Path(__file__).with_name("species.csv")
PHOTOGRAPHS = "cutouts"


@dataclass(frozen=True)
class Range:
    """Where a species lives, drawn with a coarse brush: one box of latitudes and longitudes in degrees."""

    south: float
    north: float
    west: float
    east: float

    def contains(self, latitude: float, longitude: float) -> bool:
        """Whether a place is inside."""
        return self.south <= latitude <= self.north and self.west <= longitude <= self.east


@dataclass(frozen=True)
class Species:
    """A species: emoji (class names) in a coat of its own, cut-outs (`class` or `class:number`) as they are.

    Species with the same `song` look the same and are told apart by their song alone.
    """

    taxon: int
    name: str
    common_name: str
    art: tuple[str, ...]
    cutouts: tuple[str, ...]
    coat: Look
    song: str
    range: Range

    @property
    def genus(self) -> str:
        """The first word of the name."""
        return self.name.partition(" ")[0]

    def pictures(self, style: str) -> list[tuple[int, int]]:
        """The class and number of every picture that a style has of the species."""
        sprites = atlas(style).sprites
        pictures = []
        for named in self.cutouts if style == PHOTOGRAPHS else self.art:
            name, _, number = named.partition(":")
            label = index_of(name)
            every = range(len(sprites.get(label, ())))
            pictures += [(label, index) for index in every if not number or index == int(number)]
        return pictures

    def apply_coat(self, look: Look, style: str) -> Look:
        """Put the coat under a look; photographs have the right colours."""
        if style == PHOTOGRAPHS:
            return look
        tint = (
            look.tint[0] * self.coat.tint[0],
            look.tint[1] * self.coat.tint[1],
            look.tint[2] * self.coat.tint[2],
        )
        saturation, brightness = look.saturation * self.coat.saturation, look.brightness * self.coat.brightness
        return replace(look, saturation=saturation, brightness=brightness, tint=tint, channels=self.coat.channels)


@cache
def species() -> tuple[Species, ...]:
    """Return every species, numbered from 1."""
    with SPECIES.open(encoding="utf-8", newline="") as file:
        return tuple(_species(taxon, line) for taxon, line in enumerate(csv.DictReader(file), 1))


def look_alikes(bird: Species) -> tuple[Species, ...]:
    """Return the other species with its song group."""
    return tuple(other for other in species() if bird.song and other.song == bird.song and other != bird)


def candidates(latitude: float, longitude: float) -> tuple[Species, ...]:
    """Return the species that live at a place."""
    return tuple(bird for bird in species() if bird.range.contains(latitude, longitude))


def _species(taxon: int, line: Mapping[str, str]) -> Species:
    red, green, blue = map(float, line["tint"].split(";"))
    first, second, third = ("rgb".index(channel) for channel in line["channels"])
    coat = Look(
        saturation=float(line["saturation"]),
        brightness=float(line["brightness"]),
        tint=(red, green, blue),
        channels=(first, second, third),
    )
    return Species(
        taxon=taxon,
        name=line["species"],
        common_name=line["common_name"],
        art=tuple(line["art"].split(";")),
        cutouts=tuple(filter(None, line["cutouts"].split(";"))),
        coat=coat,
        song=line["song"],
        range=Range(*(float(line[side]) for side in ("south", "north", "west", "east"))),
    )
