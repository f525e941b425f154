"""The requests of the birds: a text about one image each."""

from collections.abc import Iterable

from eyechart.inference.requests.text_requests import TextRequest
from eyechart.protocol.context import Context

TOKENS = 256


def image_requests(context: Context, queries: Iterable[tuple[int, str]]) -> list[TextRequest]:
    """Return the requests of queries, each the index of an image and a text."""
    return [TextRequest(query, context.token_limit(TOKENS)) for query in queries]
