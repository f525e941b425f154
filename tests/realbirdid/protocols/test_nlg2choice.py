"""nlg2choice's retrieval with the packaged model: a free answer, then the names given that text, without the image."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import RequestError
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
from eyechart.realbirdid.protocols.bird_requests import image_requests
from eyechart.realbirdid.protocols.name_scores import softmax
from eyechart.realbirdid.protocols.nlg2choice import score_free_answers

MLLM = parse_spec("hf[toybox-mllm]")
IMAGES = 3
Ask = Callable[..., Context]


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
        runner = Runner(Store(tmp_path / "store"), images, 1, lambda *_: None, engine or LocalEngine())
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
