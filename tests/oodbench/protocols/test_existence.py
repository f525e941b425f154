"""Existence: two opposite questions about every pair, each answer at its pair, and what is in the way of one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from eyechart.errors import ModelError, SpecError
from eyechart.models.types import Answer
from eyechart.oodbench.answers import yes_no_answers
from eyechart.oodbench.answers.yes_no_answers import Query, ask_queries
from eyechart.oodbench.division.division_files import write_division
from eyechart.oodbench.division.pairs import Division
from eyechart.oodbench.protocols.existence import Existence
from eyechart.protocol.prompts import Prompt
from eyechart.results.records import OutcomeCounts
from eyechart.statistics.yes_no import MISSING, NO, UNPARSED, YES
from tests.oodbench.case_pairs import pairs

HARD, SIMPLE = {(0, 1), (3, 0)}, {(1, 2), (2, 3)}


def about(found: Any) -> dict[tuple[int, int], list[int]]:
    """Both answers by image and category."""
    divided = found.division
    where = zip(divided.rows[found.indices].tolist(), divided.categories[found.indices].tolist(), strict=True)
    return dict(zip(where, found.answers.tolist(), strict=True))


def reordered(divided: Division, order: list[int]) -> Division:
    """The pairs in another order, as a file may have them."""
    parts = ("rows", "categories", "main", "present", "flags", "hardness")
    sets = tuple(divided.sets[index] for index in order)
    return replace(divided, sets=sets, **{part: getattr(divided, part)[order] for part in parts})


def test_sets_are_what_the_detectors_fail_on(pair_world: Any) -> None:
    found = Existence().predict(pair_world.sit(pair_world.talker()))
    assert (pairs(found, "OOD-H"), pairs(found, "OOD-S")) == (HARD, SIMPLE)
    assert len(pairs(found, "ID") - HARD - SIMPLE) == 2
    assert [name for name, _ in found.set_masks()] == ["ID", "OOD-S", "OOD-H"]


@pytest.mark.parametrize("kinds", [["encoder"], ["matcher"], ["classifier"], ["classifier", "encoder"]])
def test_every_kind_of_detector_divides_alike(pair_world: Any, detectors: Any, kinds: list[str]) -> None:
    pair_world.kinds = tuple(detectors[kind] for kind in kinds)
    found = Existence().predict(pair_world.sit(pair_world.talker()))
    assert (pairs(found, "OOD-H"), pairs(found, "OOD-S")) == (HARD, SIMPLE)
    assert found.division.flags[found.indices].sum(axis=1).tolist() == [0, 0, 2, 2, 4, 4]


@pytest.mark.parametrize(("given", "named"), [("own", True), ("first[]+second[]", False)])
def test_who_is_no_detector_by_anybodys_choice_is_told_apart(pair_world: Any, given: str, named: bool) -> None:
    def nobody(spec: str) -> Any:
        raise ModelError(f"{spec} is not on this machine.")

    context = replace(pair_world.sit(pair_world.talker(), detectors=given), get_model=nobody)
    with pytest.raises(ModelError, match="is not on this machine") as raised:
        Existence().predict(context)
    assert ("Choose other detectors with the option detectors=A+B" in str(raised.value)) == named


@pytest.mark.parametrize("kind", ["encoder", "matcher"])
def test_several_prompts_of_a_category_are_one_logit(pair_world: Any, detectors: Any, kind: str) -> None:
    pair_world.kinds = (detectors[kind],)
    found = Existence().predict(pair_world.sit(pair_world.talker(), detector_templates="7"))
    assert (pairs(found, "OOD-H"), pairs(found, "OOD-S")) == (HARD, SIMPLE)
    assert found.division.detectors[0].templates.startswith("7 (")


def test_who_tells_the_truth_is_right_everywhere(pair_world: Any) -> None:
    found = Existence().predict(pair_world.sit(pair_world.talker()))
    assert (found.answers == found.expected).all()
    assert found.expected.tolist() == [[True, False]] * 6


def test_both_questions_are_put_word_by_word(pair_world: Any) -> None:
    model = pair_world.talker()
    Existence().predict(pair_world.sit(model))
    put = [text for numbers, text in model.asked if numbers == (1,)]
    assert put[-2:] == [
        "Does this image contain a great {white} shark? (yes or no)",
        "Does this image not contain a great {white} shark? (yes or no)",
    ]
    assert ((2,), "Does this image contain a cup, plate? (yes or no)") in model.asked
    assert {*model.how} == {(64, None)}


def test_step_by_step_is_asked_with_room_to_think(pair_world: Any) -> None:
    model = pair_world.talker()
    found = Existence().predict(pair_world.sit(model, reasoning="cot"))
    end = "Yes or No? Let's break down the information step by step."
    assert ((2,), f"Does this image contain cup, plate? {end}") in model.asked
    assert ((2,), f"Does this image not contain cup, plate? {end}") in model.asked
    assert {*model.how} == {(1024, None)}
    assert found.variant["prompt"].startswith("existence_cot (")


def test_questions_about_an_image_follow_one_another(pair_world: Any) -> None:
    model, rows = pair_world.talker(), (3, 0, 3, 1, 0)
    heard = ask_queries(pair_world.sit(model), [Query("existence", row, at) for at, row in enumerate(rows)])
    assert [numbers for numbers, _ in model.asked] == [(0,), (0,), (1,), (3,), (3,)]
    assert [reply.text for reply in heard.responses] == ["Yes", "Yes", "Yes", "No", "No"]


@pytest.mark.parametrize(
    ("reading", "wanted"),
    [("lenient", [YES, UNPARSED]), ("strict", [UNPARSED, UNPARSED]), ("authors", [YES, NO])],
)
def test_answers_are_read_as_was_chosen(pair_world: Any, reading: str, wanted: list[int]) -> None:
    model = pair_world.talker(lambda kind, *_: "Perhaps." if kind.endswith("not") else "Yes, there is one.")
    found = Existence().predict(pair_world.sit(model, parser=reading))
    assert found.answers.tolist() == [wanted] * 6
    assert {*found.completions} == {("Yes, there is one.", "Perhaps.")}
    assert found.variant["parser_version"] == ("compat 1" if reading == "authors" else "yes_no 3")


@pytest.mark.parametrize("side", ["existence", "existence_not"])
@pytest.mark.parametrize("retry", [False, True])
def test_an_error_in_one_question_leaves_the_pair_out(pair_world: Any, side: str, retry: bool) -> None:
    refused = Answer("", (), False, error="refused", retry=retry)
    model = pair_world.talker(lambda kind, row, *_: refused if (kind, row) == (side, 2) else None)
    found = Existence().predict(pair_world.sit(model))
    assert about(found)[2, 3] == [MISSING, MISSING]
    assert (found.answers == MISSING).sum() == 2
    (index,) = found.errors
    assert (found.division.rows[found.indices[index]], found.errors[index][:7]) == (2, "refused")


def test_a_broken_image_is_an_error_and_no_wrong_answer(pair_world: Any) -> None:
    dataset = pair_world.dataset(broken=frozenset({3}))
    found = Existence().predict(pair_world.sit(pair_world.talker(), dataset=dataset))
    assert "1 × image left out of the division" in " ".join(found.division.notes)
    assert (3 in found.division.rows.tolist(), found.errors) == (False, {})


@pytest.mark.parametrize("order", [[5, 0, 3, 1, 4, 2], [4, 2, 0, 5, 3, 1]])
def test_a_file_may_have_its_sets_in_any_order(pair_world: Any, tmp_path: Path, order: list[int]) -> None:
    model = pair_world.talker(lambda kind, row, *_: "No" if row == 2 else None)
    made = Existence().predict(pair_world.sit(model))
    write_division(tmp_path / "mine.json", reordered(made.division, order), pair_world.dataset())
    found = Existence().predict(pair_world.sit(model, division=tmp_path / "mine.json"))
    assert about(found) == about(made)
    assert about(found)[2, 3] == [NO, NO]
    assert [pairs(found, name) for name in ("OOD-H", "OOD-S")] == [HARD, SIMPLE]


def test_the_initial_benchmark_has_all_that_was_flagged(pair_world: Any) -> None:
    model = pair_world.talker()
    Existence().predict(pair_world.sit(model, max_pairs=1))
    assert len(model.asked) == 6
    found = Existence().predict(pair_world.sit(pair_world.talker(), max_pairs=1, division_scope="initial"))
    sizes = {name: int(mask.sum()) for name, mask in found.set_masks()}
    assert sizes == {"ID": 1, "OOD-S": 1, "OOD-H": 1, "OOD-S'": 2, "OOD-H'": 2}
    assert pairs(found, "OOD-H'") == HARD > pairs(found, "OOD-H")


def test_absent_categories_are_asked_about_with_opposite_answers(pair_world: Any) -> None:
    pair_world.failed = {"first[]": {(0, 0), (0, 1)}, "second[]": {(0, 0), (0, 1)}}
    model = pair_world.talker()
    found = Existence().predict(pair_world.sit(model, absent_categories="yes"))
    assert pairs(found, "OOD-H") == {(0, category) for category in range(5)}  # of equal logits, all
    at = list(about(found)).index((0, 2))
    assert (found.answers[at].tolist(), found.expected[at].tolist()) == ([NO, YES], [False, True])


def test_hard_samples_are_a_set_whose_questions_others_may_have_asked(pair_world: Any) -> None:
    pair_world.failed = {"first[]": {(5, 4)}, "second[]": {(5, 4)}}
    model = pair_world.talker()
    found = Existence().predict(pair_world.sit(model, hard_samples="own"))
    hard = pairs(found, "Hard")
    assert hard
    assert hard <= {(row, k) for row, counts in enumerate(pair_world.counts) for k, n in enumerate(counts) if n}
    assert len(model.asked) == len({*model.asked})
    assert found.timings["Hard"].answers == 2 * len(hard)
    assert sum(took.fresh for took in found.timings.values()) == len(model.asked)


def test_sets_say_what_was_asked_just_now(pair_world: Any) -> None:
    first = Existence().predict(pair_world.sit(pair_world.talker()))
    again = Existence().predict(pair_world.sit(pair_world.talker()))
    assert [(took.answers, took.fresh) for took in first.timings.values()] == [(4, 4)] * 3
    assert [(took.answers, took.fresh) for took in again.timings.values()] == [(4, 0)] * 3
    assert (first.usage, first.answers.tolist()) == (again.usage, again.answers.tolist())


def test_another_threshold_asks_about_new_pairs_alone(pair_world: Any) -> None:
    Existence().predict(pair_world.sit(pair_world.talker()))
    model = pair_world.talker()
    found = Existence().predict(
        pair_world.sit(model, threshold="0.9999")
    )  # every pair is unlikely where a category is absent
    assert len(pairs(found, "OOD-H")) == 14
    assert sum(took.fresh for took in found.timings.values()) == len(model.asked)
    assert found.timings["OOD-H"].fresh == 28 - 12


def prompt_changed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    asked = dict(yes_no_answers.request_prompts())
    asked["existence"] = (Prompt("existence", "Is a {category} here?", "test"), 64)
    monkeypatch.setattr(yes_no_answers, "request_prompts", lambda: asked)
    return {}


def tokens_changed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    asked = {kind: (each, tokens + 1) for kind, (each, tokens) in yes_no_answers.request_prompts().items()}
    monkeypatch.setattr(yes_no_answers, "request_prompts", lambda: asked)
    return {}


CHANGES: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "seed": lambda world, patch: {"seed": 1},
    "limit": lambda world, patch: {"limit": 7},
    "names": lambda world, patch: {"asked": ("cat", "dog", "shark", "cup", "e")},
    "picture": lambda world, patch: {"dataset": world.dataset(broken=frozenset({4}))},
    "image": lambda world, patch: {"dataset": repainted(world)},
    "prompt": lambda world, patch: prompt_changed(patch),
    "tokens": lambda world, patch: tokens_changed(patch),
}


def repainted(world: Any) -> Any:
    """The same data set but for the bytes of a picture."""
    dataset = world.dataset()
    return replace(dataset, index=(*dataset.index[:-1], structs.replace(dataset.index[-1], sha256="another")))


@pytest.mark.parametrize("what", ["image", "tokens"])
def test_whatever_may_change_every_answer_asks_all_again(
    pair_world: Any, talker: Any, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    first, second = talker(lambda *_: "Yes"), talker(lambda *_: "Yes")
    Existence().predict(pair_world.sit(first))
    Existence().predict(pair_world.sit(second, **CHANGES[what](pair_world, monkeypatch)))
    assert len(first.asked) == len(second.asked) == 12


@pytest.mark.parametrize("what", ["limit", "names", "prompt", "seed"])
def test_only_requests_that_are_new_are_sent(
    pair_world: Any, talker: Any, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    first, second, alone = (talker(lambda *_: "Yes") for _ in range(3))
    Existence().predict(pair_world.sit(first))
    changes = CHANGES[what](pair_world, monkeypatch)
    Existence().predict(pair_world.sit(second, **changes))
    pair_world = replace(pair_world, store=pair_world.store.with_name("another store"))
    Existence().predict(pair_world.sit(alone, **changes))
    assert {*second.asked} == {*alone.asked} - {*first.asked}


def test_a_detector_of_another_vocabulary_is_refused(pair_world: Any, detectors: Any) -> None:
    pair_world.kinds = (detectors["classifier"],)
    pair_world.logits = lambda spec: np.zeros((7, 6), np.float32)
    with pytest.raises(ModelError, match=r"first\[\] has 6 classes, but .* has 5 categories"):
        Existence().predict(pair_world.sit(pair_world.talker()))


def test_a_model_that_is_no_detector_is_refused(pair_world: Any) -> None:
    context = replace(pair_world.sit(pair_world.talker()), get_model=lambda spec: pair_world.talker())
    with pytest.raises(SpecError, match=r"first\[\].*not a detector"):
        Existence().predict(context)


def test_a_detector_that_gives_no_numbers_is_an_error_of_its_images(pair_world: Any, detectors: Any) -> None:
    pair_world.kinds, known = (detectors["classifier"],), pair_world.logits("second[]")
    known[3, 1] = np.nan
    pair_world.logits = lambda spec: known
    found = Existence().predict(pair_world.sit(pair_world.talker()))
    assert 3 not in found.division.rows.tolist()
    assert "1 × image left out" in " ".join(found.division.notes)


def test_images_are_asked_about_whatever_their_order(pair_world: Any) -> None:
    found = Existence().predict(pair_world.sit(pair_world.talker(), max_pairs=1))
    turned = replace(pair_world.dataset(), rows=(), index=pair_world.dataset().index)
    again = Existence().predict(pair_world.sit(pair_world.talker(), max_pairs=1, dataset=turned))
    assert [pairs(found, name) for name in ("ID", "OOD-S")] == [pairs(again, name) for name in ("ID", "OOD-S")]


def test_no_pair_at_all_is_no_answer(pair_world: Any) -> None:
    pair_world.counts = ((0,) * 5,) * 3
    pair_world.failed = {"first[]": set()}
    found = Existence().predict(pair_world.sit(pair_world.talker()))
    assert (found.answers.shape, found.completions, [*found.set_masks()]) == ((0, 2), (), [])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("Yes, I need to check whether … Let me", UNPARSED), ("Yes", UNPARSED), ("Yes.\n\nThere is", YES)],
)
def test_an_answer_that_the_token_limit_cut_is_truncated(pair_world: Any, text: str, wanted: int) -> None:
    model = pair_world.talker(lambda kind, *_: Answer(text, (), False) if kind.endswith("not") else "Yes")
    found = Existence().predict(pair_world.sit(model))
    assert found.answers.tolist() == [[YES, wanted]] * 6
    assert found.truncated is not None
    assert found.truncated.tolist() == [[False, wanted == UNPARSED]] * 6
    counted = found.count_outcomes()
    assert (counted.unparsed, counted.truncated, counted.error) == (0, 6 * (wanted == UNPARSED), 0)


def test_the_authors_scorer_reads_what_the_limit_left(pair_world: Any) -> None:
    found = Existence().predict(
        pair_world.sit(pair_world.talker(lambda *_: Answer("Yes, I", (), False)), parser="authors")
    )
    assert found.count_outcomes().truncated == 0


def test_an_error_beside_a_truncated_answer_is_an_error(pair_world: Any) -> None:
    def say(kind: str, *_: Any) -> Answer:
        return Answer("Let me", (), False) if kind.endswith("not") else Answer("", (), False, error="lost")

    assert Existence().predict(pair_world.sit(pair_world.talker(say))).count_outcomes() == OutcomeCounts(error=12)
