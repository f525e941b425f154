"""What a session says of birds at its end."""

from typing import Any

import pytest

from eyechart.plugins.summary import select_rows

pytestmark = pytest.mark.deep


@pytest.fixture
def lines(bird_world: Any) -> dict[str, list[tuple[str, ...]]]:
    """The lines of a case of species and of one of a flat list."""
    kinds = ("species", "flat_list")
    records = {kind: bird_world.record(bird_world.saying(), kind, broken=frozenset({3})) for kind in kinds}
    return {kind: select_rows([record], verbose=True).rows[1:] for kind, record in records.items()}


def test_species_have_their_main_numbers(lines: Any) -> None:
    assert [(line[2], line[3]) for line in lines["species"]] == [
        ("ig", "answerable, all species"),
        ("ig", "answerable, range"),
        ("ua_a", "all, all species"),
        ("ua_a", "all, range"),
        ("acc", "answerable, species, all species"),
        ("acc", "unanswerable, genus, all species"),
    ]
    assert {line[1] for line in lines["species"]} == {"species"}


def test_a_flat_list_has_its_harmonic_mean(lines: Any) -> None:
    assert [(line[2], line[3], line[5]) for line in lines["flat_list"]] == [
        ("hm", "all, all species", "21"),
        ("hm", "all, range", "16"),
    ]


def test_a_line_has_the_value_with_its_interval_and_the_errors(lines: Any) -> None:
    for line in (line for kind in lines.values() for line in kind):
        value, low, high = (float(part.strip("[],")) for part in line[4].split())
        assert 0 <= low <= value <= high <= 100
        assert line[6] == "1"


def test_numbers_of_nobody_have_no_line(bird_world: Any) -> None:
    world = bird_world.with_birds(*bird_world.birds[14:])
    rows = select_rows([world.record(world.saying())], verbose=True).rows[1:]
    assert [(line[2], line[3]) for line in rows] == [("acc", "unanswerable, genus")]
