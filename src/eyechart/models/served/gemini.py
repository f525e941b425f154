"""The API of Gemini: `gemini[MODEL]`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from eyechart.models.options import described
from eyechart.models.served import faults
from eyechart.models.served.api import Api, Completion, decode_object, error_in_body, iterate_parts, require_list
from eyechart.models.served.content import get_count, get_list, get_object, get_text, read_content
from eyechart.models.served.generator import ServedGenerator
from eyechart.models.served.image_parts import encode_image
from eyechart.models.served.options import (
    EFFORT_HELP,
    BaseUrl,
    CommonOptions,
    KeyEnv,
    Provider,
    Seed,
    ServedOptions,
    Temperature,
    given_settings,
)
from eyechart.models.types import Answer, Request, Usage

FILTERED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK"}
    | {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
)


PROVIDER = Provider("gemini", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY", "google.genai")


class _GeminiOptions(CommonOptions):
    """The options of `gemini[…]`."""

    base_url: BaseUrl = PROVIDER.base_url
    key_env: KeyEnv = PROVIDER.key_env
    temperature: Annotated[Temperature, described("temperature that is sent to the server, or none")] = 0
    seed: Seed = 42
    effort: Annotated[
        Literal["minimal", "low", "medium", "high", "xhigh"] | None, described(EFFORT_HELP, "the server decides")
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """The options that change an answer."""
        return given_settings(temperature=self.temperature, seed=self.seed, effort=self.effort)


class GeminiGenerator(ServedGenerator):
    """Generates answers on a server with the API of Gemini."""

    provider = PROVIDER
    declared_options = _GeminiOptions

    @property
    def thinks(self) -> bool:
        """Whether answers may begin with thinking, which counts as part of them."""
        return True

    def create_api(self) -> Api:
        """Return the API of Gemini."""
        return _GeminiApi(self.options)


class _GeminiApi(Api):
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
        response = decode_object(body)
        if response.get("error"):
            raise error_in_body(response["error"])
        if not response.get("promptFeedback"):
            require_list(response, "candidates")
        return Completion(replace(_answer(response), usage=_usage(response)), get_text(response, "modelVersion"))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()
        await self._http.aclose()


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    media_type, content = encode_image(*part)
    return {"inline_data": {"mime_type": media_type, "data": content}}


def _usage(response: Mapping[str, Any]) -> Usage:
    """Return the token counts of a response as a Usage, whose answer is all of the output, thoughts included."""
    usage = get_object(response, "usageMetadata")
    thinking = get_count(usage, "thoughtsTokenCount")
    answer = get_count(usage, "candidatesTokenCount") + thinking
    return Usage(get_count(usage, "promptTokenCount"), get_count(usage, "cachedContentTokenCount"), answer, thinking)


def _answer(response: Mapping[str, Any]) -> Answer:
    """Return the answer of a response, or the error that it contains."""
    feedback = get_object(response, "promptFeedback")
    if reason := get_text(feedback, "blockReason"):
        message = get_text(feedback, "blockReasonMessage") or f"the prompt was blocked ({reason})"
        return faults.no_answer(f"content filter: {faults.shorten(message)}")
    candidates = get_list(response, "candidates")
    if not candidates:
        return faults.no_answer("no answer: the server's list of candidates is empty")
    first = candidates[0] if isinstance(candidates[0], Mapping) else {}
    ended = get_text(first, "finishReason")
    if ended in FILTERED:
        return faults.no_answer(f"content filter: the answer was withheld ({ended})")
    if ended not in ("STOP", "MAX_TOKENS"):
        return faults.no_answer(f"the server broke off its answer (finishReason {ended or None})", retry=True)
    content = read_content(get_list(get_object(first, "content"), "parts"))
    if content.missing_text:
        return faults.no_answer(f"no answer: the server's content has no text but {content.missing_text}")
    return Answer(content.text, (), ended == "STOP", thinking=content.thinking)
