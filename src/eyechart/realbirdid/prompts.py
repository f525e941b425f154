"""Questions in words about one picture each, in one book: any text about any picture is asked once.

A limit or another choice of texts asks nothing anew, since the book is about the whole split.
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
MAX_IMAGES = 2**24  # more pictures than a split has
HASH_DIGITS = 9  # hexadecimal ones of a text's sha256: with the row, an integer that JSON can hold
GROUP_SHA256 = sha256(b"a picture, then a text").hexdigest()


def ask(context: Context, queries: Sequence[tuple[int, str]]) -> Responses:
    """Ask texts about rows, picture by picture, so that an engine that can reads each picture once.

    Replies come in the order of the queries; a replay has its own, the same for every text.
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
    """The question's place in the book."""
    return int(sha256(text.encode()).hexdigest()[:HASH_DIGITS], 16) * MAX_IMAGES + row
