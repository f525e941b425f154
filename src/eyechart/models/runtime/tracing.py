"""What a session does, for its progress in the terminal, and its times as a Chrome trace (`--eye-profile`).

`with span("forward"):` names what the thread does, and records its time if a trace is active in this process.
"""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eyechart.errors import ReportError

T = TypeVar("T")
MICRO = 1000  # nanoseconds


class Event(msgspec.Struct, omit_defaults=True):
    """An event of the trace format: `X` is a span of `dur` microseconds, `M` names a process or thread."""

    name: str
    ph: str
    pid: int
    tid: int
    ts: float = 0
    dur: float = 0
    args: dict[str, Any] = {}


class _Trace:
    """The spans of this process."""

    def __init__(self, process: str) -> None:
        self.process = process
        self.events: list[Event] = []

    def add(self, name: str, begun: int, about: dict[str, Any]) -> None:
        """Add a span that began at a time in nanoseconds and ends now."""
        duration = (time.time_ns() - begun) / MICRO
        self.events.append(Event(name, "X", os.getpid(), threading.get_native_id(), begun / MICRO, duration, about))

    def write(self, path: Path) -> None:
        """Write the spans to a JSON file."""
        named = Event("process_name", "M", os.getpid(), 0, args={"name": self.process})
        write_events(path, [named, *self.events])


active: _Trace | None = None
open_spans: dict[int, list[str]] = {}  # the names of the spans that are open now in each thread, the innermost last
seconds: defaultdict[str, float] = defaultdict(float)  # of the spans of this process that have ended, by name


def start(process: str) -> _Trace:
    """Begin to record the spans of this process."""
    global active
    active = _Trace(process)
    return active


def stop() -> None:
    """End the recording."""
    global active
    active = None


@contextmanager
def span(name: str, /, **about: Any) -> Iterator[None]:
    """Name what this thread does, for the progress in the terminal, and record the time if a trace is active."""
    trace, begun = active, time.time_ns()
    names = open_spans.setdefault(threading.get_ident(), [])
    names.append(name)
    try:
        yield
    finally:
        names.pop()
        seconds[name] += (time.time_ns() - begun) / 1e9
        if trace:
            trace.add(name, begun, about)


def spans(name: str, items: Generator[T]) -> Generator[T]:
    """Yield items, and record the time until each is there; what the caller does with them is not part of it.

    The generator of the items is closed with this one.
    """
    with closing(items):
        while True:
            with span(name):
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item


def write_events(path: Path, events: Sequence[Event]) -> None:
    """Write events as a trace that Perfetto and Chrome open."""
    path.write_bytes(msgspec.json.encode({"traceEvents": events, "displayTimeUnit": "ms"}))


def read_events(path: Path) -> list[Event]:
    """Return the events of a trace. Raises ReportError for another file."""
    try:
        content = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        return msgspec.convert(content["traceEvents"], list[Event])
    except (OSError, KeyError, msgspec.DecodeError) as error:
        raise ReportError(f"{path} is no trace of eyechart ({error}). Run again with --eye-profile.") from error


def own_seconds(events: Iterable[Event]) -> dict[str, float]:
    """Return the seconds of spans by their names, without those of spans inside them, most first.

    >>> inner = Event("forward", "X", 1, 1, ts=2e6, dur=3e6)
    >>> own_seconds([Event("case", "X", 1, 1, ts=1e6, dur=5e6), inner])
    {'forward': 3.0, 'case': 2.0}
    """
    by_thread = defaultdict[tuple[int, int], list[Event]](list)
    for event in events:
        if event.ph == "X":
            by_thread[event.pid, event.tid].append(event)
    own = defaultdict[str, float](float)
    for some in by_thread.values():
        around: list[Event] = []
        for event in sorted(some, key=lambda event: (event.ts, -event.dur)):
            while around and around[-1].ts + around[-1].dur <= event.ts:
                around.pop()
            own[event.name] += event.dur / 1e6
            if around:
                own[around[-1].name] -= event.dur / 1e6
            around.append(event)
    return dict(sorted(own.items(), key=lambda item: item[1], reverse=True))
