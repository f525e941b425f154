"""Sends the requests of a case to its model: the one way from a protocol to text answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from eyechart.errors import SpecError
from eyechart.inference.requests.text_requests import (
    AskImages,
    FillPrompts,
    Generate,
    GenerateByImage,
    RequestTemplate,
    SharedRequests,
)
from eyechart.inference.store.responses import ReplayedResponses, Response, Responses
from eyechart.models.types import Usage
from eyechart.protocol.context import Context

Requests = Generate | AskImages | FillPrompts
Replayed = Callable[[], Sequence[Response]]


def is_replay(context: Context) -> bool:
    """Return whether the model is a file of completions that were collected elsewhere."""
    return isinstance(context.model, ReplayedResponses)


def ask(context: Context, requests: Requests, replayed: Replayed | None = None) -> Responses:
    """Return the responses to requests, in their order; only requests without a stored response are sent.

    Requests that are stored one by one are sent in the order of their images, so that an engine can read once what
    requests about an image have in common. Those about one image each depend neither on the limit nor on the seed.

    Args:
        context: The context of the case.
        requests: The requests. Images are named by their indices among the selected ones.
        replayed: Returns the responses of a file of completions, in the order of the requests; by default, the file's
            completion for the image of each request.

    Raises:
        SpecError: If a request has several images, and the model is a file with one completion an image.
    """
    if is_replay(context):
        model = context.replayed_words
        responses = replayed() if replayed else _by_image(context, requests.templates)
        return Responses(
            tuple(responses), Usage(), model.path, model.identity.weights_sha256, distinct=len({*requests.ids})
        )
    batch, begun = _as_stored(context, requests), monotonic()
    order = [*range(len(requests.templates))]
    if isinstance(batch, SharedRequests):
        order.sort(key=lambda number: requests.templates[number].images)
        batch = batch.take(order)
    result = context.runner.run(batch, context.generator, context.dataset)
    by_number = dict(zip(order, result.responses, strict=True))
    return replace(
        result,
        responses=tuple(by_number[number] for number in range(len(order))),
        distinct=len({*batch.ids}),
        seconds=monotonic() - begun,
    )


def _as_stored(context: Context, requests: Requests) -> Requests | GenerateByImage:
    """Return requests as their responses are stored."""
    runner, selected = context.runner, context.dataset.selected
    if isinstance(requests, AskImages):
        queries = tuple((selected[image], text) for image, text in requests.queries)
        return replace(requests, queries=queries, seed=runner.seed)
    if isinstance(requests, Generate) and all(len(template.images) == 1 for template in requests.templates):
        return requests.by_image(selected)
    return replace(requests, limit=runner.key_limit, seed=runner.seed)


def _by_image(context: Context, templates: Sequence[RequestTemplate]) -> list[Response]:
    """Return the completions of a file with one completion an image."""
    model = context.replayed_words
    if any(len(template.images) != 1 for template in templates):
        raise SpecError(f"{model.spec} has one answer an image. Use {context.flag('images_per_request', '1')}.")
    completions = model.responses(context.dataset)
    return [completions[template.images[0]] for template in templates]
