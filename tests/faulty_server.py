"""A real HTTP server on loopback that speaks OpenAI's chat and goes wrong as it is told.

A good answer repeats the question's last text, so that everybody can see whose answer it is.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAME = "toy-2026-01-01"


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


class Faulty(ThreadingHTTPServer):
    """The server. `faults` holds the replies to a question's first attempts by its text, `always` those to all."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.name, self.usage = NAME, {"prompt_tokens": 90, "completion_tokens": 10}
        self.faults: dict[str, list[Reply]] = {}
        self.always: Reply | None = None
        self.asked: list[Asked] = []
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
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | more
        return {"id": "1", "object": "chat.completion", "created": 1, "model": self.name, "choices": [choice]}

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
            waiting = self.faults.get(asked.text)
            chosen = waiting.pop(0) if waiting else self.always or Reply()
        yield chosen

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
        text = [part["text"] for part in body["messages"][0]["content"] if part["type"] == "text"][-1]
        asked = Asked(text, body, self.headers.get("authorization", ""), time.monotonic())
        with self.server.counted(asked) as reply:
            self.server.closing.wait(reply.after)
            good = self.server.good(text) | {"usage": self.server.usage}
            self.give(reply, json.dumps(good).encode() if reply.body is None else reply.body)

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
        for place in range(len(body)) if reply.drip else ():
            self.wfile.write(body[place : place + 1])
            self.server.closing.wait(reply.drip)
        self.wfile.write(body[: len(body) // 2] if reply.cut else b"" if reply.drip else body)
        if reply.cut:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Faulty]:
    """Serve for a while."""
    server = Faulty()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
