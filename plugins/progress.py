"""How far the answers are: how many are there, rate and time left; in the terminal, also under pytest-xdist."""

import json
import math
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pytest
from tqdm import tqdm

from .recorder import Recorder

SAVE, RESTORE, CLEAR = "\x1bD\x1b[A\x1b7\x1b[B\r", "\x1b8", "\x1b[2K"
QUIET_SECONDS = 30.0
WIDTH = 100
MIXED = "answers"  # what cases that count images and cases that count questions have in common
COUNTS = 55  # columns that percentage, counts, times and rate may take
State = dict[str, Any]


class Board:
    """Draws one line under pytest's own, or on a file prints a line now and then."""

    def __init__(self, every: float = 0.2) -> None:
        self.file: TextIO | None = None
        self.duplicate: TextIO | None = None
        self.live = False
        self.width = WIDTH
        self.interval = every
        self.last_drawn = -math.inf
        self.drawn = False
        self.lock = threading.RLock()

    def open(self, reporter: Any) -> None:
        """Take the terminal that pytest writes to, before its descriptor is captured."""
        file = reporter._tw._file
        self.live = bool(reporter.isatty)
        self.width = min(WIDTH, reporter._tw.fullwidth - 1) if self.live else WIDTH  # one that wraps is not cleared
        self.last_drawn = -math.inf if self.live else time.monotonic()
        try:
            self.file = self.duplicate = os.fdopen(os.dup(file.fileno()), "w", encoding=file.encoding, errors="replace")
        except (OSError, ValueError):  # a file in memory has no descriptor
            self.file = file

    def close(self) -> None:
        """Take the line away and draw no more."""
        with self.lock:
            self.clear()
            self.file = None
        if self.duplicate:
            self.duplicate.close()

    def show(self, states: list[State], *, finished: bool = False) -> None:
        """Draw what is being answered now."""
        running = [state for state in states if state["done"] < state["total"]]
        now = time.monotonic()
        if not self.file or (not running and not self.drawn):
            return
        if now - self.last_drawn < (self.interval if self.live else QUIET_SECONDS) and not finished:
            return
        with self.lock:
            self.clear()
            self.last_drawn = now
            if running:
                text = format_line(running, self.width)
                self.write(f"{SAVE}{text}{RESTORE}" if self.live else f"\n{text}\n")
                self.drawn = self.live

    def clear(self) -> None:
        """Take the line away before pytest writes."""
        with self.lock:
            if self.drawn:
                self.write(f"{SAVE}{CLEAR}{RESTORE}")
                self.drawn, self.last_drawn = False, -math.inf

    def write(self, text: str) -> None:
        """Write to the terminal, past any capture."""
        if self.file:
            self.file.write(text)
            self.file.flush()


def format_line(states: list[State], width: int = WIDTH) -> str:
    """One line for all running cases: counts, rate and time left.

    >>> state = {"case": "imagenet/sample/conse[]", "done": 50, "total": 100, "fresh": 50, "seconds": 5.0}
    >>> text = format_line([state | {"unit": "images"}])
    >>> text.split("|")[0], text.split("|")[-1]
    ('imagenet/sample/conse[]:  50%', ' 50/100 [00:05<00:05, 10.00 images/s]')
    """
    done, total = sum(state["done"] for state in states), sum(state["total"] for state in states)
    seconds = max(state["seconds"] for state in states)
    fresh = sum(state["fresh"] for state in states)
    case, room = states[0]["case"], max(16, width - COUNTS)
    short = case if len(case) <= room else f"…{case[1 - room :]}"
    title = short if len(states) == 1 else f"{len(states)} cases"
    units = {state["unit"] for state in states}
    unit = f" {units.pop() if len(units) == 1 else MIXED}"
    rate = fresh / seconds if seconds else None
    return str(tqdm.format_meter(done, total, seconds, prefix=title, unit=unit, rate=rate, ncols=width))


class Progress:
    """Hands each case a function to call with (done, total, unit); a worker passes it on through the run's folder."""

    def __init__(self, config: pytest.Config, recorder: Recorder) -> None:
        self.worker = getattr(config, "workerinput", {}).get("workerid", "")
        self.folder = recorder.folder / ".progress"
        self.config = config
        self.board = Board()
        self.stopped = threading.Event()
        self.thread: threading.Thread | None = None

    def make_progress(self, case: str) -> Callable[[int, int, str], None]:
        """Count from the first call; answers kept by earlier runs do not speed up the rate.

        Where fewer are done than before, other questions are asked: they are counted anew.
        """
        started, first, before, last = time.monotonic(), -1, 0, 0.0

        def progress(done: int, total: int, unit: str) -> None:
            nonlocal started, first, before, last
            now = time.monotonic()
            if done < before:
                started, first = now, -1
            first, before = done if first < 0 else first, done
            counts = {"done": done, "total": total, "unit": unit, "fresh": done - first}
            state = {"case": case, **counts, "seconds": now - started}
            if not self.worker:
                self.board.show([state], finished=done == total)
            elif now - last > self.board.interval or done == total:
                last = now
                self.send_state(state)

        return progress

    def send_state(self, state: State) -> None:
        """Leave word for the controller; a full or read-only disk costs only the display."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            draft = self.folder / f"{self.worker}.new"
            draft.write_text(json.dumps(state), encoding="utf-8")
            draft.replace(self.folder / f"{self.worker}.json")
        except OSError:
            self.worker = self.worker or "?"

    def watch(self) -> None:
        """Look what the workers left, until the session ends."""
        while not self.stopped.wait(0.5):
            self.board.show(read_states(self.folder))

    def pytest_collection_finish(self) -> None:
        """Find the terminal, if there is one; during the collection pytest captures what is written to it."""
        if reporter := self.config.pluginmanager.get_plugin("terminalreporter"):
            self.board.open(reporter)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Start to read the workers' counts when the first worker has collected its tests."""
        if not self.thread:
            self.pytest_collection_finish()
            self.thread = threading.Thread(target=self.watch, name="eyechart-progress", daemon=True)
            self.thread.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Forget what a worker was at when it went."""
        (self.folder / f"{node.gateway.id}.json").unlink(missing_ok=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        """Leave the terminal to pytest."""
        self.board.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Stop looking, and take the notes away."""
        self.stopped.set()
        if self.thread:
            self.thread.join()
        self.board.close()
        if not self.worker and self.folder.is_dir():
            for path in self.folder.iterdir():
                path.unlink(missing_ok=True)
            self.folder.rmdir()


def read_states(folder: Path) -> list[State]:
    """The states that workers left."""
    states = []
    for path in sorted(folder.glob("*.json")):
        try:
            states.append(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
    return states
