"""Send prompts about single images; every pair of image and prompt is requested once and then cached.

The cache covers the whole split, so another limit or another set of prompts repeats no request.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from eyechart.inference.requests import Generate, RequestTemplate, SharedRequests
from eyechart.inference.responses import Responses
from eyechart.models.types import Usage
from eyechart.protocol.context import Context, is_replay

STORE_NAME = "birds"
MAX_TOKENS = 256
MAX_IMAGES = 2**24  # more images than a split has
HASH_DIGITS = 9  # hexadecimal digits of the prompt's sha256: with the row an integer that JSON can hold
GROUP_SHA256 = sha256(b"a picture, then a text").hexdigest()


def ask(context: Context, queries: Sequence[tuple[int, str]]) -> Responses:
    """Return the responses to queries (image index, prompt), sent image by image so that engines can reuse the prefix.

    Responses are in the order of the queries. A replay has one response per image, whatever the prompt.
    """
    dataset = context.dataset
    if is_replay(context):
        model = context.replayed_words
        completions, path, digest = model.responses(dataset), model.path, model.identity.weights_sha256
        return Responses(tuple(completions[row] for row, _ in queries), Usage(), path, digest)
    order = sorted(range(len(queries)), key=lambda number: queries[number][0])
    rows = [dataset.selected[queries[number][0]] for number in order]
    texts = [queries[number][1] for number in order]
    requests = tuple(RequestTemplate((row, text), MAX_TOKENS) for row, text in zip(rows, texts, strict=True))
    places = tuple(request_index(row, text) for row, text in zip(rows, texts, strict=True))
    whole, runner = replace(dataset, rows=()), replace(context.runner, limit=None)
    result = runner.generate(
        context.generator, whole, Generate(STORE_NAME, requests, shared=SharedRequests(GROUP_SHA256, places))
    )
    responses = dict(zip(order, result.responses, strict=True))
    return replace(result, responses=tuple(responses[number] for number in range(len(queries))))


def request_index(row: int, text: str) -> int:
    """Return the index of a request in the shared cache."""
    return int(sha256(text.encode()).hexdigest()[:HASH_DIGITS], 16) * MAX_IMAGES + row
