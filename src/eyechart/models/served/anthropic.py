"""The Messages API of Anthropic: `anthropic[MODEL]`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec

from eyechart.models.options import described
from eyechart.models.served import faults
from eyechart.models.served.api import (
    Completion,
    decode,
    decode_object,
    error_in_body,
    iterate_parts,
    require_field,
)
from eyechart.models.served.content import get_count, get_object, get_text, read_content
from eyechart.models.served.generator import ServedGenerator
from eyechart.models.served.half_price import BatchApi
from eyechart.models.served.image_parts import encode_base64
from eyechart.models.served.options import (
    EFFORT_HELP,
    BaseUrl,
    BatchedOptions,
    KeyEnv,
    Provider,
    ServedOptions,
    Temperature,
    given_settings,
)
from eyechart.models.types import Answer, Request, Usage

FINISHED = frozenset({"end_turn", "stop_sequence"})
CUT = frozenset({"max_tokens", "model_context_window_exceeded"})


PROVIDER = Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic")


class _AnthropicOptions(BatchedOptions):
    """The options of `anthropic[…]`."""

    base_url: BaseUrl = PROVIDER.base_url
    key_env: KeyEnv = PROVIDER.key_env
    temperature: Annotated[
        Temperature, described("temperature that is sent to the server, or none; newer models take none")
    ] = "none"
    thinking: Annotated[
        Literal["adaptive", "disabled"] | None,
        described("whether the model thinks: adaptive or disabled", "the server decides"),
    ] = None
    effort: Annotated[
        Literal["low", "medium", "high", "xhigh", "max"] | None, described(EFFORT_HELP, "the server decides")
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """The options that change an answer."""
        return given_settings(temperature=self.temperature, thinking=self.thinking, effort=self.effort)


class AnthropicGenerator(ServedGenerator):
    """Generates answers on a server with the Messages API of Anthropic."""

    provider = PROVIDER
    declared_options = _AnthropicOptions

    @property
    def thinks(self) -> bool:
        """Whether answers may begin with thinking, which counts as part of them: unless it is disabled."""
        return self.options.settings.get("thinking") != "disabled"

    def create_api(self) -> "_MessagesApi":
        """Return the Messages API."""
        return _MessagesApi(self.options)


class _MessagesApi(BatchApi):
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
        message = decode_object(body)
        if message.get("error"):
            raise error_in_body(message["error"])
        require_field(message, "content")
        return Completion(replace(_answer(message), usage=_usage(message)), get_text(message, "model"))

    async def create_batch(self, bodies: Mapping[str, Mapping[str, Any]]) -> str:
        """Send a batch of bodies by their digests and return its number."""
        requests = [{"custom_id": digest, "params": body} for digest, body in bodies.items()]
        batch = await self._client.post("/v1/messages/batches", body={"requests": requests}, cast_to=str)
        return decode(batch.encode(), _MessageBatch).id

    async def read_results(self, batch: str) -> list[tuple[str, int, bytes]] | None:
        """Return the digest, HTTP status and body of every response of a batch, None before it ended."""
        path = f"/v1/messages/batches/{quote(batch)}"
        facts = decode((await self._client.get(path, cast_to=str)).encode(), _MessageBatch)
        if facts.processing_status != "ended":
            return None
        content = await self._client.get(f"{path}/results", cast_to=str)
        return [_result(decode(line.encode(), BatchLine)) for line in content.split("\n") if line.strip()]

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    media_type, content = encode_base64(*part)
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": content}}


class _MessageBatch(msgspec.Struct):
    """The fields of a batch that are used here."""

    id: str
    processing_status: str = ""


class _BatchResult(msgspec.Struct):
    """A result of a batch: a message, an error, or neither for a request that expired or was cancelled."""

    type: str
    message: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


class BatchLine(msgspec.Struct):
    """A line of the results of a batch."""

    custom_id: str
    result: _BatchResult


def _result(line: BatchLine) -> tuple[str, int, bytes]:
    """Return the digest, HTTP status and body of a line."""
    if line.result.type == "succeeded":
        return line.custom_id, 200, bytes(line.result.message)
    error = line.result.error or {"message": f"the request {line.result.type}"}
    kind = (error.get("error") or error).get("type") if isinstance(error, dict) else ""
    return line.custom_id, 400 if kind == "invalid_request_error" else 500, msgspec.json.encode(error)


def _usage(response: Mapping[str, Any]) -> Usage:
    """Return the token counts of a response, whose input tokens do not include those of cache reads and writes."""
    usage = get_object(response, "usage")
    cached = get_count(usage, "cache_read_input_tokens")
    prompt = get_count(usage, "input_tokens") + get_count(usage, "cache_creation_input_tokens") + cached
    thinking = get_count(get_object(usage, "output_tokens_details"), "thinking_tokens")
    return Usage(prompt, cached, get_count(usage, "output_tokens"), thinking)


def _answer(message: Mapping[str, Any]) -> Answer:
    """Return the answer of a message, or the error that it contains."""
    content, stop_reason = read_content(message.get("content")), get_text(message, "stop_reason")
    if stop_reason == "refusal":
        details = get_object(message, "stop_details")
        reason = get_text(details, "explanation") or get_text(details, "category") or "without a reason"
        return faults.no_answer(f"refusal: {faults.shorten(reason)}")
    if stop_reason not in FINISHED | CUT:
        return faults.no_answer(f"the server broke off its answer (stop_reason {stop_reason or None})", retry=True)
    if not message.get("content") and stop_reason in FINISHED:
        return faults.no_answer("no answer: the server's content is empty")
    if content.missing_text:
        return faults.no_answer(f"no answer: the server's content has no text but {content.missing_text}")
    return Answer(content.text, (), stop_reason in FINISHED, thinking=content.thinking)
