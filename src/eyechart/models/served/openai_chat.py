"""Chat Completions, the API of OpenAI that vLLM's and many other servers have too."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any
from urllib.parse import quote

import msgspec

from eyechart.models.served import faults
from eyechart.models.served.api import (
    Completion,
    decode,
    decode_object,
    error_in_body,
    iterate_parts,
    require_list,
)
from eyechart.models.served.content import flatten, get_list, get_object, get_text, get_usage, read_content
from eyechart.models.served.half_price import BatchApi
from eyechart.models.served.image_parts import data_url
from eyechart.models.served.options import ServedOptions
from eyechart.models.types import Answer, Request

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
            results += [_result(decode(line.encode(), BatchLine)) for line in content.split("\n") if line.strip()]
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


class _BatchResponse(msgspec.Struct):
    """A response in a file of results."""

    status_code: int
    body: msgspec.Raw


class BatchLine(msgspec.Struct):
    """A line of a file of results."""

    custom_id: str
    response: _BatchResponse | None = None
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
        return turn | settings | effort | _response_format(schema)

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


def _response_format(schema: Mapping[str, Any] | None) -> dict[str, Any]:
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


FILTERS = ("content_filter", "safety", "sensitive", "prohibited_content", "recitation", "blocklist")
BROKEN_OFF = frozenset(
    {
        *("error", "network_error", "insufficient_system_resource", "timeout"),
        *("abort", "aborted", "cancelled", "canceled"),
        *("load", "unload"),  # Ollama read or left the model, and answered nothing
    }
)
AT_LIMIT = re.compile(r"length|max_.*tokens|token_limit|context_window")
THOUGHTS = ("reasoning", "reasoning_content", "thinking", "reasoning_details")  # fields, by server


def parse_completion(body: bytes) -> Completion:
    """Return the completion in the body of a response."""
    response = _joined(body) if body.startswith((b"data:", b"event:", b": ")) else decode_object(body)
    if response.get("error") and not response.get("choices"):  # some services report errors under HTTP 200
        raise error_in_body(response["error"])
    choices = require_list(response, "choices")
    answer = _answer(choices[0]) if choices else faults.no_answer("no answer: the server's list of choices is empty")
    return Completion(replace(answer, usage=get_usage(response, "prompt", "completion")), get_text(response, "model"))


def _joined(body: bytes) -> dict[str, Any]:
    """Return the response that the events of a stream make, which some servers send though none was asked for."""
    lines = (line.removeprefix(b"data:").strip() for line in body.splitlines() if line.startswith(b"data:"))
    chunks = [decode_object(line) for line in lines if line and line != b"[DONE]"]
    joined: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for chunk in chunks:
        joined |= {name: value for name, value in chunk.items() if value}
        for part in get_list(chunk, "choices")[:1]:
            choice |= {name: value for name, value in part.items() if value} if isinstance(part, Mapping) else {}
            for name, value in get_object(part, "delta").items():
                texts[name] = texts.get(name, "") + flatten(value)
    if not choice.get("finish_reason") and b"[DONE]" not in body:
        raise faults.TransientError("the stream of the response ended before its end")
    return joined | ({"choices": [{**choice, "message": texts}]} if choice else {})


def _answer(choice: Any) -> Answer:
    """Return the answer of a choice, or the error that it contains."""
    choice = choice if isinstance(choice, Mapping) else {}
    reason = get_text(choice, "finish_reason") or get_text(get_object(choice, "finish_reason"), "type")  # as SGLang's
    reason = reason.lower().replace("-", "_")
    if reason.startswith(FILTERS):
        return faults.no_answer("content filter: the answer was withheld")
    if reason in BROKEN_OFF:  # as services say that pass requests on to others
        _, reason = faults.parse_error_object(choice["error"]) if choice.get("error") else ("", "")
        return faults.no_answer(f"the server broke off its answer{reason and f': {reason}'}", retry=True)
    message = get_object(choice, "message")
    if not message and not isinstance(choice.get("text"), str):
        return faults.no_answer("no answer: the server's choice has no message")
    content = read_content(message.get("content") if message else choice["text"])
    refusal = content.refusal or flatten(message.get("refusal"))
    if refusal and not content.text:
        return faults.no_answer(f"refusal: {faults.shorten(refusal)}")
    thinking = content.thinking or next(filter(None, (flatten(message.get(name)) for name in THOUGHTS)), "")
    if not content.text and (withheld := _filtered(choice)):
        return faults.no_answer(f"content filter: the answer was withheld ({withheld})")
    if not content.text and (message.get("tool_calls") or message.get("function_call")):
        return faults.no_answer("no answer: the server's message is the call of a tool")
    if content.missing_text and not thinking:
        return faults.no_answer(f"no answer: the server's content has no text but {content.missing_text}")
    return Answer(content.text, (), not AT_LIMIT.search(reason), thinking=thinking)


def _filtered(choice: Mapping[str, Any]) -> str:
    """Return the names of Azure's filters that withheld an answer."""
    results = get_object(choice, "content_filter_results")
    return ", ".join(name for name in results if get_object(results, name).get("filtered") is True)
