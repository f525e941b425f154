"""Wordings of one question: who declines, how often, why, and that nothing is asked twice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.errors import DataError
from eyechart.models.types import Answer, Identity
from eyechart.realbirdid.answers.abstention_predictions import AbstentionPredictions
from eyechart.realbirdid.answers.abstention_reasons import CHOICES
from eyechart.realbirdid.metrics.abstention_estimates import (
    abstention_rates,
    abstention_reasons,
    prompt_effects,
    sd_interval,
)
from eyechart.realbirdid.protocols.abstention import Abstention
from eyechart.realbirdid.protocols.free_form import FreeForm
from eyechart.realbirdid.statistics.cochran import cochran_q
from eyechart.results.records import Metric
from eyechart.statistics.intervals import wilson

LEVELS = 'plain = ["What?", "Who?", "Which?"]\npolite = ["Please?", "May I ask?"]\n'
DECLINING = {"What?": (), "Who?": (3, 4), "Which?": (3, 4, 7), "Please?": (3, 4, 5, 6, 7), "May I ask?": (0, 3, 5)}
WHY = {3: "blurry", 4: "blurry", 5: "its song", 6: "the angle", 7: "I can't tell", 0: "blurry"}
UNANSWERABLE = (3, 4, 5, 6, 7)
OTHER = Identity(
    backend="test", name="other", weights_sha256="1", dtype="float32", device="cpu", processor={}, libraries={}
)


def say(numbers: tuple[int, ...], text: str) -> str:
    """Decline for some pictures, in a wording that gets them."""
    return WHY[numbers[0]] if numbers[0] in DECLINING[text] else "Corvus corax"


@pytest.fixture
def levels(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(LEVELS)
    return path


@pytest.fixture
def ask(asked_birds: Any, talker: Any, levels: Path) -> Callable[..., AbstentionPredictions]:
    """Ask models in the wordings; replies are read by inclusion, unless they are chosen."""

    def make(model: Any = None, **more: Any) -> AbstentionPredictions:
        chosen = {"prompt_set": levels, "extraction": "inclusion"} | more
        return Abstention().predict(asked_birds(model or talker(say), "abstention", **chosen))

    return make


def numbers(found: AbstentionPredictions) -> dict[tuple[str, str], Metric]:
    metrics = (abstention_rates, prompt_effects, abstention_reasons)
    return {(one.name, one.metric.subset_text): one.metric for metric in metrics for one in metric(found)}


def values(found: AbstentionPredictions, name: str) -> dict[str, Any]:
    return {category: one.value for (kind, category), one in numbers(found).items() if kind == name}


def test_every_wording_is_put_about_every_unanswerable_bird(ask: Any, talker: Any) -> None:
    model = talker(say)
    found = ask(model)
    assert found.image_indices.tolist() == [*UNANSWERABLE]
    assert sorted(model.asked) == sorted(((row,), text) for row in UNANSWERABLE for text in DECLINING)
    assert found.abstained.tolist() == [[row in rows for row in UNANSWERABLE] for rows in DECLINING.values()]


@pytest.mark.parametrize(("number", "texts"), [("2", ["What?", "Who?", "Please?", "May I ask?"]), ("9", [*DECLINING])])
def test_the_first_prompts_of_each_level_can_be_sent_alone(
    ask: Any, talker: Any, number: str, texts: list[str]
) -> None:
    model = talker(say)
    found = ask(model, prompts_per_level=number)
    assert sorted(model.asked) == sorted(((row,), text) for row in UNANSWERABLE for text in texts)
    left_out = [note for note in found.notes() if "prompts_per_level" in note]
    assert left_out == ["4 of 5 prompts were sent (abstention.prompts_per_level)."] * (len(texts) < len(DECLINING))


def test_pictures_come_one_after_another_with_all_their_questions(ask: Any, talker: Any) -> None:
    model = talker(say)
    ask(model)
    assert [row for (row,), _ in model.asked] == [row for row in UNANSWERABLE for _ in DECLINING]


def test_rates_are_those_of_the_wordings(ask: Any) -> None:
    found = values(ask(), "abstention")
    rates = [0, 2 / 5, 3 / 5, 1, 2 / 5]
    assert [
        found[f"unanswerable/{name}"] for name in ("plain/01", "plain/02", "plain/03", "polite/01", "polite/02")
    ] == rates
    assert (found["unanswerable/plain"], found["unanswerable/polite"]) == (pytest.approx(1 / 3), pytest.approx(0.7))


def test_the_spread_is_that_of_the_rates(ask: Any) -> None:
    found = values(ask(), "abstention_sd")
    assert found == {
        "unanswerable/plain": pytest.approx(np.std([0, 0.4, 0.6], ddof=1)),
        "unanswerable/polite": pytest.approx(0.18**0.5),
    }


def test_a_wording_has_wilsons_interval(ask: Any) -> None:
    one = numbers(ask())["abstention", "unanswerable/plain/02"]
    assert (one.n, one.ci, one.ci_method) == (5, tuple(wilson(2, 5)), "wilson")


def test_cochrans_q_is_over_the_wordings_of_a_level(ask: Any) -> None:
    found = ask()
    wanted = cochran_q(found.abstained[:3].T)
    assert values(found, "cochran_q")["unanswerable/plain"] == wanted.q
    assert values(found, "cochran_p")["unanswerable/plain"] == wanted.p


def test_declining_is_counted_by_what_is_the_matter(ask: Any) -> None:
    found = values(ask(), "p_abstain")  # image quality: birds 3 and 6; angle: 4; vocalization: 5; 7 has no reason
    assert found["image quality/plain"] == pytest.approx(2 / 6)
    assert found["angle/occlusion/plain"] == pytest.approx(2 / 3)
    assert (found["vocalization/plain"], found["vocalization/polite"]) == (0, 1)


def test_the_right_reason_is_the_birds_own(ask: Any) -> None:
    found = values(ask(), "correct_reason")  # plain: 3 twice right, 4 twice wrong; polite: 3, 3, 5, 5 right; 4, 6 wrong
    assert found == {"plain": 1 / 2, "polite": pytest.approx(4 / 6)}


def test_who_never_declines_has_no_right_reason(ask: Any, talker: Any) -> None:
    found = ask(talker(lambda *_: "Corvus corax"))
    assert values(found, "correct_reason") == {"plain": None, "polite": None}
    assert values(found, "cochran_p") == {"unanswerable/plain": 1, "unanswerable/polite": 1}
    assert values(found, "abstention")["unanswerable/plain"] == 0


def test_every_interval_is_around_its_value(ask: Any) -> None:
    sure = [one for one in numbers(ask(abstention_images="all")).values() if one.ci is not None]
    assert len(sure) > 20
    assert all(one.ci[0] <= one.value <= one.ci[1] for one in sure)


def test_asking_about_all_asks_only_about_the_others(ask: Any, talker: Any) -> None:
    first, second = talker(say), talker(say)
    one, every = ask(first), ask(second, abstention_images="all")
    assert {row for (row,), _ in second.asked} == {0, 1, 2}
    assert every.abstained[:, list(UNANSWERABLE)].tolist() == one.abstained.tolist()
    assert values(every, "abstention")["answerable/polite"] == pytest.approx(1 / 6)
    assert values(every, "abstention")["unanswerable/polite"] == values(one, "abstention")["unanswerable/polite"]


def test_a_limit_and_other_levels_ask_nothing_anew(ask: Any, talker: Any, levels: Path) -> None:
    ask()
    model = talker(lambda *_: "Corvus corax")
    ask(model, limit=5)
    other = levels.with_name("other.toml")
    other.write_text('late = ["Who?", "When?"]')
    found = ask(model, prompt_set=other)
    assert {text for _, text in model.asked} == {"When?"}
    assert found.abstained.sum() == 2


def test_a_wording_that_free_form_put_is_not_put_again(ask: Any, asked_birds: Any, talker: Any, levels: Path) -> None:
    levels.write_text('plain = ["What is the species of this bird?"]', encoding="utf-8")
    FreeForm().predict(asked_birds(talker(lambda *_: "I can't tell"), extraction="inclusion"))
    model = talker(say)
    assert (ask(model).abstained.all(), model.asked) == (True, [])


def test_a_level_of_one_wording_has_no_spread(ask: Any, levels: Path) -> None:
    levels.write_text('plain = ["Who?"]', encoding="utf-8")
    found = ask()
    assert values(found, "abstention_sd") == {"unanswerable/plain": None}
    assert values(found, "cochran_q") == {}


@pytest.mark.parametrize("birds", [((0, 0, -1),), ()])
def test_without_an_unanswerable_bird_there_is_nothing_to_ask(ask: Any, asked_birds: Any, birds: Any) -> None:
    asked_birds.birds = birds
    found = ask()
    assert (found.choice_indices.shape, found.completions) == ((5, 0), ())
    assert {one.value for one in numbers(found).values()} == {None}


@pytest.mark.parametrize("stop", [0, 1, 12, 24])
def test_a_stopped_run_ends_as_if_it_had_never_stopped(
    ask: Any, asked_birds: Any, other_birds: Any, talker: Any, levels: Path, stop: int
) -> None:
    with pytest.raises(ConnectionResetError):
        ask(talker(say, stop=stop))
    second = talker(say)
    resumed = ask(second)
    whole = Abstention().predict(other_birds(talker(say), "abstention", prompt_set=levels, extraction="inclusion"))
    assert (len(second.asked), resumed.completions) == (25 - stop, whole.completions)
    assert asked_birds.files() == other_birds.files()


def test_an_error_is_left_out_of_its_wording_alone(ask: Any, talker: Any) -> None:
    failed = Answer("", (), False, error="content filter")
    found = ask(talker(lambda shown, text: failed if (shown, text) == ((4,), "Who?") else say(shown, text)))
    assert found.errors == {6: "content filter"}
    one = numbers(found)
    assert (one["abstention", "unanswerable/plain/02"].value, one["abstention", "unanswerable/plain/02"].n) == (
        1 / 4,
        4,
    )
    assert (one["cochran_q", "unanswerable/plain"].n, one["p_abstain", "angle/occlusion/plain"].n) == (4, 2)


def test_the_outcomes_add_up(ask: Any, talker: Any) -> None:
    model = talker(lambda shown, text: "" if (shown, text) == ((1,), "Who?") else say(shown, text))
    came = ask(model, abstention_images="all").count_outcomes()
    assert (came.correct, came.wrong, came.unparsed, came.error) == (12 + 13, 1 + 13, 1, 0)


def test_the_model_chooses_among_the_reasons(ask: Any, chooser: Any) -> None:
    model = chooser(lambda shown, text: "hm: vocalization, or image quality" if text == "Who?" else "Corvus corax")
    found = ask(model, extraction="choice")
    assert [CHOICES[index] for index in found.choice_indices[1]] == ["image quality"] * 5
    wanted = "Text: hm: vocalization, or image quality\n\nDoes this text mention any of the following reasons: "
    assert [text.startswith(f"{wanted}image quality, angle/occlusion, vocalization\n") for text in model.chosen[0]] == [
        True
    ]


def test_a_bad_file_of_wordings_is_refused(ask: Any, levels: Path) -> None:
    levels.write_text("plain = []", encoding="utf-8")
    with pytest.raises(DataError, match="has no wording"):
        ask()


@pytest.mark.parametrize(
    ("sd", "low", "high"), [(0.0, 0.0, 0.0827), (0.5, 0.3830, 0.5827), (1 / np.sqrt(2), 0.5417, 1 / np.sqrt(2))]
)
def test_a_spread_that_no_resample_changes_is_not_certain(sd: float, low: float, high: float) -> None:
    found = sd_interval(np.full(9, sd), sd, birds=29, wordings=2)
    assert tuple(found) == pytest.approx((low, high), abs=1e-3)


def test_an_answer_that_the_token_limit_cut_is_truncated(
    ask: Callable[..., AbstentionPredictions], talker: Any
) -> None:
    def broken(numbers: tuple[int, ...], text: str) -> Any:
        return Answer("It is too blurry to", (), False) if (numbers, text) == ((3,), "Who?") else say(numbers, text)

    found = ask(talker(broken))
    assert len(found.truncated) == 1
    (index,) = found.truncated
    assert found.completions[index] == "It is too blurry to"
    assert not found.abstained.reshape(-1)[index]
    whole, counted = ask(talker(say, identity=OTHER)).count_outcomes(), found.count_outcomes()
    assert (counted.truncated, whole.truncated) == (1, 0)
    assert counted.unparsed == whole.unparsed
    assert counted.correct == whole.correct - 1
