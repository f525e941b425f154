"""Chat Completions, the API of OpenAI that vLLM's and many other servers have too."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any
from urllib.parse import quote

import msgspec

from eyechart.models.served import errors
from eyechart.models.served.api import Completion, decode, error_in_body, iterate_parts
from eyechart.models.served.batches import BatchApi
from eyechart.models.served.images import data_url
from eyechart.models.served.options import ServedOptions
from eyechart.models.types import Answer, Request, Usage

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
MAX_STRICT_VALUES = 500  # that OpenAI and Azure take in the enums of a strict schema
MANY, MOST_LETTERS = 250, 7500  # more values than this may together have so many letters


class OpenAiClient(BatchApi):
    """An API of OpenAI through the package openai."""

    path: str

    def __init__(self, options: ServedOptions) -> None:
        import openai

        super().__init__(options)
        seconds, connect = self.timeouts
        self._client = openai.AsyncOpenAI(
            api_key=self.key,
            base_url=options.base_url,
            timeout=openai.Timeout(seconds, connect=connect),
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(trust_env=not options.is_local, follow_redirects=False),
        )

    async def send(self, body: Mapping[str, Any]) -> bytes:
        """Send a body once and return the body of the response."""
        # create() would look every part of a body up in its own types, which costs more than sending it
        content = await self._client.post(self.path, body=dict(body), cast_to=str)
        return content.encode()

    async def create_batch(self, bodies: Mapping[str, Mapping[str, Any]]) -> str:
        """Send a file of bodies, and a batch of it; return the number of the batch."""
        url = f"/v1{self.path}"
        lines = ({"custom_id": digest, "method": "POST", "url": url, "body": body} for digest, body in bodies.items())
        content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        file = await self._client.files.create(file=("requests.jsonl", content), purpose="batch")
        batch = await self._client.post(
            "/batches",
            body={"input_file_id": file.id, "endpoint": url, "completion_window": "24h"},
            cast_to=str,
        )
        return decode(batch.encode(), Batch).id

    async def read_results(self, batch: str) -> list[tuple[str, int, bytes]] | None:
        """Return the digest, HTTP status and body of every response of a batch, None before it ended."""
        facts = decode((await self._client.get(f"/batches/{quote(batch)}", cast_to=str)).encode(), Batch)
        if facts.status not in ENDED:
            return None
        results = []
        for file in filter(None, (facts.output_file_id, facts.error_file_id)):
            content = await self._client.get(f"/files/{quote(file)}/content", cast_to=str)
            results += [_result(decode(line.encode(), BatchLine)) for line in content.splitlines() if line]
        return results

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class Batch(msgspec.Struct):
    """The fields of a batch that are used here."""

    id: str
    status: str = ""
    output_file_id: str | None = None
    error_file_id: str | None = None


class BatchResponse(msgspec.Struct):
    """A response in a file of results."""

    status_code: int
    body: msgspec.Raw


class BatchLine(msgspec.Struct):
    """A line of a file of results."""

    custom_id: str
    response: BatchResponse | None = None
    error: Any = None


def _result(line: BatchLine) -> tuple[str, int, bytes]:
    """Return the digest, HTTP status and body of a line; a request that expired has no response."""
    if line.response:
        return line.custom_id, line.response.status_code, bytes(line.response.body)
    return line.custom_id, 500, msgspec.json.encode({"error": line.error})


class ChatCompletions(OpenAiClient):
    """Chat Completions: `openai[MODEL,api=chat]`."""

    path = "/chat/completions"

    def write(self, request: Request, max_tokens: int, schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return a request as the body of one message; reasoning models take neither temperature nor seed."""
        settings = dict(self.options.settings)
        limit = "max_completion_tokens" if settings.pop("reasoning") else "max_tokens"
        effort = {"reasoning_effort": settings.pop("effort")} if "effort" in settings else {}
        turn = {"model": self.options.model, "messages": [build_message(request)], limit: max_tokens}
        return turn | settings | effort | response_format(schema)

    def parse(self, body: bytes) -> Completion:
        """Return the completion in the body of a response."""
        return parse_completion(body)


def build_message(request: Request) -> dict[str, Any]:
    """Return a request as one user message."""
    return {"role": "user", "content": [*map(_part, iterate_parts(request))]}


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": data_url(*part)}}


def response_format(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the JSON schema of the response."""
    if schema is None:
        return {}
    return {"response_format": {"type": "json_schema", "json_schema": named_schema(schema)}}


def named_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with its name: strict, unless its lists exceed OpenAI's limits.

    A longer one is for OpenAI a description to follow; vLLM's server holds to it all the same.
    """
    listed = list(_listed(schema))
    short = len(listed) <= MANY or sum(map(len, listed)) <= MOST_LETTERS
    return {"name": "answer", "strict": short and len(listed) <= MAX_STRICT_VALUES, "schema": dict(schema)}


def _listed(part: Any) -> Iterator[str]:
    """Yield every value of every enum of a schema."""
    if isinstance(part, Mapping):
        yield from map(str, part.get("enum", ()))
        yield from chain.from_iterable(map(_listed, part.values()))
    elif isinstance(part, list | tuple):
        yield from chain.from_iterable(map(_listed, part))


class Message(msgspec.Struct):
    """The text of a completion, its reasoning if the server tells it apart, or the reason of a refusal."""

    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class CompletionChoice(msgspec.Struct):
    """One alternative of a completion; requests ask for one."""

    message: Message
    finish_reason: str | None = None


class PromptTokensDetails(msgspec.Struct):
    """The number of prompt tokens that were read from a cache."""

    cached_tokens: int | None = None


class CompletionTokensDetails(msgspec.Struct):
    """The number of answer tokens that were reasoning."""

    reasoning_tokens: int | None = None


class CompletionUsage(msgspec.Struct):
    """The token counts of a server."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None

    def usage(self) -> Usage:
        """The counts as a Usage."""
        cached = self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else 0
        thinking = self.completion_tokens_details.reasoning_tokens if self.completion_tokens_details else 0
        return Usage(self.prompt_tokens or 0, cached or 0, self.completion_tokens or 0, thinking or 0)


class ChatCompletion(msgspec.Struct):
    """The fields of a server's completion that are used here."""

    model: str | None = None
    choices: list[CompletionChoice] | None = None
    usage: CompletionUsage | None = None
    error: Any = None


def parse_completion(body: bytes) -> Completion:
    """Return the completion in the body of a response."""
    completion = decode(body, ChatCompletion)
    if completion.error and not completion.choices:  # some services tell errors under HTTP 200
        raise error_in_body(completion.error)
    usage = completion.usage.usage() if completion.usage else Usage()
    return Completion(replace(_answer(completion.choices), usage=usage), completion.model or "")


def _answer(choices: list[CompletionChoice] | None) -> Answer:
    """Return the answer of a completion, or the error that it contains."""
    if not choices:
        return errors.no_answer("no answer: the server's list of choices is empty")
    (first, *_) = choices
    if first.finish_reason == "content_filter":
        return errors.no_answer("content filter: the answer was withheld")
    if first.message.refusal and not first.message.content:
        return errors.no_answer(f"refusal: {errors.shorten(first.message.refusal)}")
    if first.finish_reason == "error":  # as services say that pass requests on to others
        return errors.no_answer("the server broke off its answer", retry=True)
    thinking = first.message.reasoning or first.message.reasoning_content or ""
    return Answer(first.message.content or "", (), first.finish_reason != "length", thinking=thinking)
