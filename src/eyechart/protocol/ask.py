"""Sends the requests of a case to its model: the one way from a protocol to text answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from eyechart.errors import SpecError
from eyechart.inference.requests.text_requests import Generate, TextRequest, request_ids
from eyechart.inference.store.responses import ReplayedResponses, Response, Responses
from eyechart.models.types import Usage
from eyechart.protocol.context import Context

Replayed = Callable[[], Sequence[Response]]


def is_replay(context: Context) -> bool:
    """Return whether the model is a file of completions that were collected elsewhere."""
    return isinstance(context.model, ReplayedResponses)


def ask(context: Context, requests: Sequence[TextRequest], replayed: Replayed | None = None) -> Responses:
    """Return the responses to requests, in their order; only requests without a stored response are sent.

    They are sent in the order of their images, so that an engine can read once what requests about an image have in
    common.

    Args:
        context: The context of the case.
        requests: The requests. Images are named by their indices among the selected ones.
        replayed: Returns the responses of a file of completions, in the order of the requests; by default, the file's
            completion for the image of each request.

    Raises:
        SpecError: If a request has several images, and the model is a file with one completion an image, or the limit
            grows while the case runs.
    """
    if is_replay(context):
        model = context.replayed_words
        distinct = len({*request_ids(requests, context.dataset.selected_digests)})
        responses = tuple(replayed() if replayed else _by_image(context, requests))
        return Responses(responses, Usage(), model.path, model.identity.weights_sha256, distinct=distinct)
    if any(len(request.images) > 1 for request in requests):
        _ = context.runner.fixed_limit
    order, begun = sorted(range(len(requests)), key=lambda number: requests[number].images), monotonic()
    batch = Generate(tuple(requests[number] for number in order))
    result = context.runner.run(batch, context.generator, context.dataset)
    by_number = dict(zip(order, result.responses, strict=True))
    return replace(
        result,
        responses=tuple(by_number[number] for number in range(len(order))),
        seconds=monotonic() - begun,
    )


def _by_image(context: Context, requests: Sequence[TextRequest]) -> list[Response]:
    """Return the completions of a file with one completion an image."""
    model = context.replayed_words
    if any(len(request.images) != 1 for request in requests):
        raise SpecError(f"{model.spec} has one answer an image. Use {context.flag('images_per_request', '1')}.")
    completions = model.responses(context.dataset)
    return [completions[request.images[0]] for request in requests]
