"""Progress of a session in the terminal: cases, time left, and what runs, also under pytest-xdist.

A thread of each process looks twice a second at what its cases do. Workers send it to the controller by files.
"""

import json
import math
import os
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest
from tqdm import tqdm

from eyechart.evaluation.settings import Case
from eyechart.inference.runner.runner import Progress as Count
from eyechart.models.runtime import phases

from .cases import find_case
from .options import is_on_command_line, needs_plugin
from .pace import CaseParts, Pace, State
from .recorder import Recorder
from .workers import worker_name

if TYPE_CHECKING:
    from eyechart.evaluation.prefetch import Track  # imported by sessions with `--eye-ray` alone

# tqdm leaves the cursor in its own line; pytest continues the line above.
SAVE, RESTORE, CLEAR = "\x1bD\x1b[A\x1b7\x1b[B\r", "\x1b8", "\x1b[2K"
TICK, REDRAW = 0.5, 0.2  # seconds
# In a file a line comes after 4 s of silence, later after a 60th of the session's age, so that long logs stay short:
# about 60 lines in the first 4 minutes, 220 in an hour, 550 in a day.
SHORTEST_SILENCE, LONGEST_SILENCE, SHARE_OF_AGE = 4.0, 300.0, 1 / 60
WIDTH, TITLE = 100, 16  # columns: of a line, and at least of the name of a case
MIXED = "answers"  # the unit if some cases count images and others questions
COUNTS = "{n_fmt}/{total_fmt}{unit} [{elapsed}<{remaining}, {rate_fmt}]"
NARROW = "{n_fmt}/{total_fmt}{unit} [{elapsed}]"
PHASES: Mapping[str, str] = {  # what a case does, by the name of its innermost phase
    "open": "reads the data",
    "make model": "makes the model",
    "load": "loads the model",
    "identify": "hashes weights and images",
    "read answers": "reads stored answers",
    "score": "scores",
    "evidence": "writes the record",
}
COSTS = "eyechart_costs"  # an attribute of the last report of a case: seconds, requests, those that were answered now


def _loading_seconds() -> float:
    """Return how long this process has made and loaded models: once a model, so that it is no part of the pace."""
    return sum(phases.seconds[name] for name in ("make model", "load"))


@dataclass
class _Running:
    """A case that is running in a thread of this process."""

    case: str
    thread: int = field(default_factory=threading.get_ident)
    started: float = field(default_factory=time.monotonic)
    loading: float = field(default_factory=_loading_seconds)  # of earlier cases
    done: int = 0
    total: int = 0
    unit: str = ""
    cost: str = ""
    first: int = 0  # how many of the requests had answers before
    began: float = 0.0  # the time of the first of these requests, and of the last answer
    answered: float = 0.0
    requests: int = 0  # of earlier requests of this case
    fresh: int = 0

    def count(self, done: int, total: int, unit: str, cost: str = "", /) -> None:
        """Count answers. The rate starts at the first call, so that stored answers do not count.

        If `done` decreases or `total` changes, other requests have begun, and the rate starts again.
        """
        self.answered = time.monotonic()
        if done < self.done or total != self.total:
            self.requests, self.fresh = self.counts
            self.first, self.began = done, self.answered
        self.done, self.total, self.unit, self.cost = done, total, unit, cost

    @property
    def counts(self) -> tuple[int, int]:
        """All requests of the case so far, and those that were answered now."""
        return self.requests + self.total, self.fresh + self.done - self.first

    @property
    def costs(self) -> tuple[float, int, int]:
        """Seconds without loading the model, requests, and those of them that were answered now."""
        loading = _loading_seconds() - self.loading
        return max(0.0, time.monotonic() - self.started - loading), *self.counts

    @property
    def state(self) -> State:
        """What to show of the case."""
        open_phases = [*phases.open_phases.get(self.thread, ())]  # the thread may end one meanwhile
        return {
            "case": self.case,
            "phase": PHASES[open_phases[-1]] if open_phases else "",
            "seconds": time.monotonic() - self.started,
            "done": self.done,
            "total": self.total,
            "fresh": self.done - self.first,
            "asking": self.answered - self.began,
            "unit": self.unit,
            "cost": self.cost,
        }


class _Board:
    """Shows the progress: in a terminal one line below the output of pytest, in a file a line at intervals."""

    def __init__(self) -> None:
        self.file: TextIO | None = None
        self.duplicate: TextIO | None = None
        self.live = self.paused = False
        self.width = WIDTH
        self.opened = self.written = time.monotonic()
        self.text = ""  # what was written last
        self.lock = threading.RLock()

    def open(self, config: pytest.Config, reporter: Any) -> None:
        """Open the output of pytest's terminal reporter, also while pytest captures its descriptor."""
        file, capture = reporter._tw._file, config.pluginmanager.get_plugin("capturemanager")
        self.live = bool(reporter.isatty)
        # A wrapped line could not be cleared.
        self.width = min(WIDTH, reporter._tw.fullwidth - 1) if self.live else WIDTH
        self.written = -math.inf if self.live else time.monotonic()
        try:
            with capture.global_and_fixture_disabled() if capture else nullcontext():
                copy = os.dup(file.fileno())
            self.file = self.duplicate = os.fdopen(copy, "w", encoding=file.encoding, errors="replace")
        except (OSError, ValueError):  # a file in memory has no descriptor
            self.file = file

    def close(self) -> None:
        """Clear the line and close the output."""
        with self.lock:
            self.clear()
            self.file = None
            if self.duplicate:
                with suppress(OSError):
                    self.duplicate.close()

    @property
    def is_due(self) -> bool:
        """Whether it is time for another line."""
        now = time.monotonic()
        silence = min(LONGEST_SILENCE, max(SHORTEST_SILENCE, (now - self.opened) * SHARE_OF_AGE))
        return self.file is not None and not self.paused and now - self.written >= (REDRAW if self.live else silence)

    def show(self, text: str) -> None:
        """Show a line, unless pytest is writing."""
        if text == self.text or not self.lock.acquire(blocking=False):
            return
        try:
            self.write(f"{SAVE}{CLEAR}{text}{RESTORE}" if self.live else f"\n{text}\n")
            self.text, self.written = text, time.monotonic()
        finally:
            self.lock.release()

    def clear(self) -> None:
        """Clear the line before pytest writes."""
        with self.lock:
            if self.live and self.text:
                self.write(f"{SAVE}{CLEAR}{RESTORE}")
                self.text, self.written = "", -math.inf

    def pause(self) -> None:
        """Show nothing until `resume`."""
        self.clear()
        self.paused = True

    def resume(self) -> None:
        """Show lines again."""
        self.paused = False

    @contextmanager
    def cleared(self) -> Iterator[None]:
        """Show nothing while pytest writes."""
        with self.lock:
            self.clear()
            yield

    def write(self, text: str) -> None:
        """Write to the terminal even if pytest captures the output; it may be gone."""
        if self.file:
            with suppress(OSError, ValueError):
                self.file.write(text)
                self.file.flush()


def _format_line(head: str, states: Sequence[State], width: int = WIDTH) -> str:
    """Return one line: the cases of the session, then name, counts and rate of the case that is running.

    >>> counts = {"done": 5, "total": 9, "fresh": 5, "asking": 2, "unit": "images", "cost": ""}
    >>> state = State(case="zero_shot pets/test/m[]", phase="", seconds=7, **counts)
    >>> _format_line("1/4 cases, 00:20 left", [state])
    '1/4 cases, 00:20 left | zero_shot pets/test/m[]: 5/9 images [00:07<00:01,  2.50 images/s]'
    >>> _format_line("1/4 cases, 00:20 left", [state], 60)
    '1/4 cases, 00:20 left | …t pets/test/m[]: 5/9 images [00:07]'
    """
    if not states:
        return head[:width]
    title = states[0]["case"] if len(states) == 1 else f"{len(states)} cases"
    for detailed in (True, False):
        activity = _describe_activity(states, detailed=detailed)
        room = width - len(head) - len(activity) - len(" | : ")
        if room >= min(len(title), 2 * TITLE):
            break
    room = max(room, TITLE)
    short = title if len(title) <= room else f"…{title[1 - room :]}"
    return f"{head} | {short}: {activity}"[:width]


def _describe_activity(states: Sequence[State], *, detailed: bool) -> str:
    """Return the counts of all cases that wait for answers, else what the cases do."""
    seconds = max(state["seconds"] for state in states)
    asking = [state for state in states if not state["phase"] and state["done"] < state["total"]]
    if not asking:
        phases = ", ".join(dict.fromkeys(state["phase"] for state in states if state["phase"])) or "computes"
        return f"{phases} [{tqdm.format_interval(seconds)}]"
    units = {state["unit"] for state in asking}
    taken, fresh = max(state["asking"] for state in asking), sum(state["fresh"] for state in asking)
    meter = tqdm.format_meter(
        sum(state["done"] for state in asking),
        sum(state["total"] for state in asking),
        seconds,
        unit=f" {units.pop() if len(units) == 1 else MIXED}",
        rate=fresh / taken if taken else None,
        bar_format=COUNTS if detailed else NARROW,
    )
    return ", ".join([str(meter), *filter(None, (state["cost"] for state in asking))])


class Progress:
    """Collects what the cases of this process and of its workers do, and shows it."""

    def __init__(self, config: pytest.Config, recorder: Recorder) -> None:
        self.config = config
        self.worker = worker_name(config)
        self.folder = recorder.folder / ".progress"
        self.board = _Board()
        self.pace = Pace()
        self.phase, self.since = "collects the tests", time.monotonic()  # of the session, while no case runs
        self.running: dict[str, _Running] = {}  # in this process, by node id
        self.stopped = threading.Event()
        self.thread: threading.Thread | None = None

    def make_progress(self, case: str) -> Count:
        """Return a function that counts answers of the case that is running."""
        running = next(reversed(self.running.values()), None) or _Running(case)

        def progress(done: int, total: int, unit: str, cost: str = "", /) -> None:
            running.count(done, total, unit, cost)
            self.show()

        return progress

    @contextmanager
    def before_tests(self, cases: Iterable[Case]) -> "Iterator[Track]":
        """Show cases that are answered before the tests; yield a context of each one, which counts its answers."""
        tests, self.pace = self.pace, Pace(self.find_cases(map(_prefetch_id, cases)), counted="cases answered")
        try:
            yield self.track
        finally:
            self.pace = tests

    @contextmanager
    def track(self, case: Case) -> Iterator[Count]:
        """Show a case while this thread answers it, and yield the function that counts its answers."""
        running = self.running[_prefetch_id(case)] = _Running(_prefetch_id(case))
        try:
            yield running.count
        finally:
            del self.running[running.case]
            self.pace.finish(running.case, *running.costs)

    def find_cases(self, ids: Iterable[str]) -> dict[str, CaseParts]:
        """Return the parts of the cases among tests."""
        cases = ((nodeid, find_case(self.config, nodeid)) for nodeid in ids)
        return {nodeid: CaseParts.of(case) for nodeid, case in cases if case}

    def line(self) -> str:
        """Return what to show now, "" for nothing."""
        pace = self.pace  # another thread may change it
        states = [running.state for running in [*self.running.values()]] or _read_states(self.folder)
        cases, finished = pace.cases, pace.finished
        states = [state for state in states if state["case"] in cases and state["case"] not in finished]
        head = pace.describe(states) if cases else ""
        if not states and self.phase:
            doing = f"{self.phase} [{tqdm.format_interval(time.monotonic() - self.since)}]"
            return ", ".join(filter(None, (head, doing)))
        if len(finished) == len(cases):
            return ""
        titled: list[State] = [{**state, "case": cases[state["case"]].title} for state in states]
        return _format_line(head, titled, self.board.width)

    def show(self) -> None:
        """Show the line if it is time."""
        if self.board.is_due and (line := self.line()):
            self.board.show(line)

    def watch(self) -> None:
        """Show what runs, or send it to the controller, until the session ends."""
        sent: list[State] = []
        while not self.stopped.wait(TICK):
            if not self.worker:
                self.show()
            elif (states := [running.state for running in [*self.running.values()]]) or sent:
                sent = states
                self.send_states(states)

    def send_states(self, states: Sequence[State]) -> None:
        """Write states for the controller; errors of the disk are ignored, since only the display needs it."""
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            draft = self.folder / f"{self.worker}.new"
            draft.write_text(json.dumps(states), encoding="utf-8")
            draft.replace(self.folder / f"{self.worker}.json")

    def start(self) -> None:
        """Open the terminal and start the thread, once; a worker has no terminal."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if not self.thread and (reporter or self.worker):
            if reporter:
                self.board.open(self.config, reporter)
            self.thread = threading.Thread(target=self.watch, name="eyechart-progress", daemon=True)
            self.thread.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Generator[None, object, object]:
        """Start below the header if the session is about benchmarks; other tests may share their ini file."""
        result = yield
        if self.worker or is_on_command_line(self.config):
            self.start()
        return result

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Start with the first benchmark that is collected."""
        if needs_plugin(metafunc.fixturenames):
            self.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_finish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Store the cases of this process."""
        if not self.worker:
            self.pace.cases |= self.find_cases(item.nodeid for item in session.items)
        self.phase = ""
        with self.board.cleared():
            return (yield)

    @pytest.hookimpl(wrapper=True, optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> Generator[None, object, object]:
        """Store the cases of the workers, which all collect the same."""
        cases = self.find_cases(ids)
        if cases:
            self.start()
        self.pace.cases |= cases
        self.phase = ""
        with self.board.cleared():
            return (yield)

    @pytest.hookimpl(wrapper=True, optionalhook=True)
    def pytest_testnodeready(self) -> Generator[None, object, object]:
        """Clear the line while pytest-xdist prints that a worker is ready."""
        with self.board.cleared():
            return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Delete the state of a worker that has ended."""
        (self.folder / f"{node.gateway.id}.json").unlink(missing_ok=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Show a case while it runs in this process."""
        if not find_case(self.config, item.nodeid):
            return (yield)
        self.running[item.nodeid] = _Running(item.nodeid)
        try:
            return (yield)
        finally:
            del self.running[item.nodeid]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the costs of a case into its last report, which a worker sends to the controller."""
        report = yield
        if call.when == "teardown" and (running := self.running.get(item.nodeid)):
            setattr(report, COSTS, running.costs)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logstart(self) -> Generator[None, object, object]:
        """Clear the line while pytest prints the name of a file or test."""
        with self.board.cleared():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Clear the line while pytest prints a report, and count the case after its last one."""
        with self.board.cleared():
            result = yield
            if report.when == "call" and not self.board.live:
                self.board.written = time.monotonic()
        if report.nodeid in self.pace.cases and report.when not in ("setup", "call"):  # "???" if its worker crashed
            self.pace.finish(report.nodeid, *getattr(report, COSTS, (0.0, 0, 0)))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logfinish(self) -> Generator[None, object, object]:
        """Clear the line while pytest prints the percentage."""
        with self.board.cleared():
            return (yield)

    def pytest_enter_pdb(self) -> None:
        """Show nothing while a debugger has the terminal."""
        self.board.pause()

    def pytest_leave_pdb(self) -> None:
        """Show the progress again."""
        self.board.resume()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Stop after the gate and the records, before pytest prints its summary; delete the states of the workers."""
        self.phase, self.since = "compares and records" if self.pace.cases else "", time.monotonic()
        try:
            return (yield)
        finally:
            self.stopped.set()
            if self.thread:
                self.thread.join()
            self.board.close()
            if not self.worker and self.folder.is_dir():
                for path in self.folder.iterdir():
                    path.unlink(missing_ok=True)
                self.folder.rmdir()


def _prefetch_id(case: Case) -> str:
    """Return an id of a case that is answered before the tests, in the form of a node id."""
    return f"{case.test or case.protocol}[{case.id}]"


def _read_states(folder: Path) -> list[State]:
    """Return the states that workers wrote; unreadable files are skipped."""
    states: list[State] = []
    for path in sorted(folder.glob("*.json")):
        with suppress(OSError, ValueError):
            states += json.loads(path.read_text(encoding="utf-8"))
    return states
