"""The species of the toy world: what they look like, and which of them look alike."""

from collections import Counter, defaultdict

import pytest

from eyechart.toybox.art.bird_looks import PHOTOGRAPHS, Range, Species, candidates, look_alikes, species
from eyechart.toybox.art.shapes import atlas, styles
from eyechart.toybox.art.styles import TRAINING
from eyechart.toybox.art.things import Look
from eyechart.toybox.art.toy_classes import BIRDS, classes, index_of, names


def test_there_are_at_least_fifteen_species_and_genera_of_several() -> None:
    assert len({one.name for one in species()}) == len(species()) >= 15
    sizes = Counter(one.genus for one in species())
    assert len(sizes) >= 10
    assert sum(size > 1 for size in sizes.values()) >= 5


def test_species_are_drawn_from_bird_classes() -> None:
    for one in species():
        for name in (*one.art, *(named.partition(":")[0] for named in one.cutouts)):
            assert classes()[names().index(name)].subgroup == BIRDS


@pytest.mark.parametrize("style", [style for style in TRAINING if style in styles()])
def test_every_species_has_art_in_every_training_style(style: str) -> None:
    assert all(one.pictures(style) for one in species())


def test_look_alikes_have_one_art_one_coat_and_one_genus() -> None:
    groups = defaultdict(list)
    for one in species():
        groups[one.song].append(one)
    groups.pop("")
    assert len(groups) >= 3
    for one, other in groups.values():
        assert (one.art, one.coat, one.genus) == (other.art, other.coat, other.genus)
        assert look_alikes(one) == (other,)


def test_other_species_do_not_look_alike() -> None:
    seen = Counter((name, one.coat) for one in species() if not one.song for name in one.art)
    assert set(seen.values()) == {1}


def test_a_coat_lies_under_a_look_but_not_on_a_photograph() -> None:
    coat = Look(saturation=0.5, brightness=0.8, tint=(1.0, 0.5, 0.25), channels=(2, 1, 0))
    bird = Species(1, "Anas picta", "", ("duck",), ("duck",), coat, "", Range(0, 1, 0, 1))
    look = Look(saturation=0.5, brightness=0.5, tint=(0.5, 0.5, 2.0), blur=0.3)
    worn = Look(saturation=0.25, brightness=0.4, tint=(0.5, 0.25, 0.5), blur=0.3, channels=(2, 1, 0))
    assert bird.apply_coat(look, TRAINING[0]) == worn
    assert bird.apply_coat(look, PHOTOGRAPHS) == look


def test_pictures_are_all_of_a_class_or_the_numbered_one() -> None:
    bird = Species(1, "Anas picta", "", ("duck", "owl"), ("duck:1", "owl"), Look(), "", Range(0, 1, 0, 1))
    duck, owl = index_of("duck"), index_of("owl")
    assert bird.pictures(TRAINING[0]) == [(duck, 0), (owl, 0)]
    if PHOTOGRAPHS in styles():
        owls = len(atlas(PHOTOGRAPHS).sprites[owl])
        assert bird.pictures(PHOTOGRAPHS) == [(duck, 1), *((owl, number) for number in range(owls))]


def test_a_species_lives_up_to_the_border_of_its_range() -> None:
    for bird in species():
        here = bird.range
        assert {bird} <= {*candidates(here.south, here.west)} & {*candidates(here.north, here.east)}
        assert bird not in candidates(here.south - 0.1, here.west)
        assert bird not in candidates(here.north, here.east + 0.1)
