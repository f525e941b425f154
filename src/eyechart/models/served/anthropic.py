"""The Messages API of Anthropic: `anthropic[MODEL]`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import msgspec

from eyechart.models.served import errors
from eyechart.models.served.api import Api, Completion, decode, error_in_body, iterate_parts
from eyechart.models.served.generator import ServedGenerator
from eyechart.models.served.images import encode_base64
from eyechart.models.served.options import (
    EFFORT_HELP,
    Provider,
    ServedOptions,
    choice_option,
    sampling_option,
)
from eyechart.models.types import Answer, Request, Usage
from eyechart.spec import ModelSpec

EFFORTS = ("low", "medium", "high", "xhigh", "max")
FINISHED = frozenset({"end_turn", "stop_sequence"})
CUT = frozenset({"max_tokens", "model_context_window_exceeded"})


class AnthropicGenerator(ServedGenerator):
    """Generates answers on a server with the Messages API of Anthropic."""

    provider = Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic")
    option_help: ClassVar[Mapping[str, str]] = provider.option_help(
        {
            "temperature": "temperature that is sent to the server, or none; newer models take none (default: none)",
            "thinking": "adaptive or disabled (default: the server decides)",
            "effort": EFFORT_HELP.format(", ".join(EFFORTS)),
        }
    )

    @classmethod
    def parse_settings(cls, spec: ModelSpec) -> Mapping[str, Any]:
        """Return the options that change an answer."""
        thinking = choice_option(spec, "thinking", ("adaptive", "disabled"))
        effort = choice_option(spec, "effort", EFFORTS)
        chosen = {"thinking": thinking, "effort": effort}
        return sampling_option(spec, "temperature", None) | {name: word for name, word in chosen.items() if word}

    def create_api(self) -> Api:
        """Return the Messages API."""
        return MessagesApi(self.options)


class MessagesApi(Api):
    """The Messages API through the package anthropic."""

    def __init__(self, options: ServedOptions) -> None:
        import anthropic

        super().__init__(options)
        seconds, connect = self.timeouts
        self._client = anthropic.AsyncAnthropic(
            api_key=self.key,
            base_url=options.base_url,
            timeout=anthropic.Timeout(seconds, connect=connect),
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(trust_env=not options.is_local, follow_redirects=False),
        )

    def write(self, request: Request, max_tokens: int, schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return a request as the body of one message."""
        settings = self.options.settings
        message = {"role": "user", "content": [*map(_part, iterate_parts(request))]}
        body: dict[str, Any] = {"model": self.options.model, "max_tokens": max_tokens, "messages": [message]}
        if "temperature" in settings:
            body["temperature"] = settings["temperature"]
        if "thinking" in settings:
            body["thinking"] = {"type": settings["thinking"]}
        output = {"effort": settings["effort"]} if "effort" in settings else {}
        if schema is not None:
            output["format"] = {"type": "json_schema", "schema": dict(schema)}
        return body | ({"output_config": output} if output else {})

    async def send(self, body: Mapping[str, Any]) -> bytes:
        """Send a body once and return the body of the response."""
        # create() would look every part of a body up in its own types, which costs more than sending it
        content = await self._client.post("/v1/messages", body=dict(body), cast_to=str)
        return content.encode()

    def parse(self, body: bytes) -> Completion:
        """Return the completion in the body of a response."""
        message = decode(body, Message)
        if message.error:
            raise error_in_body(message.error)
        usage = message.usage.usage() if message.usage else Usage()
        return Completion(replace(_answer(message), usage=usage), message.model or "")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    media_type, content = encode_base64(*part)
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": content}}


class Block(msgspec.Struct):
    """A block of the content: text or thinking."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None


class OutputDetails(msgspec.Struct):
    """The number of output tokens that were thinking."""

    thinking_tokens: int | None = None


class MessageUsage(msgspec.Struct):
    """The token counts of a server; its input tokens are without those that a cache was read or written for."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None

    def usage(self) -> Usage:
        """The counts as a Usage, whose prompt is all of the input."""
        cached = self.cache_read_input_tokens or 0
        prompt = (self.input_tokens or 0) + (self.cache_creation_input_tokens or 0) + cached
        thinking = self.output_tokens_details.thinking_tokens if self.output_tokens_details else 0
        return Usage(prompt, cached, self.output_tokens or 0, thinking or 0)


class StopDetails(msgspec.Struct):
    """Why the model refused."""

    category: str | None = None
    explanation: str | None = None


class Message(msgspec.Struct):
    """The fields of a message that are used here."""

    model: str | None = None
    content: list[Block] | None = None
    stop_reason: str | None = None
    stop_details: StopDetails | None = None
    usage: MessageUsage | None = None
    error: Any = None


def _answer(message: Message) -> Answer:
    """Return the answer of a message, or the error that it contains."""
    blocks = message.content or []
    text = "".join(block.text or "" for block in blocks if block.type == "text")
    thinking = "\n".join(block.thinking or "" for block in blocks if block.type == "thinking")
    if message.stop_reason == "refusal":
        details = message.stop_details or StopDetails()
        reason = details.explanation or details.category or "without a reason"
        return errors.no_answer(f"refusal: {errors.shorten(reason)}")
    if message.stop_reason not in FINISHED | CUT:
        return errors.no_answer(f"the server broke off its answer (stop_reason {message.stop_reason})", retry=True)
    if not blocks and message.stop_reason in FINISHED:
        return errors.no_answer("no answer: the server's content is empty")
    return Answer(text, (), message.stop_reason in FINISHED, thinking=thinking)
