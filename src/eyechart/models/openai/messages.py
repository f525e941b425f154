"""Requests as the messages of a server's chat, and its replies as answers."""

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
    """Write a request as one turn of a user."""
    return {"role": "user", "content": list(_parts(request))}


def _parts(request: Request) -> Iterator[dict[str, Any]]:
    files = iter(request.files)
    for part in request.parts:
        if isinstance(part, str):
            yield {"type": "text", "text": part}
        else:
            yield {"type": "image_url", "image_url": {"url": data_url(part, next(files, b""))}}


def data_url(image: Image.Image, file: bytes = b"") -> str:
    """Write an image without loss: the JPEG that it came from, where all read it alike, or else its pixels as PNG."""
    if file and decodes_identically(file, image):
        return f"data:image/jpeg;base64,{b64encode(file).decode()}"
    made = BytesIO()
    image.convert("RGB").save(made, "PNG", compress_level=1, icc_profile=None)  # level 6: 5 times slower, 5 % smaller
    return f"data:image/png;base64,{b64encode(made.getvalue()).decode()}"


def response_format(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Ask for JSON of a schema: strictly, unless its lists are longer than OpenAI then takes.

    A longer one is for OpenAI a description to follow; vLLM's server holds to it all the same.
    """
    if schema is None:
        return {}
    listed = list(_listed(schema))
    short = len(listed) <= MANY or sum(map(len, listed)) <= MOST_LETTERS
    named = {"name": "answer", "strict": short and len(listed) <= MAX_STRICT_VALUES, "schema": dict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _listed(part: Any) -> Iterator[str]:
    """Every value of every enum of a schema."""
    if isinstance(part, Mapping):
        yield from map(str, part.get("enum", ()))
        yield from chain.from_iterable(map(_listed, part.values()))
    elif isinstance(part, list | tuple):
        yield from chain.from_iterable(map(_listed, part))


class Message(msgspec.Struct):
    """What was said, or why nothing was."""

    content: str | None = None
    refusal: str | None = None


class CompletionChoice(msgspec.Struct):
    """One of the answers, of which there is one."""

    message: Message
    finish_reason: str | None = None


class PromptTokensDetails(msgspec.Struct):
    """What of a prompt a cache held."""

    cached_tokens: int | None = None


class CompletionUsage(msgspec.Struct):
    """How many tokens a server counted."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptTokensDetails | None = None

    def usage(self) -> Usage:
        """The same in our words."""
        cached = self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else 0
        return Usage(self.prompt_tokens or 0, cached or 0, self.completion_tokens or 0)


class Completion(msgspec.Struct):
    """A server's reply, what matters here of it."""

    model: str | None = None
    choices: list[CompletionChoice] | None = None
    usage: CompletionUsage | None = None
    error: Any = None

    @property
    def token_usage(self) -> Usage:
        """The tokens that were counted."""
        return self.usage.usage() if self.usage else Usage()


def parse_completion(body: bytes) -> Completion:
    """Read a reply; one that is no JSON or has another form comes from something broken on the way."""
    try:
        reply = msgspec.json.decode(body, type=Completion)
    except (msgspec.DecodeError, RecursionError) as error:
        start = errors.shorten(body[:40].decode("utf-8", "replace"))
        raise errors.TransientError(f"the reply cannot be read ({error}): {start!r}…") from None
    if reply.error and not reply.choices:  # some services tell errors under HTTP 200
        raise _told(reply.error)
    return reply


def _told(error: Any) -> Exception:
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return errors.error_from_status(status, {}, msgspec.json.encode({"error": error}).decode())


def parse_answer(reply: Completion) -> Answer:
    """Read the answer of a reply, or that there is none."""
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
