"""OpenAI and servers with its API: `openai[MODEL,base_url=http://localhost:8000/v1]`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from eyechart.errors import SpecError
from eyechart.models.options import described
from eyechart.models.served import faults
from eyechart.models.served.api import Api, Completion, decode_object, error_in_body, iterate_parts, require_list
from eyechart.models.served.content import flatten, get_list, get_object, get_text, get_usage, read_content
from eyechart.models.served.generator import ServedGenerator
from eyechart.models.served.image_parts import data_url
from eyechart.models.served.openai_chat import ChatCompletions, OpenAiClient, named_schema
from eyechart.models.served.options import (
    EFFORT_HELP,
    BaseUrl,
    BatchedOptions,
    KeyEnv,
    Provider,
    Seed,
    given_settings,
)
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Answer, Request

LEAST_TOKENS = 16  # that the API accepts as a limit
PROVIDER = Provider(
    "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "openai", example="http://localhost:8000/v1"
)


class _OpenAiOptions(BatchedOptions):
    """The options of `openai[…]`."""

    base_url: BaseUrl = PROVIDER.base_url
    key_env: KeyEnv = PROVIDER.key_env
    api: Annotated[
        Literal["chat", "responses"],
        described("chat (Chat Completions) or responses (the Responses API, which takes no seed)"),
    ] = "chat"
    seed: Seed = 42
    reasoning: Annotated[bool, described("true for models that take no temperature and count reasoning as answer")] = (
        False
    )
    effort: Annotated[
        Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None,
        described(f"{EFFORT_HELP}; only with reasoning=true", "the server decides"),
    ] = None

    def check(self, spec: ModelSpec) -> None:
        """Refuse an effort of a model that does not reason."""
        if self.effort and not self.reasoning:
            raise SpecError(f"'{spec}' has effort={self.effort}, which only reasoning models take. Add reasoning=true.")

    @property
    def settings(self) -> dict[str, Any]:
        """The options that change an answer: greedy sampling, unless the model reasons."""
        sampling = {} if self.reasoning else {"temperature": 0, **given_settings(seed=self.seed)}
        if self.api == "responses":
            sampling.pop("seed", None)
        return {
            "reasoning": self.reasoning,
            **sampling,
            **({"effort": self.effort} if self.effort else {}),
            **({"api": self.api} if self.api == "responses" else {}),
        }


class OpenAiGenerator(ServedGenerator):
    """Generates answers on a server with an API of OpenAI."""

    provider = PROVIDER
    declared_options = _OpenAiOptions

    @property
    def thinks(self) -> bool:
        """Whether answers begin with thinking, which counts as part of them."""
        return bool(self.options.settings["reasoning"])

    def create_api(self) -> Api:
        """Return the Responses API or Chat Completions."""
        return (_ResponsesApi if "api" in self.options.settings else ChatCompletions)(self.options)


class _ResponsesApi(OpenAiClient):
    """The Responses API (`api=responses`), without a state at the provider."""

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
        response = decode_object(body)
        if response.get("error") and response.get("status") != "failed":
            raise error_in_body(response["error"])
        if response.get("status") != "failed":
            require_list(response, "output")
        return Completion(
            replace(_answer(response), usage=get_usage(response, "input", "output")), get_text(response, "model")
        )


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    return {"type": "input_image", "detail": "auto", "image_url": data_url(*part)}


def _answer(response: Mapping[str, Any]) -> Answer:
    """Return the answer of a response, or the error that it contains."""
    items = [item for item in get_list(response, "output") if isinstance(item, Mapping)]
    messages = [item.get("content") for item in items if item.get("type") == "message" and item.get("content")]
    content = read_content(messages)
    status = get_text(response, "status")
    if status not in ("completed", "incomplete"):
        _, message = faults.parse_error_object(response.get("error") or {"message": f"status {response.get('status')}"})
        return faults.no_answer(f"the server broke off its answer: {message}", retry=True)
    if get_text(get_object(response, "incomplete_details"), "reason") == "content_filter":
        return faults.no_answer("content filter: the answer was withheld")
    if content.refusal and not content.text:
        return faults.no_answer(f"refusal: {faults.shorten(content.refusal)}")
    if not messages and status == "completed":
        return faults.no_answer("no answer: the server's output has no message")
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    thinking = "\n".join(filter(None, (flatten(part) for item in thoughts for part in _thoughts(item))))
    if content.missing_text and not thinking:
        return faults.no_answer(f"no answer: the server's content has no text but {content.missing_text}")
    return Answer(content.text, (), status == "completed", thinking=content.thinking or thinking)


def _thoughts(item: Mapping[str, Any]) -> list[Any]:
    """Return the parts of the summary of reasoning, or of the reasoning itself, as models with open weights give it."""
    return get_list(item, "summary") or get_list(item, "content")
