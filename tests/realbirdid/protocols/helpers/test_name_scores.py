"""How much names speak for birds: cosines, likelihoods or a file's probabilities, and what is made of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError, ModelError, RequestError, SpecError
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.requests.row_requests import ScoreChoices
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request, Scorer
from eyechart.protocol.ask import ask
from eyechart.protocol.context import Context
from eyechart.protocol.prompts import get_prompt
from eyechart.protocol.registry import get_protocol
from eyechart.realbirdid.data.registered import open_realbirdid
from eyechart.realbirdid.protocols.helpers.bird_requests import image_requests
from eyechart.realbirdid.protocols.helpers.name_scores import (
    candidate_mask,
    conditional_probabilities,
    require_observations,
    score_free_answers,
    score_names,
    softmax,
    species_names,
)
from eyechart.realbirdid.protocols.helpers.species_replay import SpeciesReplay

rows = arrays(np.float32, (3, 5), elements=st.floats(-80, 80, width=32))
masks = arrays(np.bool_, (3, 5))
NOTHING = np.zeros((1, 2), np.bool_)

MLLM = parse_spec("hf[toybox-mllm]")
IMAGES = 3
Ask = Callable[..., Context]


def expected_softmax(row: Any, allowed: Any) -> list[float]:
    raised = [np.exp(float(value)) if one else 0.0 for value, one in zip(row, allowed, strict=True)]
    return [each / sum(raised) if sum(raised) else np.nan for each in raised]


@given(rows, masks)
def test_shares_are_a_plain_softmax_of_what_is_allowed(given: Any, allowed: Any) -> None:
    found = softmax(given, allowed)
    np.testing.assert_allclose(
        found, [expected_softmax(*each) for each in zip(given, allowed, strict=True)], rtol=2e-4, atol=1e-6
    )
    assert found.dtype == np.float32


@given(rows)
def test_shares_of_all_names_are_those_of_an_open_list(given: Any) -> None:
    np.testing.assert_array_equal(softmax(given), softmax(given, np.ones(given.shape, np.bool_)))


def test_a_list_is_applied_before_normalising() -> None:
    far = np.array([[0.0, -300.0, -301.0]], np.float32)  # which nothing would be left of afterwards
    np.testing.assert_allclose(softmax(far, far < 0), [[0, 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))]], rtol=1e-6)


@pytest.mark.parametrize("made", [softmax, conditional_probabilities])
def test_nothing_is_said_of_an_empty_list_or_an_error(made: Any) -> None:
    assert np.isnan(made(np.ones((1, 2), np.float32), NOTHING)).all()
    assert np.isnan(made(np.full((1, 2), np.nan, np.float32), ~NOTHING)).all()
    assert np.isnan(made(np.full((1, 2), np.nan, np.float32), np.array([[True, False]]))).all()


@given(rows, masks)
def test_probabilities_given_a_list_are_those_of_the_logits(given: Any, allowed: Any) -> None:
    gentle = given / 20
    found = conditional_probabilities(softmax(gentle), allowed)
    np.testing.assert_allclose(found, softmax(gentle, allowed), rtol=1e-4)
    assert found.dtype == np.float32


def test_probabilities_without_a_list_stay_as_they_are() -> None:
    given = np.array([[0.25, 0.7501]], np.float32)
    np.testing.assert_array_equal(conditional_probabilities(given), given)


def test_no_probability_on_a_whole_list_makes_all_of_it_equally_likely() -> None:
    given = np.array([[1, 0, 0], [0, 0, 1], [np.nan] * 3], np.float32)
    found = conditional_probabilities(given, np.array([[False, True, True]] * 3))
    np.testing.assert_array_equal(found, [[0, 0.5, 0.5], [0, 0, 1], [np.nan] * 3])


def test_a_bird_without_a_location_has_no_list(bird_world: Any) -> None:
    found = candidate_mask(bird_world.seen, 0, 22)
    assert found[8].tolist() == [False] * 9  # it has candidates
    assert found[1].nonzero()[0].tolist() == [0, 3, 4, 5]
    np.testing.assert_array_equal(candidate_mask(bird_world.seen, 1, 9), found[1:9])


def test_a_split_without_observations_is_refused(bird_world: Any) -> None:
    bare = replace(bird_world.dataset(), details=None)
    with pytest.raises(DataError, match=r"realbirdid.* has no observations\. Put birds\.csv"):
        require_observations(replace(bare, benchmark="realbirdid"))
    assert len(require_observations(bird_world.dataset())) == 22


def test_names_are_scientific_or_common(bird_world: Any) -> None:
    context = bird_world.sit(bird_world.comparing())
    common = bird_world.sit(bird_world.comparing(), species_names="common")
    assert species_names(context) == context.names
    assert species_names(common) == bird_world.tree.common


@pytest.mark.parametrize(
    ("spoiled", "said"), [("", "Pica pica has no common name"), (" rook", "one common name, ' rook'")]
)
def test_common_names_that_are_missing_or_equal_are_refused(bird_world: Any, spoiled: str, said: str) -> None:
    names = tuple(spoiled if name == "Magpie" else name for name in bird_world.tree.common)
    bird_world.tree = replace(bird_world.tree, common=names)
    with pytest.raises(DataError, match=said):
        bird_world.found(bird_world.comparing(), species_names="common")


def test_an_encoder_compares_each_picture_once(bird_world: Any) -> None:
    model = bird_world.comparing()
    told = score_names(bird_world.sit(model), bird_world.names)
    np.testing.assert_allclose(told.read(0, 22), model.logits, atol=1e-4)
    np.testing.assert_array_equal(told.read(3, 9), told.read(0, 22)[3:9])
    assert sorted(model.asked) == [*range(22), 21, 21]  # the last batch repeats its last image
    assert told.errors == {}


def test_cosines_are_taken_times_the_models_own_scale(bird_world: Any) -> None:
    plain, sharp = (bird_world.comparing(bird_world.logits() / 9, logit_scale=scale) for scale in (50, 200))
    found = [score_names(bird_world.sit(model), bird_world.names) for model in (plain, sharp)]
    np.testing.assert_allclose(found[0].read(0, 22), found[1].read(0, 22), atol=1e-4)
    assert [each.variant["scale"] for each in found] == ["50", "200"]


def test_an_encoder_reads_the_papers_prompt(bird_world: Any) -> None:
    model = bird_world.comparing()
    told = score_names(bird_world.sit(model), ("Corvus corax", "Pica"))
    assert model.read == ["a photo of a Corvus corax bird.", "a photo of a Pica bird."]
    assert told.variant["templates"].startswith("bird (")


def test_an_encoder_reads_the_templates_that_were_asked_for(bird_world: Any) -> None:
    model = bird_world.comparing()
    told = score_names(bird_world.sit(model, templates="name"), ("Corvus corax", "Pica"))
    assert model.read == ["Corvus corax", "Pica"]
    assert told.variant["templates"].startswith("name (")


def test_an_encoder_takes_no_prompt_of_models_that_answer_in_words(bird_world: Any) -> None:
    context = bird_world.sit(bird_world.comparing(), prompt="species")
    with pytest.raises(
        SpecError, match=r"species\.prompt=species is for models that answer in words; knowing compares"
    ):
        score_names(context, context.names)


def test_names_that_an_encoder_cannot_read_are_nobodys_answer(bird_world: Any) -> None:
    names = ("Corvus corax~", *bird_world.names)
    model = bird_world.comparing(np.zeros((22, len(names))), names=names)
    with pytest.raises(ModelError, match=r"knowing gives NaN for some class names in float32"):
        score_names(bird_world.sit(model), names)


def test_a_language_model_scores_each_name_up_to_where_it_is_told(bird_world: Any) -> None:
    model = bird_world.saying()
    told = score_names(bird_world.sit(model), bird_world.names[::-1])
    np.testing.assert_array_equal(told.read(2, 5), model.logits[2:5, ::-1])
    assert sorted(model.asked) == [(row, "unique", "What is the species of this bird?") for row in range(22)]
    assert {**told.variant} == told.variant | {"stop": "unique prefix", "parser_version": "none"}


def test_a_language_model_may_be_asked_in_other_words(bird_world: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('text = "Which bird?"\nsource = "me"\n')
    model = bird_world.saying()
    told = score_names(bird_world.sit(model, prompt=tmp_path / "mine.toml"), bird_world.names)
    assert {text for *_, text in model.asked} == {"Which bird?"}
    assert "mine.toml (" in told.variant["prompt"]


@pytest.mark.parametrize("kind", ["comparing", "saying"])
def test_a_picture_that_cannot_be_read_is_an_error_of_its_own(bird_world: Any, kind: str) -> None:
    model = getattr(bird_world, kind)()
    told = score_names(bird_world.sit(model, broken=frozenset({0, 5})), bird_world.names)
    found = told.read(0, 22)
    assert sorted(told.errors) == [0, 5] == np.flatnonzero(np.isnan(found).all(axis=1)).tolist()
    assert np.isnan(found).any(axis=1).sum() == 2


@pytest.mark.parametrize("kind", ["comparing", "saying"])
def test_errors_throughout_are_nan_throughout(bird_world: Any, kind: str) -> None:
    model = getattr(bird_world, kind)()
    told = score_names(bird_world.sit(model, broken=frozenset(range(22))), bird_world.names)
    assert told.read(0, 22).shape == (22, 14)
    assert np.isnan(told.read(4, 9)).all()
    assert len(told.errors) == 22


@pytest.fixture
def replay(tmp_path: Path) -> Any:
    """Put probabilities, and keys beside them, into a file."""

    def replay(values: Any, keys: Any = None) -> SpeciesReplay:
        np.save(tmp_path / "P.npy", np.asarray(values, np.float32))
        if keys is not None:
            (tmp_path / "P.csv").write_text("\n".join(["key", *keys]))
        return SpeciesReplay(parse_spec(f"replay[path={tmp_path / 'P.npy'},of=species]"))

    return replay


def test_probabilities_of_a_file_are_read_as_they_are(bird_world: Any, replay: Any) -> None:
    values = softmax(bird_world.logits()[:, :9])
    told = score_names(bird_world.sit(replay(values)), bird_world.names[:9])
    np.testing.assert_array_equal(told.to_probabilities(told.read(3, 7), None), values[3:7])
    assert (told.errors, told.variant) == ({}, {})


def test_a_bird_that_a_file_does_not_have_is_an_error(bird_world: Any, replay: Any) -> None:
    keys = [f"s{row:02d}" for row in range(22) if row != 4]
    told = score_names(bird_world.sit(replay(softmax(bird_world.logits()[1:, :9]), keys)), bird_world.names[:9])
    assert [*told.errors] == [4]
    assert "has no row for s04" in told.errors[4]
    assert np.isnan(told.to_probabilities(told.read(4, 5), None)).all()


def kept(world: Any) -> set[str]:
    """Every answer set in the store."""
    return {path.parent.name for path in world.store.rglob("done.json")}


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("comparing", {"species_names": "common"}),
        ("comparing", {"templates": "name"}),
        ("saying", {"species_names": "common"}),
    ],
)
def test_other_names_and_templates_are_other_questions(bird_world: Any, kind: str, more: Any) -> None:
    world = replace(
        bird_world, tree=replace(bird_world.tree, common=tuple(name + "us" for name in bird_world.names[:9]))
    )
    names = (*bird_world.names, *world.tree.common)
    model = getattr(world, kind)(np.zeros((22, len(names))))
    model.names = names
    world.found(model)
    before = kept(world)
    world.found(model)
    assert kept(world) == before
    world.found(model, **more)
    assert len(kept(world) - before) == 1


def test_another_prompt_is_another_question(bird_world: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('text = "Which bird?"\nsource = "me"\n')
    model = bird_world.saying()
    for prompt in ("own", "own", tmp_path / "mine.toml"):
        bird_world.found(model, prompt=prompt)
    assert (len(kept(bird_world)), len(model.asked)) == (2, 44)


class CountingEngine(LocalEngine):
    """Counts the texts that are scored."""

    def __init__(self) -> None:
        super().__init__()
        self.scored: list[str] = []

    def score_texts(self, request: ScoreChoices, model: Scorer, numbers: Sequence[int]) -> Iterator[Any]:
        self.scored += [(request.items or ())[number] for number in numbers]
        yield from super().score_texts(request, model, numbers)


@pytest.fixture(scope="module")
def model() -> HfGenerator:
    """The packaged model."""
    made = create_model(MLLM, offline=True)
    assert isinstance(made, HfGenerator)
    return made


@pytest.fixture
def asking(tmp_path: Path, model: HfGenerator) -> Ask:
    """A context of the protocol on drawn birds."""

    def context(images: int = IMAGES, engine: LocalEngine | None = None, of: Any = None, **options: str) -> Context:
        dataset: Dataset = open_realbirdid("sample-drawn").subsample(images, 1)
        runner = Runner(Store(tmp_path / "store"), images, 1, lambda *_: None, lambda: engine or LocalEngine())
        chosen = {**get_protocol("species").defaults(), "probability": "nlg2choice", **options}
        observed = dataset.selected_details
        assert observed is not None
        names = observed.taxonomy.names[0]
        return Context(runner, of or model, dataset, names, "split", chosen, protocol="species")

    return context


def expected(context: Context) -> np.ndarray:
    """The model's own log-probabilities of the names, one request at a time."""
    queries = [(row, get_prompt("species").text) for row in range(len(context.dataset))]
    replies = ask(context, image_requests(context, queries)).responses
    listed = "\n".join(context.names)
    texts = [get_prompt("species_choice").fill(said=reply.text.strip(), class_list=listed) for reply in replies]
    found = {text: context.scorer.score([Request((text,))], context.names, until="unique")[0] for text in {*texts}}
    return np.stack([found[text] for text in texts])


@pytest.mark.deep
def test_the_probability_is_that_of_the_name_given_the_free_answer_alone(asking: Ask) -> None:
    context = asking()
    scores = score_free_answers(context, context.names)
    alone = expected(context)
    np.testing.assert_allclose(scores.read(0, IMAGES), alone, rtol=1e-4, atol=1e-4)
    predictions = get_protocol("species").predict(context)
    level = predictions.summaries["all species"].levels[0]
    np.testing.assert_allclose(level.probability, softmax(alone).max(axis=1), rtol=1e-3)
    variant = predictions.full_variant()
    assert variant["probability"] == "nlg2choice"
    assert variant["choice_prompt"].startswith("species_choice (")


@pytest.mark.deep
def test_it_differs_from_one_pass_and_both_have_their_names(asking: Ask) -> None:
    found = {}
    for method in ("one_pass", "nlg2choice"):
        context = asking(probability=method)
        level = get_protocol("species").predict(context).summaries["all species"].levels[0]
        found[method] = level.probability
    assert not np.allclose(found["one_pass"], found["nlg2choice"])


@pytest.mark.deep
def test_each_free_answer_is_scored_once_whatever_the_limit(asking: Ask) -> None:
    engine = CountingEngine()
    few = score_free_answers((context := asking(2, engine)), context.names).read(0, 2)
    first = len(engine.scored)
    context = asking(IMAGES, engine)
    score_free_answers(context, context.names)
    assert len({*engine.scored}) == len(engine.scored) > first > 0
    again = CountingEngine()
    np.testing.assert_array_equal(score_free_answers((old := asking(2, again)), old.names).read(0, 2), few)
    assert again.scored == []


@pytest.mark.deep
def test_a_text_that_the_model_refuses_is_an_error_of_its_images_and_asked_again(asking: Ask, model: Any) -> None:
    class Refusing(HfGenerator):
        """Refuses the first text that it has to score."""

        refused = 0

        def score(self, requests: Sequence[Request], choices: Sequence[str], **more: Any) -> Any:
            if not self.refused:
                self.refused = 1
                raise RequestError({0: "the text is too long"})
            return super().score(requests, choices, **more)

    context = asking(of=Refusing(MLLM, offline=True))
    scores = score_free_answers(context, context.names)
    values = scores.read(0, IMAGES)
    assert {*scores.errors.values()} == {"the text is too long"}
    assert np.isnan(values[[*scores.errors]]).all()
    context = replace(context, model=model)
    again = score_free_answers(context, context.names)
    assert again.errors == {}
    np.testing.assert_array_equal(
        np.delete(again.read(0, IMAGES), [*scores.errors], 0), np.delete(values, [*scores.errors], 0)
    )


def test_encoders_have_one_case_whatever_is_requested() -> None:
    species, requested = get_protocol("species"), {"probability": ("one_pass", "nlg2choice")}
    assert len([*species.expand_grid(requested, ("encoder",))]) == 1
    assert [case["probability"] for case in species.expand_grid(requested, ("generator", "scorer"))] == [
        "one_pass", "nlg2choice",
    ]  # fmt: skip
