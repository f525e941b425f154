"""The packaged toybox-mllm says the same through transformers and through vLLM."""

from itertools import islice, pairwise

import numpy as np
import pytest

from eyechart.models.hf_generator import Hf
from eyechart.models.interfaces import Request
from eyechart.models.together import generate
from eyechart.models.vllm_generator import Vllm
from eyechart.spec import parse
from eyechart.toybox.classes import names
from eyechart.toybox.exam import groups, skills

REQUESTS = 200
LEAST = 198
TOKENS = 24
SECOND = "What is the main object in the second image?"


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    """Questions of every skill in every group of styles, some about two pictures."""
    each = -(-REQUESTS // (len(skills()) * len(groups()))) + 1
    items = [item for skill in skills() for group in groups() for item in islice(skill.items(group, 12), each)]
    asked = [Request((item.image, item.question.prompt)) for item in items]
    two = [Request((one.parts[0], other.parts[0], SECOND)) for one, other in pairwise(asked)]
    return [*asked[: REQUESTS - 20], *two[:20]]


def test_vllm_says_what_transformers_says(requests: list[Request]) -> None:
    assert len(requests) == REQUESTS
    told = Hf(parse("hf[toybox-mllm]"), offline=True)
    expected, scored = generate(told, requests, TOKENS), told.score(requests[:4], names())
    vllm = Vllm(parse("vllm[toybox-mllm,max_model_len=1024]"), offline=True)
    try:
        found = generate(vllm, requests, TOKENS)
        np.testing.assert_allclose(vllm.score(requests[:4], names()), scored, atol=1e-3)
    finally:
        vllm.close()
    assert sum(one.tokens == other.tokens for one, other in zip(found, expected, strict=True)) >= LEAST
    assert len({one.text for one in expected}) > 30
