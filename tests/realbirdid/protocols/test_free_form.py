"""A bird's species in free words: what is right, how deep it goes, and what is asked only once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.classification.protocols.replay import Replay
from eyechart.errors import SpecError
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer
from eyechart.realbirdid.protocols.abstention import Abstention
from eyechart.realbirdid.protocols.free_form import FreeForm, FreeFormPredictions, free_form_accuracies
from eyechart.results.records import Metric

SAID = (  # of the birds (species, genus): (0, 0), (1, 0), (4, 2), (-, 0), (-, 2), (-, 0), (-, 3), (-, 2)
    *("Corvus corax", "Common Raven", "Turdus", "Corvus", "Corvus"),
    *("cannot tell", "Catharus ustulatus", ""),
)
LEVELS = ["species", "species", "genus", "genus", "genus", "abstained", "species", ""]
RIGHT = [1, 0, 0, 1, 0, 1, 0, 0]


@pytest.fixture
def speaker(chooser: Callable[..., Any]) -> Callable[..., Any]:
    """Make models that say of each bird what is in SAID, or what else is given."""

    def make(*said: Any, **more: Any) -> Any:
        words = said or SAID
        return chooser(lambda numbers, _: words[numbers[0]], **more)

    return make


def numbers(found: FreeFormPredictions) -> dict[tuple[str, str], Metric]:
    return {(one.name, one.subset_text): one for one in (each.metric for each in free_form_accuracies(found))}


def test_every_answer_has_its_depth_and_is_right_or_not(asked_birds: Any, speaker: Any) -> None:
    found = FreeForm().predict(asked_birds(speaker()))
    assert [found.answer_level(row) for row in range(8)] == LEVELS
    assert found.correct.tolist() == [bool(each) for each in RIGHT]
    assert found.correct_genus.tolist() == [True, True, True, True, False, False, True, False]
    assert found.abstained.tolist() == [level in ("genus", "abstained") for level in LEVELS]


def test_the_numbers_are_those_of_the_answers(asked_birds: Any, speaker: Any) -> None:
    found = numbers(FreeForm().predict(asked_birds(speaker())))
    assert {name: (one.value, one.n) for name, one in found.items()} == {
        ("acc", "answerable.species"): (1 / 3, 3),
        ("acc", "answerable.genus"): (1.0, 3),
        ("acc", "unanswerable.genus"): (2 / 5, 5),
        ("acc", "unanswerable"): (2 / 5, 5),
        ("abstained", "answerable"): (1 / 3, 3),
        ("abstained", "unanswerable"): (3 / 5, 5),
        ("hm", "all"): (pytest.approx(2 / (3 + 5 / 2)), 8),
    }
    assert all(one.ci is not None and one.ci[0] <= one.value <= one.ci[1] for one in found.values())


def test_the_outcomes_add_up(asked_birds: Any, speaker: Any) -> None:
    failed = Answer("", (), False, error="content filter")
    came = FreeForm().predict(asked_birds(speaker(failed, *SAID[1:]))).count_outcomes()
    assert (came.correct, came.wrong, came.unparsed, came.error) == (2, 4, 1, 1)


def test_an_error_is_left_out_of_the_numbers(asked_birds: Any, speaker: Any) -> None:
    failed = Answer("", (), False, error="content filter")
    found = FreeForm().predict(asked_birds(speaker(failed, *SAID[1:])))
    assert found.errors == {0: "content filter"}
    assert (numbers(found)["acc", "answerable.species"].value, numbers(found)["acc", "answerable.species"].n) == (0, 2)


def test_a_broken_picture_is_an_error(asked_birds: Any, speaker: Any) -> None:
    asked_birds.facts = {"broken": frozenset({3})}
    found = FreeForm().predict(asked_birds(speaker()))
    assert [*found.errors] == [3]
    assert found.answer_level(3) == ""


@pytest.mark.parametrize("birds", [((0, 0, -1),), ((-1, 0, 1),), ()])
def test_without_birds_of_a_kind_there_is_no_harmonic_mean(asked_birds: Any, speaker: Any, birds: Any) -> None:
    asked_birds.birds = birds
    found = numbers(FreeForm().predict(asked_birds(speaker("Corvus"))))
    assert found["hm", "all"].value is None
    assert found["acc", "answerable.species"].n == sum(species >= 0 for species, _, _ in birds)


def test_who_says_nothing_but_nonsense_is_unread_by_inclusion(asked_birds: Any, speaker: Any) -> None:
    model = speaker(*["a thing with feathers"] * 8)
    found = FreeForm().predict(asked_birds(model, extraction="inclusion"))
    assert (found.count_outcomes().unparsed, model.chosen) == (8, [])
    assert numbers(found)["hm", "all"].value == 0


def test_the_model_chooses_among_all_names(asked_birds: Any, speaker: Any) -> None:
    model = speaker(*["it may be Turdus merula or Catharus ustulatus"] * 8)
    found = FreeForm().predict(asked_birds(model))
    assert {found.extracted_name(row) for row in range(8)} == {"Turdus merula"}
    (asked,) = model.chosen
    assert asked[0].startswith("Text: it may be Turdus merula or Catharus ustulatus\n\nWhich bird species")


def test_each_picture_is_asked_about_once_whatever_the_limit(asked_birds: Any, speaker: Any) -> None:
    first, second = speaker(), speaker()
    some = FreeForm().predict(asked_birds(first, limit=3, seed=7))
    every = FreeForm().predict(asked_birds(second, seed=7))
    shown = [numbers for model in (first, second) for numbers, _ in model.asked]
    assert (len(first.asked), sorted(shown)) == (3, [(index,) for index in range(8)])
    assert [every.completions[every.keys.index(key)] for key in some.keys] == [*some.completions]


def test_another_prompt_is_asked_anew(asked_birds: Any, speaker: Any, tmp_path: Path) -> None:
    FreeForm().predict(asked_birds(speaker()))
    mine, model = tmp_path / "mine.toml", speaker()
    mine.write_text('source = "me"\ntext = "Which bird?"')
    found = FreeForm().predict(asked_birds(model, prompt=mine))
    assert {text for _, text in model.asked} == {"Which bird?"}
    assert found.variant["prompt"].startswith(str(mine))


def test_a_prompt_with_a_slot_is_refused(asked_birds: Any, speaker: Any) -> None:
    with pytest.raises(SpecError, match="slots"):
        FreeForm().predict(asked_birds(speaker(), prompt="existence"))


@pytest.mark.parametrize("stop", [0, 1, 5])
def test_a_stopped_run_ends_as_if_it_had_never_stopped(
    asked_birds: Any, other_birds: Any, speaker: Any, stop: int
) -> None:
    with pytest.raises(ConnectionResetError):
        FreeForm().predict(asked_birds(speaker(stop=stop)))
    second = speaker()
    resumed, whole = FreeForm().predict(asked_birds(second)), FreeForm().predict(other_birds(speaker()))
    assert (len(second.asked), resumed.completions) == (8 - stop, whole.completions)
    assert asked_birds.files() == other_birds.files()


def test_words_of_a_model_without_log_probabilities_are_read_by_inclusion(asked_birds: Any, speaker: Any) -> None:
    model = speaker()
    type(model).scoring_obstacle = "its layers slide"
    found, same = FreeForm().predict(asked_birds(model)), FreeForm().predict(asked_birds(model, extraction="inclusion"))
    assert found.variant["extraction"] == same.variant["extraction"] == "inclusion"
    assert found.variant["extraction_reason"] == "its layers slide"
    assert "extraction_reason" not in same.variant
    assert (found.errors, found.choice_indices.tolist()) == (same.errors, same.choice_indices.tolist())
    assert model.chosen == []


def test_reasons_of_a_model_without_log_probabilities_are_read_by_inclusion(asked_birds: Any, speaker: Any) -> None:
    model = speaker()
    type(model).scoring_obstacle = "its layers slide"
    found = Abstention().predict(asked_birds(model, "abstention"))
    assert {name: found.variant[name] for name in ("extraction", "extraction_reason")} == {
        "extraction": "inclusion",
        "extraction_reason": "its layers slide",
    }
    same = Abstention().predict(asked_birds(model, "abstention", extraction="inclusion"))
    assert found.choice_indices.tolist() == same.choice_indices.tolist()
    assert model.chosen == []


def test_words_of_a_file_are_read_by_inclusion(asked_birds: Any, tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    path.write_text("key,answer\n" + "".join(f"s{index:02d},{text}\n" for index, text in enumerate(SAID[:7])))
    found = FreeForm().predict(asked_birds(Replay(parse_spec(f"replay[path={path},of=free_form]"))))
    assert [found.answer_level(row) for row in range(8)] == LEVELS
    assert (found.variant["extraction"], [*found.errors]) == ("inclusion", [7])


def test_what_answers_took_is_counted_with_their_extraction(asked_birds: Any, talker: Any) -> None:
    model = talker(lambda shown, _: "who knows" if shown else '{"answer": "Corvus"}', structured=True)
    found = FreeForm().predict(asked_birds(model))
    assert (found.requests, found.usage.prompt, found.variant["names"]) == (9, 90, "split")
    assert [found.extracted_name(row) for row in range(8)] == ["Corvus"] * 8


def test_an_answer_that_the_token_limit_cut_is_truncated(asked_birds: Any, speaker: Any) -> None:
    cut = [Answer(text, (), False) for text in ("Corvus corax", "Corvus corone\nIt is black", "It may be a Corvus or")]
    model = speaker(*cut, *SAID[3:])
    found = FreeForm().predict(asked_birds(model))
    assert found.truncated == {0, 2}
    assert [found.answer_level(row) for row in range(3)] == ["", "species", ""]
    assert (found.count_outcomes().truncated, found.count_outcomes().unparsed) == (2, 1)
    assert not any("Corvus or" in text for texts in model.chosen for text in texts)
