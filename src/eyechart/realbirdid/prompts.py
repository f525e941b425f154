"""Send prompts about single images; every pair of image and prompt is requested once and then cached.

The cache covers the whole split, so another limit or another set of prompts repeats no request.
"""

from collections.abc import Sequence
from dataclasses import replace

from eyechart.inference.requests.text_requests import AskImages
from eyechart.inference.store.responses import Responses
from eyechart.models.types import Usage
from eyechart.protocol.context import Context, is_replay

STORE_NAME = "birds"
TOKENS = 256


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
    requests = tuple((dataset.selected[queries[number][0]], queries[number][1]) for number in order)
    batch = AskImages(STORE_NAME, requests, context.token_limit(TOKENS), context.runner.seed)
    result = context.runner.run(batch, context.generator, dataset)
    responses = dict(zip(order, result.responses, strict=True))
    return replace(result, responses=tuple(responses[number] for number in range(len(queries))))
