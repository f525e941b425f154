"""Requests as chat messages of a server, and its completions as answers."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from itertools import chain
from typing import Any

import msgspec
from PIL import Image

from eyechart.data.images import decodes_identically
from eyechart.models.openai import errors
from eyechart.models.types import Answer, Request, Usage

MAX_STRICT_VALUES = 500  # that OpenAI and Azure take in the enums of a strict schema
MANY, MOST_LETTERS = 250, 7500  # more values than this may together have so many letters


def build_message(request: Request) -> dict[str, Any]:
    """Return a request as one user message."""
    return {"role": "user", "content": list(_parts(request))}


def _parts(request: Request) -> Iterator[dict[str, Any]]:
    files = iter(request.files)
    for part in request.parts:
        if isinstance(part, str):
            yield {"type": "text", "text": part}
        else:
            yield {"type": "image_url", "image_url": {"url": data_url(part, next(files, b""))}}


def data_url(image: Image.Image, file: bytes = b"") -> str:
    """Return an image as a lossless data URL: the original JPEG if its decoding is unambiguous, else a PNG."""
    if file and decodes_identically(file, image):
        return f"data:image/jpeg;base64,{b64encode(file).decode()}"
    buffer = BytesIO()
    image.convert("RGB").save(buffer, "PNG", compress_level=1, icc_profile=None)  # level 6: 5 times slower, 5 % smaller
    return f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}"


def response_format(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the JSON schema of the response: strict, unless its lists exceed OpenAI's limits.

    A longer one is for OpenAI a description to follow; vLLM's server holds to it all the same.
    """
    if schema is None:
        return {}
    listed = list(_listed(schema))
    short = len(listed) <= MANY or sum(map(len, listed)) <= MOST_LETTERS
    named = {"name": "answer", "strict": short and len(listed) <= MAX_STRICT_VALUES, "schema": dict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _listed(part: Any) -> Iterator[str]:
    """Yield every value of every enum of a schema."""
    if isinstance(part, Mapping):
        yield from map(str, part.get("enum", ()))
        yield from chain.from_iterable(map(_listed, part.values()))
    elif isinstance(part, list | tuple):
        yield from chain.from_iterable(map(_listed, part))


class Message(msgspec.Struct):
    """The text of a completion, or the reason of a refusal."""

    content: str | None = None
    refusal: str | None = None


class CompletionChoice(msgspec.Struct):
    """One alternative of a completion; requests ask for one."""

    message: Message
    finish_reason: str | None = None


class PromptTokensDetails(msgspec.Struct):
    """The number of prompt tokens that were read from a cache."""

    cached_tokens: int | None = None


class CompletionUsage(msgspec.Struct):
    """The token counts of a server."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptTokensDetails | None = None

    def usage(self) -> Usage:
        """The counts as a Usage."""
        cached = self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else 0
        return Usage(self.prompt_tokens or 0, cached or 0, self.completion_tokens or 0)


class Completion(msgspec.Struct):
    """The fields of a server's completion that are used here."""

    model: str | None = None
    choices: list[CompletionChoice] | None = None
    usage: CompletionUsage | None = None
    error: Any = None

    @property
    def token_usage(self) -> Usage:
        """The tokens that the server counted."""
        return self.usage.usage() if self.usage else Usage()


def parse_completion(body: bytes) -> Completion:
    """Return the completion in a response body; raise TransientError if it is not JSON of this form."""
    try:
        completion = msgspec.json.decode(body, type=Completion)
    except (msgspec.DecodeError, RecursionError) as error:
        start = errors.shorten(body[:40].decode("utf-8", "replace"))
        raise errors.TransientError(f"the reply cannot be read ({error}): {start!r}…") from None
    if completion.error and not completion.choices:  # some services tell errors under HTTP 200
        raise _told(completion.error)
    return completion


def _told(error: Any) -> Exception:
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return errors.error_from_status(status, {}, msgspec.json.encode({"error": error}).decode())


def parse_answer(reply: Completion) -> Answer:
    """Return the answer of a completion, or the error that it contains."""
    if not reply.choices:
        return _none("no answer: the server's list of choices is empty", reply)
    (first, *_) = reply.choices
    if first.finish_reason == "content_filter":
        return _none("content filter: the answer was withheld", reply)
    if first.message.refusal and not first.message.content:
        return _none(f"refusal: {errors.shorten(first.message.refusal)}", reply)
    if first.finish_reason == "error":  # as services say that pass requests on to others
        return replace(_none("the server broke off its answer", reply), retry=True)
    return Answer(first.message.content or "", (), first.finish_reason != "length", usage=reply.token_usage)


def _none(reason: str, reply: Completion) -> Answer:
    return Answer("", (), False, error=reason, usage=reply.token_usage)
