"""The packaged toybox-mllm says the same through transformers and through vLLM."""

from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import pytest

from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.types import Answer, Floats, Request, Scorer
from eyechart.models.vllm.generator import VllmGenerator
from eyechart.spec import parse_spec
from eyechart.toybox.classes import names
from eyechart.toybox.species import species
from toybox.exam import groups, skills

REQUESTS = 200
LEAST = 198
TOKENS = 24
TEXTS = [Request((f"Someone wrote: {said}. Which is it?",)) for said in ("a gull", "a blurry picture", "a wren")]
SECOND = "What is the main object in the second image?"


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    """Questions of every skill in every group of styles, some about two pictures."""
    each = -(-REQUESTS // (len(skills()) * len(groups()))) + 1
    items = [item for skill in skills() for group in groups() for item in islice(skill.items(group, 12), each)]
    asked = [Request((item.image, item.question.prompt)) for item in items]
    two = [Request((one.parts[0], other.parts[0], SECOND)) for one, other in pairwise(asked)]
    return [*asked[: REQUESTS - 20], *two[:20]]


@dataclass(frozen=True)
class Told:
    """What a model makes of pictures and of a text alone."""

    answers: list[Answer]
    texts: list[Answer]
    best: list[int]
    scores: dict[str, Floats]


def told(model: Scorer, requests: list[Request]) -> Told:
    known = [each.name for each in species()]
    scores = {
        "names": model.score(requests[:4], names()),
        "species": model.score(requests[:4], known, until="unique"),
        "names of texts": model.score(TEXTS, names()),
        "species of texts": model.score(TEXTS, known, until="unique"),
    }
    best = model.best(TEXTS, names())[0].tolist()
    return Told(generate_all(model, requests, TOKENS), generate_all(model, TEXTS, TOKENS), best, scores)


@pytest.fixture(scope="module")
def both(requests: list[Request]) -> tuple[Told, Told]:
    """Through transformers and, after that, through vLLM, which takes the classes for itself while it works."""
    vllm = VllmGenerator(parse_spec("vllm[toybox-mllm,max_model_len=1024]"), offline=True)
    first = told(HfGenerator(parse_spec("hf[toybox-mllm]"), offline=True), requests)
    try:
        return first, told(vllm, requests)
    finally:
        vllm.close()


def test_vllm_says_what_transformers_says(both: tuple[Told, Told]) -> None:
    pairs = list(zip(*(one.answers for one in both), strict=True))
    assert len(pairs) == REQUESTS
    assert sum(one.tokens == other.tokens for one, other in pairs) >= LEAST
    assert len({one.text for one, _ in pairs}) > 30


@pytest.mark.parametrize("what", ["names", "species", "names of texts", "species of texts"])
def test_choices_are_as_likely_through_both(both: tuple[Told, Told], what: str) -> None:
    one, other = (each.scores[what] for each in both)
    np.testing.assert_allclose(one, other, atol=1e-3)
    assert np.ptp(one) > 1


def test_species_have_probabilities(both: tuple[Told, Told]) -> None:
    shares = [np.exp(each.scores["species"].astype(np.float64)) for each in both]
    one, other = (each / each.sum(axis=1, keepdims=True) for each in shares)
    np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_a_text_alone_is_read_alike_through_both(both: tuple[Told, Told]) -> None:
    one, other = both
    assert [answer.tokens for answer in one.texts] == [answer.tokens for answer in other.texts]
    assert one.best == other.best == one.scores["names of texts"].argmax(axis=1).tolist()
