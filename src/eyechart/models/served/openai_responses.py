"""The Responses API of OpenAI: `openai[MODEL,api=responses]`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from eyechart.models.served import errors
from eyechart.models.served.api import Completion, decode, error_in_body, iterate_parts
from eyechart.models.served.images import data_url
from eyechart.models.served.openai_chat import OpenAiClient, named_schema
from eyechart.models.types import Answer, Request, Usage

LEAST_TOKENS = 16  # that the API accepts as a limit


class ResponsesApi(OpenAiClient):
    """The Responses API, without a state at the provider."""

    path = "/responses"

    def write(self, request: Request, max_tokens: int, schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return a request as the body of one message."""
        settings = self.options.settings
        message = {"role": "user", "content": [*map(_part, iterate_parts(request))]}
        body = {"model": self.options.model, "input": [message], "store": False}
        body["max_output_tokens"] = max(LEAST_TOKENS, max_tokens)
        if "temperature" in settings:
            body["temperature"] = settings["temperature"]
        if "effort" in settings:
            body["reasoning"] = {"effort": settings["effort"]}
        if schema is not None:
            body["text"] = {"format": {"type": "json_schema", **named_schema(schema)}}
        return body

    def parse(self, body: bytes) -> Completion:
        """Return the completion in the body of a response."""
        response = decode(body, Response)
        if response.error and response.status != "failed":
            raise error_in_body(response.error)
        usage = response.usage.usage() if response.usage else Usage()
        return Completion(replace(_answer(response), usage=usage), response.model or "")


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    return {"type": "input_image", "detail": "auto", "image_url": data_url(*part)}


class Part(msgspec.Struct):
    """A part of a message, or of a summary of reasoning."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None


class Item(msgspec.Struct):
    """An item of the output: a message, or reasoning with its summary."""

    type: str = ""
    content: list[Part] | None = None
    summary: list[Part] | None = None


class InputDetails(msgspec.Struct):
    """The number of input tokens that were read from a cache."""

    cached_tokens: int | None = None


class OutputDetails(msgspec.Struct):
    """The number of output tokens that were reasoning."""

    reasoning_tokens: int | None = None


class ResponseUsage(msgspec.Struct):
    """The token counts of a server."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: InputDetails | None = None
    output_tokens_details: OutputDetails | None = None

    def usage(self) -> Usage:
        """The counts as a Usage."""
        cached = self.input_tokens_details.cached_tokens if self.input_tokens_details else 0
        thinking = self.output_tokens_details.reasoning_tokens if self.output_tokens_details else 0
        return Usage(self.input_tokens or 0, cached or 0, self.output_tokens or 0, thinking or 0)


class Incomplete(msgspec.Struct):
    """Why a response is incomplete."""

    reason: str | None = None


class Response(msgspec.Struct):
    """The fields of a response that are used here."""

    model: str | None = None
    status: str | None = None
    output: list[Item] | None = None
    incomplete_details: Incomplete | None = None
    usage: ResponseUsage | None = None
    error: Any = None


def _answer(response: Response) -> Answer:
    """Return the answer of a response, or the error that it contains."""
    items = response.output or []
    parts = [part for item in items if item.type == "message" for part in item.content or []]
    text = "".join(part.text or "" for part in parts if part.type == "output_text")
    refusal = " ".join(filter(None, (part.refusal for part in parts)))
    reason = response.incomplete_details.reason if response.incomplete_details else None
    if response.status not in ("completed", "incomplete"):
        _, message = errors.parse_error_object(response.error or {"message": f"status {response.status}"})
        return errors.no_answer(f"the server broke off its answer: {message}", retry=True)
    if reason == "content_filter":
        return errors.no_answer("content filter: the answer was withheld")
    if refusal and not text:
        return errors.no_answer(f"refusal: {errors.shorten(refusal)}")
    if not parts and response.status == "completed":
        return errors.no_answer("no answer: the server's output has no message")
    thinking = "\n".join(part.text or "" for item in items for part in item.summary or [])
    return Answer(text, (), response.status == "completed", thinking=thinking)
