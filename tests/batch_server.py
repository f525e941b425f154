"""A real HTTP server on loopback with the batches of OpenAI and Anthropic; the rest is as in faulty_server.py."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from runpy import run_path
from typing import Any

BASE = run_path(str(Path(__file__).with_name("faulty_server.py")))
Asked, FORMATS, format_of, parts_of, pixels = (
    BASE[name] for name in ("Asked", "FORMATS", "format_of", "parts_of", "pixels")
)


@dataclass
class Batch:
    """One batch: its requests by their ids, and how often its state was read."""

    name: str
    path: str
    requests: dict[str, dict[str, Any]]
    reads: int = 0


class BatchServer(BASE["Faulty"]):
    """The server. A batch ends when its state was read `reads` times and `open` is set. `results` has, by the text of a
    request, a status and a body instead of a good answer, or None for no response. `refusals` are the replies to the
    first requests for a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = Handler
        self.reads = 2
        self.open = threading.Event()
        self.open.set()
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Batch] = {}
        self.results: dict[str, tuple[int, Any] | None] = {}
        self.refusals: list[Any] = []

    def add(self, path: str, requests: dict[str, dict[str, Any]]) -> Batch:
        """Take a batch."""
        batch = Batch(f"batch_{len(self.batches)}", path, requests)
        self.batches[batch.name] = batch
        return batch

    def ended(self, batch: Batch) -> bool:
        """Read the state of a batch."""
        batch.reads += 1
        return batch.reads >= self.reads and self.open.is_set()

    def responses(self, batch: Batch) -> Iterator[tuple[str, int, Any]]:
        """The responses of a batch, in another order than its requests; each is paid."""
        for name, body in reversed(batch.requests.items()):
            text = [part["text"] for part in parts_of(body) if "text" in part][-1]
            asked = Asked(text, body, "", 0.0, batch.path)
            if text in self.results:
                if (result := self.results[text]) is not None:
                    yield name, *result
                continue
            usage = self.count(asked)
            self.paid.append((asked, usage))
            yield name, 200, FORMATS[format_of(batch.path)](self.name, self.answer(asked), usage)


class Handler(BASE["Handler"]):
    """One connection."""

    server: BatchServer

    def do_POST(self) -> None:  # noqa: N802
        if not (self.path.endswith(("/files", "/batches"))):
            super().do_POST()
            return
        data = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/files":
            self.tell({"id": self.keep(data), "object": "file", "bytes": 1, "created_at": 1, "filename": "x"})
            return
        if self.server.refusals:
            reply = self.server.refusals.pop(0)
            self.give(reply, reply.body)
            return
        asked = json.loads(data)
        if self.path == "/v1/messages/batches":
            batch = self.server.add("/v1/messages", {one["custom_id"]: one["params"] for one in asked["requests"]})
        else:
            lines = [json.loads(line) for line in self.server.files[asked["input_file_id"]].splitlines()]
            assert {line["url"] for line in lines} == {asked["endpoint"]}
            batch = self.server.add(asked["endpoint"], {line["custom_id"]: line["body"] for line in lines})
        self.tell({"id": batch.name, "status": "validating", "processing_status": "in_progress"})

    def keep(self, form: bytes) -> str:
        """Keep the file of a form."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        parts = BytesParser(policy=HTTP).parsebytes(head + form).iter_parts()
        (content,) = (part.get_payload(decode=True) for part in parts if part.get_filename())
        name = f"file_{len(self.server.files)}"
        self.server.files[name] = content
        return name

    def do_GET(self) -> None:  # noqa: N802
        *_, kind, name = self.path.split("/")
        if name == "results":
            batch = self.server.batches[kind]
            self.tell_lines(
                {"custom_id": one, "result": message_result(status, body)}
                for one, status, body in self.server.responses(batch)
            )
        elif name == "content":
            batch = self.server.batches[kind.removeprefix("out_")]
            self.tell_lines(
                {"custom_id": one, "response": {"status_code": status, "request_id": "1", "body": body}, "error": None}
                for one, status, body in self.server.responses(batch)
            )
        elif batch := self.server.batches.get(name):
            ended = self.server.ended(batch)
            state = {"status": "completed" if ended else "in_progress"}
            state["processing_status"] = "ended" if ended else "in_progress"
            self.tell({"id": name, **state, "output_file_id": f"out_{name}" if ended else None})
        else:
            self.tell({"error": {"type": "not_found_error", "message": f"no batch {name}"}}, 404)

    def tell_lines(self, lines: Iterator[Mapping[str, Any]]) -> None:
        self.tell("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

    def tell(self, body: Any, status: int = 200) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("content-type", "application/x-jsonl" if isinstance(body, str) else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def message_result(status: int, body: Any) -> dict[str, Any]:
    """A result of Anthropic."""
    return {"type": "succeeded", "message": body} if status == 200 else {"type": "errored", "error": body}


@contextmanager
def serving() -> Iterator[BatchServer]:
    """Serve for a while."""
    server = BatchServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
