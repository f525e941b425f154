"""Progression: couples of categories of one image, and three questions about each."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.models.types import Answer
from eyechart.oodbench.answers.yes_no_answers import PROMPTS, Query, ask_queries
from eyechart.oodbench.division.case_division import load_division
from eyechart.oodbench.division.division_files import write_division
from eyechart.oodbench.protocols.progression import Progression
from eyechart.statistics.yes_no import MISSING, UNPARSED, YES

PARTS = ("rows", "categories", "main", "present", "flags", "hardness")
BOTH = {(1, 0), (1, 1), (1, 2), (0, 0), (0, 1), (5, 0)}  # image 5 has one such category, which is no couple


@pytest.fixture
def couples_world(pair_world: Any) -> Any:
    """A world with couples out of distribution."""
    pair_world.failed = {"first[]": BOTH, "second[]": BOTH}
    return pair_world


def couples(found: Any, name: str) -> list[tuple[int, int, int]]:
    """The image and both categories of every sample of a set, in the order of the questions."""
    divided = found.division
    chosen = [index for index, of in enumerate(found.set_names) if of == name]
    ends = [(int(found.first[index]), int(found.second[index])) for index in chosen]
    return [(int(divided.rows[one]), *(int(divided.categories[end]) for end in (one, two))) for one, two in ends]


def unordered(found: Any, name: str) -> list[tuple[int, int, int]]:
    return sorted((row, min(one, two), max(one, two)) for row, one, two in couples(found, name))


def test_couples_are_of_one_image_and_one_set_each_once(couples_world: Any) -> None:
    found = Progression().predict(couples_world.sit(couples_world.talker(), "progression"))
    assert unordered(found, "OOD-H") == [(0, 0, 1), (1, 0, 1), (1, 0, 2), (1, 1, 2)]
    every = unordered(found, "ID")
    assert len({*every}) == len(every)
    assert (found.division.rows[found.first] == found.division.rows[found.second]).all()


def test_who_tells_the_truth_is_right_everywhere(couples_world: Any) -> None:
    found = Progression().predict(couples_world.sit(couples_world.talker(), "progression"))
    assert found.correct.tolist() == [[1, 1, 1]] * len(found.first)
    assert {*np.unique(found.logic).tolist()} == {0, 1}


def test_counts_are_those_of_the_annotation(couples_world: Any) -> None:
    found = Progression().predict(couples_world.sit(couples_world.talker(), "progression"))
    wanted = [[couples_world.counts[row][k] for k in both] for row, *both in couples(found, "OOD-H")]
    chosen = [index for index, of in enumerate(found.set_names) if of == "OOD-H"]
    assert found.counts[chosen].tolist() == wanted


def test_three_questions_are_put_word_by_word(couples_world: Any) -> None:
    model = couples_world.talker()
    _, *both = couples(Progression().predict(couples_world.sit(model, "progression")), "OOD-H")[0]
    one, two = (couples_world.names[k] for k in both)
    assert [text for numbers, text in model.asked if numbers == (0,)] == [
        f"Does this image contain a {one}? (yes or no)",
        f"How many {two} are there in the picture?",
        f"Is the number of {one} in the image greater than the number of {two}? Answer with 'yes' or 'no'.",
    ]
    assert {*model.how} == {(64, None)}


def test_equal_numbers_are_no(couples_world: Any) -> None:
    model = couples_world.talker(lambda kind, *_: "Yes" if kind == "progression_logic" else None)
    found = Progression().predict(couples_world.sit(model, "progression"))
    equal = found.counts[:, 0] == found.counts[:, 1]
    assert equal.any()
    assert not found.correct[equal, 2].any()


def test_logic_counts_only_with_the_number(couples_world: Any) -> None:
    model = couples_world.talker(lambda kind, *_: "about nine" if kind == "progression_counting" else None)
    found = Progression().predict(couples_world.sit(model, "progression"))
    assert found.correct.tolist() == [[1, 0, 0]] * len(found.first)


@pytest.mark.parametrize(
    ("reading", "count", "yes"),
    [("lenient", 3, YES), ("strict", UNPARSED, UNPARSED), ("authors", 3, YES)],
)
def test_answers_are_read_as_was_chosen(couples_world: Any, reading: str, count: int, yes: int) -> None:
    model = couples_world.talker(lambda kind, *_: "I see three." if kind.endswith("counting") else "Yes, indeed.")
    found = Progression().predict(couples_world.sit(model, "progression", parser=reading))
    assert ({*found.counting.tolist()}, {*found.existence.tolist(), *found.logic.tolist()}) == ({count}, {yes})
    assert found.variant["parser_version"] == ("compat 1" if reading == "authors" else "yes_no 3, number 3")


@pytest.mark.parametrize("stage", ["existence", "progression_counting", "progression_logic"])
def test_an_error_in_one_question_leaves_the_sample_out(couples_world: Any, stage: str) -> None:
    refused = Answer("", (), False, error="refused")
    model = couples_world.talker(lambda kind, row, *_: refused if (kind, row) == (stage, 0) else None)
    found = Progression().predict(couples_world.sit(model, "progression"))
    (sample,) = found.errors
    assert np.flatnonzero(found.missing).tolist() == [sample]
    assert found.division.rows[found.first[sample]] == 0
    assert [int(found.existence[sample]), int(found.counting[sample]), int(found.logic[sample])].count(MISSING) == 1


def test_what_cannot_be_counted_is_in_no_couple(couples_world: Any) -> None:
    countable = np.ones((7, 5), bool)
    countable[1, 0] = False
    couples_world.annotation = {"countable": countable}
    found = Progression().predict(couples_world.sit(couples_world.talker(), "progression"))
    assert unordered(found, "OOD-H") == [(0, 0, 1), (1, 1, 2)]


def test_the_first_of_two_is_drawn(couples_world: Any) -> None:
    sittings = [couples_world.sit(couples_world.talker(), "progression", seed=seed) for seed in (0, 1, 2, 3, 0)]
    drawn = [couples(Progression().predict(context), "OOD-H") for context in sittings]
    assert len({*map(tuple, drawn)}) > 1
    assert drawn[0] == drawn[-1]


def test_the_most_are_drawn_whatever_their_order(couples_world: Any, tmp_path: Path) -> None:
    made = load_division(couples_world.sit(couples_world.talker(), "progression"))
    order = np.random.default_rng(1).permutation(len(made))
    parts = {name: getattr(made, name)[order] for name in PARTS}
    turned = replace(made, sets=tuple(made.sets[index] for index in order), parameters={"max_pairs": "2"}, **parts)
    found = []
    for name, one in (("a", replace(made, parameters={"max_pairs": "2"})), ("b", turned)):
        write_division(tmp_path / f"{name}.json", one, couples_world.dataset())
        context = couples_world.sit(couples_world.talker(), "progression", division=tmp_path / f"{name}.json")
        found.append({name: sorted(couples(Progression().predict(context), name)) for name in ("ID", "OOD-H")})
    assert found[0] == found[1]
    assert len(found[0]["OOD-H"]) == 2


def test_other_names_are_asked_about_in_the_same_couples(couples_world: Any) -> None:
    names = ("e", "d", "c", "b", "a")
    one = Progression().predict(couples_world.sit(couples_world.talker(), "progression"))
    other = Progression().predict(couples_world.sit(couples_world.talker(names=names), "progression", asked=names))
    assert [couples(one, name) for name in ("ID", "OOD-H")] == [couples(other, name) for name in ("ID", "OOD-H")]
    assert other.correct.all()


def test_mined_pairs_are_in_no_couple(couples_world: Any, tmp_path: Path) -> None:
    made = load_division(couples_world.sit(couples_world.talker(), "progression"))
    mined = replace(made, sets=tuple("Hard" if name == "OOD-H" else name for name in made.sets))
    write_division(tmp_path / "mine.json", mined, couples_world.dataset())
    context = couples_world.sit(couples_world.talker(), "progression", division=tmp_path / "mine.json")
    assert {*Progression().predict(context).set_names} == {"ID"}


def test_absent_categories_are_in_no_couple(couples_world: Any) -> None:
    found = Progression().predict(couples_world.sit(couples_world.talker(), "progression", absent_categories="yes"))
    there = found.division.present
    assert not there.all()
    assert there[found.first].all()
    assert there[found.second].all()


def test_questions_that_samples_share_are_asked_once(couples_world: Any) -> None:
    model = couples_world.talker()
    found = Progression().predict(couples_world.sit(model, "progression", seed=1))
    assert len(model.asked) == len({*model.asked}) == sum(took.fresh for took in found.timings.values())
    assert all(took.answers == took.fresh for took in found.timings.values())
    assert found.timings["OOD-H"].answers < 3 * len(couples(found, "OOD-H"))
    assert found.correct.all()


def test_no_two_questions_are_kept_at_one_place(pair_world: Any) -> None:
    model = pair_world.talker()
    one_by_one = [Query(kind, row, k) for kind in PROMPTS[:2] for row in range(7) for k in range(5)]
    couples = [Query("progression_logic", row, *both) for row in range(7) for both in permutations(range(5), 2)]
    ask_queries(pair_world.sit(model), [*one_by_one, *couples])
    assert len({*model.asked}) == len(one_by_one) + len(couples)


def test_no_couple_at_all_is_no_answer(pair_world: Any) -> None:
    pair_world.counts = ((1, 0, 0, 0, 0),) * 3
    pair_world.failed = {"first[]": {(0, 0)}}
    found = Progression().predict(pair_world.sit(pair_world.talker(), "progression"))
    assert (found.correct.shape, found.completions, found.set_names) == ((0, 3), (), [])


def test_an_answer_that_the_token_limit_cut_is_truncated(couples_world: Any) -> None:
    cut = Answer("I count 2, no", (), False)
    model = couples_world.talker(lambda kind, *_: cut if kind == "progression_counting" else None)
    found = Progression().predict(couples_world.sit(model, "progression"))
    assert found.truncated is not None
    assert found.truncated.tolist() == [[False, True, False]] * len(found.first)
    counted = found.count_outcomes()
    assert (counted.unparsed, counted.truncated) == (0, len(found.first))
    assert found.correct[:, 1:].any() == np.False_
