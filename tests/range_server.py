"""A server of the files of a folder on loopback, which sends ranges of bytes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any


@dataclass
class Server:
    """The address of a server, and the ranges that it was asked for; `broken` requests for ranges fail."""

    url: str
    ranges: list[tuple[str, int, int]] = field(default_factory=list)
    broken: int = 0
    with_ranges: bool = True


@contextmanager
def serve(root: Path) -> Iterator[Server]:
    """Serve the files of a folder."""
    found = Server("")

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(root))

        def do_GET(self) -> None:
            index = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if index is None or not found.with_ranges:
                super().do_GET()
                return
            if found.broken:
                found.broken -= 1
                self.send_error(503)
                return
            start, stop = int(index[1]), int(index[2]) + 1
            found.ranges.append((self.path, start, stop))
            data = Path(self.translate_path(self.path)).read_bytes()[start:stop]
            self.send_response(206)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = Thread(target=http.serve_forever)
        thread.start()
        found.url = f"http://127.0.0.1:{http.server_port}"
        try:
            yield found
        finally:
            http.shutdown()
            thread.join()
