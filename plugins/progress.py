"""Progress of the answers in the terminal: counts, rate and remaining time, also under pytest-xdist."""

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
from .workers import worker_name

SAVE, RESTORE, CLEAR = "\x1bD\x1b[A\x1b7\x1b[B\r", "\x1b8", "\x1b[2K"
QUIET_SECONDS = 30.0
WIDTH = 100
MIXED = "answers"  # the unit if some cases count images and others questions
COUNTS = 55  # the width of percentage, counts, times and rate, in columns
State = dict[str, Any]


class Board:
    """Shows the progress: in a terminal one line below the output of pytest, in a file a line at intervals."""

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
        """Open the output of pytest's terminal reporter, before pytest captures its descriptor."""
        file = reporter._tw._file
        self.live = bool(reporter.isatty)
        # A wrapped line could not be cleared.
        self.width = min(WIDTH, reporter._tw.fullwidth - 1) if self.live else WIDTH
        self.last_drawn = -math.inf if self.live else time.monotonic()
        try:
            self.file = self.duplicate = os.fdopen(os.dup(file.fileno()), "w", encoding=file.encoding, errors="replace")
        except (OSError, ValueError):  # a file in memory has no descriptor
            self.file = file

    def close(self) -> None:
        """Clear the line and close the output."""
        with self.lock:
            self.clear()
            self.file = None
        if self.duplicate:
            self.duplicate.close()

    def show(self, states: list[State], *, finished: bool = False) -> None:
        """Show the cases that are running, if the interval has passed or a case is finished."""
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
        """Clear the line before pytest writes."""
        with self.lock:
            if self.drawn:
                self.write(f"{SAVE}{CLEAR}{RESTORE}")
                self.drawn, self.last_drawn = False, -math.inf

    def write(self, text: str) -> None:
        """Write to the terminal even if pytest captures the output."""
        if self.file:
            self.file.write(text)
            self.file.flush()


def format_line(states: list[State], width: int = WIDTH) -> str:
    """Return one line for all running cases: counts, rate and remaining time.

    >>> state = {"case": "imagenet/sample/conse[]", "done": 50, "total": 100, "fresh": 50, "seconds": 5.0}
    >>> line = format_line([state | {"unit": "images"}])
    >>> line.split("|")[0], line.split("|")[-1]
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
    """Makes the progress functions of cases; a worker sends its state to the controller by files."""

    def __init__(self, config: pytest.Config, recorder: Recorder) -> None:
        self.worker = worker_name(config)
        self.folder = recorder.folder / ".progress"
        self.config = config
        self.board = Board()
        self.stopped = threading.Event()
        self.thread: threading.Thread | None = None
        self.states: dict[str, State] = {}  # of the cases that are running in this process

    def make_progress(self, case: str) -> Callable[[int, int, str], None]:
        """Return a function of (done, total, unit) that shows the progress of a case.

        The rate starts at the first call, so that answers of earlier runs do not count. If `done` decreases, other
        requests have begun, and the rate starts again.
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
                self.states[case] = state
                self.board.show([*self.states.values()], finished=done == total)
            elif now - last > self.board.interval or done == total:
                last = now
                self.send_state(state)

        return progress

    def send_state(self, state: State) -> None:
        """Write the state for the controller; errors of the disk are ignored, since only the display needs it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            draft = self.folder / f"{self.worker}.new"
            draft.write_text(json.dumps(state), encoding="utf-8")
            draft.replace(self.folder / f"{self.worker}.json")
        except OSError:
            self.worker = self.worker or "?"

    def watch(self) -> None:
        """Show the states of the workers until the session ends."""
        while not self.stopped.wait(0.5):
            self.board.show(read_states(self.folder))

    def pytest_collection_finish(self) -> None:
        """Open the terminal, if there is one; during the collection pytest captures its output."""
        if reporter := self.config.pluginmanager.get_plugin("terminalreporter"):
            self.board.open(reporter)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Start to read the states of the workers when the first worker has collected its tests."""
        if not self.thread:
            self.pytest_collection_finish()
            self.thread = threading.Thread(target=self.watch, name="eyechart-progress", daemon=True)
            self.thread.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Delete the state of a worker that has ended."""
        (self.folder / f"{node.gateway.id}.json").unlink(missing_ok=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        """Clear the line before pytest prints a report."""
        self.states.clear()
        self.board.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Stop the display, and delete the states of the workers."""
        self.stopped.set()
        if self.thread:
            self.thread.join()
        self.board.close()
        if not self.worker and self.folder.is_dir():
            for path in self.folder.iterdir():
                path.unlink(missing_ok=True)
            self.folder.rmdir()


def read_states(folder: Path) -> list[State]:
    """Return the states that workers wrote; unreadable files are skipped."""
    states = []
    for path in sorted(folder.glob("*.json")):
        try:
            states.append(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
    return states
