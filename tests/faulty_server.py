"""A real HTTP server on loopback that speaks the formats of providers and goes wrong as it is told.

A good answer repeats the question's last text, so that everybody can see whose answer it is; one who looks at the
pictures (`look`) answers by what is in them.
"""

import json
import socket
import struct
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any

from PIL import Image

NAME = "toy-2026-01-01"
SAYS = ("tench", "goldfish", "tabby cat", "great white shark", "a thing of no name")
Usage = Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """What comes back: after a while, in another form than expected, or cut off in its middle."""

    body: bytes | None = None  # None: a good answer
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0
    cut: bool = False
    drip: float = 0  # seconds between its bytes


@dataclass(frozen=True)
class Asked:
    """A question that arrived."""

    text: str
    body: dict[str, Any]
    key: str
    at: float
    path: str = ""

    @cached_property
    def content(self) -> str:
        """What is asked, all of it, as one word."""
        return sha256(json.dumps(self.body, sort_keys=True).encode()).hexdigest()

    @property
    def files(self) -> list[bytes]:
        """The bytes of its images."""
        return [b64decode(data) for data in map(base64_of, parts_of(self.body)) if data]

    @property
    def pictures(self) -> list[str]:
        """The pixels of its images, each as one word."""
        return [*map(pixels, self.files)]


def parts_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a question: of Chat Completions and Anthropic's messages, of the Responses API, of Gemini."""
    turn = (body.get("messages") or body.get("input") or body["contents"])[0]
    return list(turn.get("content") or turn["parts"])


def base64_of(part: dict[str, Any]) -> str:
    """The image of a part in base64, "" for a text."""
    if "inlineData" in part:
        return str(part["inlineData"]["data"]).translate(str.maketrans("-_", "+/"))  # the client's alphabet
    if "source" in part:
        return str(part["source"]["data"])
    url = part.get("image_url", "")
    return str(url["url"] if isinstance(url, dict) else url).partition(",")[2]


def pixels(file: bytes) -> str:
    """What an image shows, as one word."""
    return sha256(Image.open(BytesIO(file)).convert("RGB").tobytes()).hexdigest()


def look(asked: Asked) -> str:
    """Answer by the pictures: a letter where options are asked for, else a name each by its key."""
    seen = [int(picture[:8], 16) for picture in asked.pictures]
    if not seen:
        return "OK"
    if "Answer with the letter" in asked.text:
        return "ABCDEFGHIJ"[seen[0] % 10]
    return json.dumps({str(index): SAYS[number % len(SAYS)] for index, number in enumerate(seen, 1)})


def by_length(asked: Asked) -> Usage:
    """Count tokens that differ from question to question, some of them cached."""
    size = 300 + int(asked.content[:4], 16) % 100
    return {
        "prompt_tokens": size,
        "completion_tokens": 3 + size % 5,
        "prompt_tokens_details": {"cached_tokens": size // 3},
    }


def key_of(headers: Mapping[str, str]) -> str:
    """The key as it was sent."""
    names = ("authorization", "x-api-key", "x-goog-api-key")
    return next((headers[name] for name in names if name in headers), "")


def format_of(path: str) -> str:
    """The name of a format by the path of a request."""
    return next((name for name in FORMATS if name in path), "chat/completions")


def write_chat(name: str, text: str, usage: Usage | None, **more: Any) -> dict[str, Any]:
    """A completion of Chat Completions."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | more
    told = {"id": "1", "object": "chat.completion", "created": 1, "model": name, "choices": [choice]}
    return told if usage == {} else told | {"usage": usage}


def write_response(name: str, text: str, usage: Usage | None, **more: Any) -> dict[str, Any]:
    """A response of the Responses API; `usage` has the names of Chat Completions, as everywhere here."""
    read, said, cached, thought = counts_of(usage)
    reasoning = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Let me see."}]}
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    counted = {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": thought},
    }
    whole = {"id": "1", "object": "response", "model": name, "status": "completed", "output": [reasoning, message]}
    return whole | {"usage": counted} | more


def write_message(name: str, text: str, usage: Usage | None, **more: Any) -> dict[str, Any]:
    """A message of Anthropic; its input tokens do not count those that were read from a cache."""
    read, said, cached, thought = counts_of(usage)
    thinking = {"type": "thinking", "thinking": "Let me see.", "signature": "x"}
    counted = {
        "input_tokens": read - cached,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": said,
        "output_tokens_details": {"thinking_tokens": thought},
    }
    whole = {"id": "1", "type": "message", "role": "assistant", "model": name, "stop_reason": "end_turn"}
    return whole | {"content": [thinking, {"type": "text", "text": text}], "usage": counted} | more


def write_content(name: str, text: str, usage: Usage | None, **more: Any) -> dict[str, Any]:
    """A response of Gemini; its candidates' tokens do not count thoughts."""
    read, said, cached, thought = counts_of(usage)
    parts = [{"text": "Let me see.", "thought": True}, {"text": text}]
    counted = {
        "promptTokenCount": read,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": said - thought,
        "thoughtsTokenCount": thought,
        "totalTokenCount": read + said,
    }
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"} | more
    return {"candidates": [candidate], "usageMetadata": counted, "modelVersion": name}


def counts_of(usage: Usage | None) -> tuple[int, int, int, int]:
    """Tokens read and said, cached ones of those read, thought ones of those said."""
    usage = usage or {}
    cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    thought = usage.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
    return usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0), cached, thought


FORMATS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "chat/completions": write_chat,
    "responses": write_response,
    "messages": write_message,
    "generateContent": write_content,
}


class Faulty(ThreadingHTTPServer):
    """The server. `faults` holds the replies to a question's first attempts by its text, `plan` those by its place
    among all different questions, `always` those to all others; `more` gives further fields of a good answer. `paid`
    has every answer that was made and counted, `moment` is called when that happens: before it is sent, and after.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.url = f"{self.address}/v1"
        self.name, self.usage = NAME, {"prompt_tokens": 90, "completion_tokens": 10}
        self.answer: Callable[[Asked], str] = lambda asked: asked.text
        self.count: Callable[[Asked], Usage | None] = lambda asked: self.usage
        self.more: Callable[[Asked], Mapping[str, Any]] = lambda asked: {}
        self.faults: dict[str, list[Reply]] = {}
        self.plan: dict[int, list[Reply]] = {}
        self.always: Reply | None = None
        self.asked: list[Asked] = []
        self.paid: list[tuple[Asked, Usage]] = []
        self.moment: Callable[[int, str], None] = lambda number, when: None
        self.under_way = self.most = 0
        self.closing = threading.Event()
        self.lock = threading.Lock()

    def reply(self, body: Any = None, **how: Any) -> Reply:
        """A reply of some JSON, or of bytes as they are."""
        return Reply(body if body is None or isinstance(body, bytes) else json.dumps(body).encode(), **how)

    def refusal(self, status: int, message: str, code: str = "", **headers: str) -> Reply:
        """An error as OpenAI tells it."""
        told = {"error": {"message": message, "type": "error", "code": code}}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.reply(told, status=status, headers=named)

    def good(self, text: str, **more: Any) -> dict[str, Any]:
        """A completion."""
        return write_chat(self.name, text, {}, **more)

    def times(self, text: str) -> list[float]:
        """When a question was asked."""
        return [one.at for one in self.asked if one.text == text]

    @contextmanager
    def counted(self, asked: Asked) -> Iterator[Reply]:
        """Count a request as under way, and choose its reply."""
        with self.lock:
            self.asked.append(asked)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            waiting = self.faults.get(asked.text) or (self.plan and self.plan.get(self.index(asked)))
            chosen = waiting.pop(0) if waiting else self.always or Reply()
        yield chosen

    def index(self, asked: Asked) -> int:
        """The place of a question among all different ones about pictures."""
        different = list(dict.fromkeys(one.content for one in self.asked if one.pictures))
        return different.index(asked.content) if asked.pictures else -1

    def whole(self, reply: Reply, asked: Asked) -> bytes:
        """The bytes of a reply; a good one is made for the question."""
        if reply.body is not None:
            return reply.body
        good = FORMATS[format_of(asked.path)](self.name, self.answer(asked), self.count(asked))
        return json.dumps({**good, **self.more(asked)}).encode()

    def pay(self, asked: Asked, reply: Reply, body: bytes) -> int:
        """Count an answer that has a price; its number, or 0."""
        with self.lock:
            if reply.status != 200 or reply.cut or not body.startswith(b"{") or b'"usage' not in body:
                return 0
            told = json.loads(body)
            self.paid.append((asked, told.get("usage") or told.get("usageMetadata")))
            return len(self.paid)

    @property
    def tokens(self) -> tuple[int, int, int]:
        """All tokens that were counted for questions about pictures: read, cached of these, said."""
        counted = [usage for asked, usage in self.paid if asked.pictures]
        cached = sum(usage.get("prompt_tokens_details", {}).get("cached_tokens", 0) for usage in counted)
        read, said = (sum(usage[f"{name}_tokens"] for usage in counted) for name in ("prompt", "completion"))
        return read, cached, said

    def done(self) -> None:
        """Count a request as answered: before its last byte, which may bring the next."""
        with self.lock:
            self.under_way -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are what this is for."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Faulty

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = [part["text"] for part in parts_of(body) if "text" in part][-1]
        asked = Asked(text, body, key_of(self.headers), time.monotonic(), self.path)
        with self.server.counted(asked) as reply:
            if self.server.closing.wait(reply.after):
                return
            whole = self.server.whole(reply, asked)
            number = self.server.pay(asked, reply, whole)
            self.server.moment(number, "made")
            self.give(reply, whole)
            self.server.moment(number, "sent")

    def give(self, reply: Reply, body: bytes) -> None:
        self.server.done()
        self.send_response(reply.status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **reply.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        for index in range(len(body)) if reply.drip else ():
            self.wfile.write(body[index : index + 1])
            self.server.closing.wait(reply.drip)
        self.wfile.write(body[: len(body) // 2] if reply.cut else b"" if reply.drip else body)
        if reply.cut:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def serving(port: int = 0) -> Iterator[Faulty]:
    """Serve for a while, at a free port or at a given one."""
    server = Faulty(port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
