"""The API of Gemini: `gemini[MODEL]`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import msgspec

from eyechart.models.model_option import AnyOption
from eyechart.models.served import errors
from eyechart.models.served.api import Api, Completion, decode, error_in_body, iterate_parts
from eyechart.models.served.generator import ServedGenerator
from eyechart.models.served.images import encode_image
from eyechart.models.served.options import (
    EFFORT_HELP,
    Provider,
    ServedOptions,
    choice_option,
    sampling_option,
    seed_option,
)
from eyechart.models.types import Answer, Request, Usage
from eyechart.spec import ModelSpec

EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
FILTERED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK"}
    | {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
)


class GeminiGenerator(ServedGenerator):
    """Generates answers on a server with the API of Gemini."""

    provider = Provider(
        "gemini", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY", "google.genai", has_batches=False
    )
    declared_options: ClassVar[tuple[AnyOption, ...]] = provider.declare_options(
        {
            "temperature": "temperature that is sent to the server, or none (default: 0)",
            "seed": "seed that is sent to the server, or none (default: 42)",
            "effort": EFFORT_HELP.format(", ".join(EFFORTS)),
        }
    )

    @classmethod
    def parse_settings(cls, spec: ModelSpec) -> Mapping[str, Any]:
        """Return the options that change an answer."""
        effort = choice_option(spec, "effort", EFFORTS)
        return sampling_option(spec, "temperature", 0) | seed_option(spec) | ({"effort": effort} if effort else {})

    @property
    def thinks(self) -> bool:
        """Whether answers may begin with thinking, which counts as part of them."""
        return True

    def create_api(self) -> Api:
        """Return the API of Gemini."""
        return GeminiApi(self.options)


class GeminiApi(Api):
    """The API of Gemini through the package google-genai."""

    def __init__(self, options: ServedOptions) -> None:
        import httpx2  # what google-genai sends with, unless aiohttp is there, whose requests it repeats by itself
        from google import genai

        super().__init__(options)
        seconds, connect = self.timeouts
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(seconds, connect=connect),
            trust_env=not options.is_local,
            follow_redirects=False,
        )
        http_options = genai.types.HttpOptions(base_url=options.base_url, httpx_async_client=self._http)
        self._client = genai.Client(api_key=self.key, vertexai=False, http_options=http_options)

    def write(self, request: Request, max_tokens: int, schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return a request as the arguments of the client."""
        settings = dict(self.options.settings)
        config: dict[str, Any] = {"max_output_tokens": max_tokens, "should_return_http_response": True}
        if effort := settings.pop("effort", None):
            config["thinking_config"] = {"thinking_level": effort}
        if schema is not None:
            config |= {"response_mime_type": "application/json", "response_json_schema": dict(schema)}
        message = {"role": "user", "parts": [*map(_part, iterate_parts(request))]}
        return {"model": self.options.model, "contents": [message], "config": config | settings}

    async def send(self, body: Mapping[str, Any]) -> bytes:
        """Send a body once and return the body of the response."""
        response = await self._client.aio.models.generate_content(**body)
        http = response.sdk_http_response
        return (http.body or "").encode() if http else b""

    def parse(self, body: bytes) -> Completion:
        """Return the completion in the body of a response."""
        content = decode(body, Content)
        if content.error:
            raise error_in_body(content.error)
        usage = content.usage.usage() if content.usage else Usage()
        return Completion(replace(_answer(content), usage=usage), content.model or "")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()
        await self._http.aclose()


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    media_type, content = encode_image(*part)
    return {"inline_data": {"mime_type": media_type, "data": content}}


class Part(msgspec.Struct):
    """A part of an answer, or of the thinking before it."""

    text: str | None = None
    thought: bool | None = None


class Parts(msgspec.Struct):
    """The parts of a candidate."""

    parts: list[Part] | None = None


class Candidate(msgspec.Struct, rename="camel"):
    """One alternative of an answer; requests ask for one."""

    content: Parts | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class Feedback(msgspec.Struct, rename="camel"):
    """Why a prompt was blocked."""

    block_reason: str | None = None
    block_reason_message: str | None = None


class ContentUsage(msgspec.Struct, rename="camel"):
    """The token counts of a server; thoughts are not among those of the candidates."""

    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None

    def usage(self) -> Usage:
        """The counts as a Usage, whose answer is all of the output."""
        thinking = self.thoughts_token_count or 0
        answer = (self.candidates_token_count or 0) + thinking
        return Usage(self.prompt_token_count or 0, self.cached_content_token_count or 0, answer, thinking)


class Content(msgspec.Struct):
    """The fields of a response that are used here."""

    candidates: list[Candidate] | None = None
    feedback: Feedback | None = msgspec.field(name="promptFeedback", default=None)
    usage: ContentUsage | None = msgspec.field(name="usageMetadata", default=None)
    model: str | None = msgspec.field(name="modelVersion", default=None)
    error: Any = None


def _answer(content: Content) -> Answer:
    """Return the answer of a response, or the error that it contains."""
    if content.feedback and (reason := content.feedback.block_reason):
        message = content.feedback.block_reason_message or f"the prompt was blocked ({reason})"
        return errors.no_answer(f"content filter: {errors.shorten(message)}")
    if not content.candidates:
        return errors.no_answer("no answer: the server's list of candidates is empty")
    (first, *_) = content.candidates
    if first.finish_reason in FILTERED:
        return errors.no_answer(f"content filter: the answer was withheld ({first.finish_reason})")
    if first.finish_reason not in ("STOP", "MAX_TOKENS"):
        return errors.no_answer(f"the server broke off its answer (finishReason {first.finish_reason})", retry=True)
    parts = (first.content.parts if first.content else None) or []
    text, thinking = (
        "".join(part.text or "" for part in parts if bool(part.thought) is thought) for thought in (False, True)
    )
    return Answer(text, (), first.finish_reason == "STOP", thinking=thinking)
