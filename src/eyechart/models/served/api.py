"""The interface of a wire format: how a request is written, sent and read, by the official client of a provider."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from PIL import Image

from eyechart.models.served import faults
from eyechart.models.served.options import ServedOptions
from eyechart.models.served.remedies import add_remedy
from eyechart.models.types import Answer, Request

CONNECT_TIMEOUT = 4.0  # seconds in which a server must accept a connection
ERROR_FIELDS = ("base_resp", "detail", "errors", "error_msg", "message", "msg")  # fields that state an error, by server
HALF_PAIR = re.compile(r"\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}")
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
    """Return the JSON of a response; raise RejectedError for another form, TransientError if it is no JSON."""
    try:
        return msgspec.json.decode(body, type=struct)
    except msgspec.ValidationError as error:  # another attempt, which may cost, would be read no better
        raise faults.RejectedError(f"the response has an unknown form ({error}): {_start(body)}", known=False) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise faults.TransientError(f"the response cannot be read ({error}): {_start(body)}") from None


def decode_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a response, also from a list of one, as Google sends errors; raise as `decode`."""
    try:
        content = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        content = _decode_leniently(body)
        if content is None:
            raise faults.TransientError(f"the response cannot be read ({error}): {_start(body)}") from None
    if isinstance(content, list) and len(content) == 1:
        (content,) = content
    if not isinstance(content, dict):
        raise faults.RejectedError(
            f"the response has an unknown form (expected a JSON object): {_start(body)}", known=False
        )
    return content


def _decode_leniently(body: bytes) -> Any:
    """Return JSON that has a byte order mark, NaN, or half of a pair of surrogates where a text was cut, else None."""
    try:
        text = json.dumps(json.loads(body.decode("utf-8-sig", "replace"), parse_constant=lambda _: None))
        return json.loads(HALF_PAIR.sub(r"\\ufffd", text))
    except (ValueError, RecursionError):
        return None


def require_field(response: Mapping[str, Any], name: str) -> None:
    """Raise RejectedError for a response without a field, as another service than the expected one gives."""
    if name not in response:
        if (error := _find_error(response)) is not None:
            raise error
        fields = ", ".join(map(str, response)) or "none"
        raise faults.RejectedError(
            f'the response has no "{name}" (its fields: {faults.shorten(fields)}). Check base_url', known=False
        )


def require_list(response: Mapping[str, Any], name: str) -> list[Any]:
    """Return a field that is a list, empty for null; raise RejectedError for a response without it."""
    require_field(response, name)
    value = response[name]
    if not value and (error := _find_error(response)) is not None:
        raise error
    if value is not None and not isinstance(value, list):
        raise faults.RejectedError(f'the response has an unknown form (expected a list as "{name}")', known=False)
    return value or []


def _find_error(response: Mapping[str, Any]) -> Exception | None:
    """Return the error in a response of another form, as vLLM, DashScope and MiniMax give it, None without one."""
    found = next((response[name] for name in ERROR_FIELDS if response.get(name)), None)
    if not isinstance(found, dict | list | str) or (isinstance(found, dict) and "content" in found):  # Ollama's message
        return None
    error = {**response, "message": found} if isinstance(found, str) else found
    code = error.get("code", error.get("status_code")) if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        return faults.error_from_status(code, {}, msgspec.json.encode({"error": error}).decode())
    _, message = faults.parse_error_object(error)
    return faults.RejectedError(add_remedy(f"the server answered with an error: {message}"), known=False)


def _start(body: bytes) -> str:
    return f"{faults.shorten(body[:40].decode('utf-8', 'replace'))!r}…"


def error_in_body(error: Any) -> Exception:
    """Return the exception for an error in the body of a response with status 200, as some services send."""
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return faults.error_from_status(status, {}, msgspec.json.encode({"error": error}).decode())
