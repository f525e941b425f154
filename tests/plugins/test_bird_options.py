"""What options do to cases about birds: each reaches the model, its answers and the record."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from eyechart.realbirdid.data.registered import open_realbirdid
from tests.plugins.worlds import WATCHER

pytestmark = pytest.mark.deep

CASES, SPECIES = "sample-drawn", "sample-drawn and species"


@pytest.fixture(scope="module")
def plain(new_world: Callable[[], Any]) -> Any:
    """A world after a run of a small encoder about the packaged birds."""
    world = new_world()
    ask(world, CASES, world.plugin(WATCHER))
    world.first, world.shown = world.records, world.asked
    return world


def ask(world: Any, keep: str, *more: str, code: int = 0) -> str:
    said: str = world.installed(keep, "--eye-model=tiny[]", *more, code=code)
    return said


def species(world: Any) -> dict[str, Any]:
    """The record of the case of species."""
    (found,) = [one for one in world.records if one["protocol"] == "species"]
    return dict(found)


def test_both_protocols_share_the_pictures(plain: Any) -> None:
    assert [one["protocol"] for one in plain.first] == ["flat_list", "species"]
    assert plain.shown == plain.first[0]["data"]["n"] == 135
    assert plain.loads == ["tiny"]


def test_a_report_carries_plain_values_alone(plain: Any) -> None:
    lines = (plain.folder / "types.jsonl").read_text().splitlines()
    assert len(lines) == 2
    for line in lines:
        assert {*json.loads(line)} <= {"dict", "list", "tuple", "str", "int", "float", "bool", "NoneType"}


def test_templates_and_names_of_ones_own_reach_the_encoder_and_its_answers(plain: Any) -> None:
    before, texts, shown = {*plain.store}, len(plain.lines("texts")), plain.asked
    count = open_realbirdid(CASES).classes
    (plain.folder / "names.txt").write_text("".join(f"bird {index}\n" for index in range(count)))
    ask(plain, SPECIES, "--eye-templates=name", "--eye-names=names.txt")
    assert species(plain)["variant"]["templates"].startswith("name (")
    assert plain.first[1]["variant"]["templates"].startswith("bird (")
    assert species(plain)["variant"]["names"].startswith("names.txt (")
    assert species(plain)["metrics"] != plain.first[1]["metrics"]
    assert (len(plain.lines("texts")) - texts, plain.asked - shown) == (1, 0)
    assert before < {*plain.store}


def test_names_of_another_number_are_refused(plain: Any) -> None:
    (plain.folder / "few.txt").write_text("one\ntwo\n")
    assert "but the class names 'few.txt" in ask(plain, SPECIES, "--eye-names=few.txt", code=1)


def test_a_limit_asks_about_so_many_of_which_what_is_no_number_is_an_error(world: Any) -> None:
    world.order("tiny", 2, "nan")
    said = ask(world, SPECIES, "--eye-limit=10", "--eye-max-errors=1")
    record = species(world)
    assert (record["data"]["n"], record["limit"], sum(record["outcomes"].values())) == (10, 10, 10)
    assert record["outcomes"]["error"] == 1
    assert "1 of 10 images ended in an error and are left out of every score" in said
    assert max(one["n"] for one in record["metrics"] if one["name"] != "answered") <= 9
