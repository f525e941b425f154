"""The requests of the birds: a text about one image each."""

from collections.abc import Iterable

from eyechart.inference.requests.text_requests import AskImages
from eyechart.protocol.context import Context

STORE_NAME = "birds"
TOKENS = 256


def image_requests(context: Context, queries: Iterable[tuple[int, str]]) -> AskImages:
    """Return the requests of queries, each the index of an image and a text."""
    return AskImages(STORE_NAME, tuple(queries), context.token_limit(TOKENS))
