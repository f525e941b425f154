"""The interface of a wire format: how a request is written, sent and read, by the official client of a provider."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from PIL import Image

from eyechart.models.served import errors
from eyechart.models.served.options import ServedOptions
from eyechart.models.types import Answer, Request

CONNECT_TIMEOUT = 4.0  # seconds in which a server must accept a connection
S = TypeVar("S", bound=msgspec.Struct)


@dataclass(frozen=True)
class Completion:
    """What a server replied: the answer, and the name of the model that made it, "" if it is not there."""

    answer: Answer
    model: str = ""


class Api(ABC):
    """One wire format. The client must neither retry, follow redirections nor, to this machine, use a proxy."""

    def __init__(self, options: ServedOptions) -> None:
        self.options = options
        self.key = options.key()

    @property
    def timeouts(self) -> tuple[float, float]:
        """The seconds for an attempt, and those of it for the connection."""
        return self.options.timeout, min(CONNECT_TIMEOUT, self.options.timeout / 2)

    @abstractmethod
    def write(self, request: Request, max_tokens: int, schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return a request as the body of one message."""

    @abstractmethod
    async def send(self, body: Mapping[str, Any]) -> bytes:
        """Send a body once and return the body of the response; raise what the client raises."""

    @abstractmethod
    def parse(self, body: bytes) -> Completion:
        """Return the completion in the body of a response; raise what `errors` has."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""


def iterate_parts(request: Request) -> Iterator[str | tuple[Image.Image, bytes]]:
    """Yield texts, and images with the bytes that they were decoded from, in their order."""
    files = iter(request.files)
    for part in request.parts:
        yield part if isinstance(part, str) else (part, next(files, b""))


def decode(body: bytes, struct: type[S]) -> S:
    """Return the JSON of a response; raise TransientError if it does not have this form."""
    try:
        return msgspec.json.decode(body, type=struct)
    except (msgspec.DecodeError, RecursionError) as error:
        start = errors.shorten(body[:40].decode("utf-8", "replace"))
        raise errors.TransientError(f"the reply cannot be read ({error}): {start!r}…") from None


def error_in_body(error: Any) -> Exception:
    """Return the exception for an error in the body of a response with status 200, as some services send."""
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return errors.error_from_status(status, {}, msgspec.json.encode({"error": error}).decode())
