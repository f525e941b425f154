"""Progress: a live line on a terminal, serial and under workers, taken away at the end; now and then one in a file."""

import fcntl
import io
import os
import pty
import re
import select
import shutil
import struct
import termios
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eyechart.evaluation.settings import Case
from eyechart.models.runtime.phases import phase
from eyechart.models.spec import ModelSpec
from eyechart.plugins.case_ids import case_pattern
from eyechart.plugins.pace import State
from eyechart.plugins.progress import Progress, _Board, _format_line, _Running

PATCH = "import eyechart.plugins.progress as progress\nprogress.SHORTEST_SILENCE = "
OFTEN, SOON, NEVER = f"{PATCH}0\n", f"{PATCH}1\n", f"{PATCH}900\nprogress.LONGEST_SILENCE = 900\n"
SLOW = """
import time

def pytest_generate_tests():
    if not hasattr(pytest_generate_tests, "slept"):
        pytest_generate_tests.slept = time.sleep(2)

def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        time.sleep(2)
"""
COLUMNS = 60
CLEAR = "\x1b[2K"


class Screen:
    """What comes out of a run on a terminal."""

    def __init__(self, world: Any, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        self.world, self.said = world, ""
        self.run = world.start(*world.usual, *arguments, python=world.fast, stdout=slave, stderr=slave)
        os.close(slave)

    def read(self, until: Callable[[str], bool] = lambda _: False) -> str:
        """Read to the end, or until something is there."""
        while not until(self.said) and (more := self.more()):
            self.said += more
        return self.said

    def more(self) -> str:
        assert select.select([self.master], [], [], self.world.patience)[0], self.said
        try:
            return os.read(self.master, 65536).decode()
        except OSError:  # so Linux says that nobody holds the other end any more
            return ""


@pytest.fixture
def screen(world: Any) -> Iterator[Callable[..., Screen]]:
    """Start runs on a terminal; none outlives the test."""
    started = []

    def start(*arguments: str) -> Screen:
        started.append(Screen(world, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.run.kill()
        one.run.wait()
        os.close(one.master)


@pytest.mark.deep
def test_a_terminal_shows_the_questions_while_they_are_asked(world: Any, screen: Callable[..., Screen]) -> None:
    world.order("tiny", batch=3, do="hold")
    shown = screen("-n2")
    shown.read(until=lambda said: "/tiny[]:" in said and "/18 " in said)
    (world.folder / "go").touch()
    said = shown.read()
    assert shown.run.wait(world.patience) == 0, said
    assert said.rfind(CLEAR) > said.rfind("/18 ")
    assert "4 passed" in said[said.rfind(CLEAR) :]
    lines = [line.replace(CLEAR, "") for line in re.findall("\x1b7\x1b\\[B\r(.*?)\x1b8", said)]
    assert max(map(len, lines)) < COLUMNS
    assert any(re.match(r"\d/4 cases.* \| ", line) for line in lines)  # another worker may have finished its cases


@pytest.mark.deep
def test_a_file_gets_no_line_before_a_silence(world: Any) -> None:
    said = world.passes(world.plugin(NEVER)).stdout.str()
    assert "images" not in said
    assert "\x1b" not in said
    assert not (world.latest / ".progress").exists()


@pytest.mark.deep
def test_a_file_gets_whole_lines_now_and_then(world: Any) -> None:
    result = world.passes(world.plugin(OFTEN))
    result.stdout.fnmatch_lines(
        [
            "0/4 cases | *imagenet/tiny/tiny[[][]]: 0/18 images*",
            "0/4 cases | *imagenet/tiny/tiny[[][]]: 4/18 images*",
            "1/4 cases, *:* left | *imagenet/tiny*",
        ]
    )
    assert "\x1b" not in result.stdout.str()


@pytest.mark.deep
def test_stored_answers_are_counted_and_set_no_pace(world: Any, serial: Any) -> None:
    shutil.copytree(serial.folder / ".eyechart" / "store", world.folder / ".eyechart" / "store")
    world.models = (*world.models, "tiny[weights=1]")
    said = world.passes(world.plugin(OFTEN)).stdout.str()
    heads = [line.partition(" | ")[0] for line in said.splitlines() if " cases" in line]
    stored = [head for head in heads if head.startswith(("0/6", "1/6", "2/6", "3/6", "4/6"))]
    assert "4/6 cases" in stored
    assert not [head for head in stored if "left" in head]
    assert [head for head in heads if head.startswith("5/6 cases, ")]


@pytest.mark.deep
def test_a_file_is_not_silent_while_tests_are_collected_models_compute_and_results_are_written(world: Any) -> None:
    world.order("tiny", batch=3, do="hold")
    with world.start(*world.usual, "-n2", world.plugin(SOON + SLOW), python=world.fast) as run:
        lines, said = [], ""
        while len(lines) < 3 and (line := run.stdout.readline()):
            said += line
            lines = re.findall(r"8/18 images \[(\d\d:\d\d)", said)
        (world.folder / "go").touch()
        rest, complaints = world.ended(run)
    assert run.returncode == 0, said + rest + complaints
    assert lines == sorted(set(lines)), said
    assert re.search(r"collects the tests \[\d\d:\d\d\]", said)
    assert re.search(r"4/4 cases, compares and records \[\d\d:\d\d\]", rest)


@pytest.mark.deep
def test_other_tests_have_no_progress_where_an_ini_file_has_an_option(world: Any) -> None:
    (world.folder / "pytest.ini").write_text("[pytest]\neye_out = runs\n")
    (world.folder / "test_plain.py").write_text("def test_plain():\n    pass\n")
    said = world.call("test_plain.py", world.plugin(OFTEN + SLOW)).stdout.str()
    assert "1 passed" in said
    assert "collects the tests" not in said


@pytest.mark.deep
def test_progress_can_be_left_out(world: Any) -> None:
    said = world.passes("-p", "no:eyechart-progress", world.plugin(OFTEN)).stdout.str()
    assert " cases" not in said


def test_silences_in_a_file_grow_with_the_age_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    board, now = _Board(), [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    board.file, board.opened, board.written = io.StringIO(), 0.0, 0.0
    written = []
    while now[0] < 36_000:
        now[0] += 0.5
        if board.is_due:
            board.show(f"{now[0]}")
            written.append(now[0])
    silences = [after - before for before, after in pairwise([0.0, *written])]
    assert max(silence for silence, at in zip(silences, written, strict=True) if at < 240) < 5
    assert sum(at < 3600 for at in written) < 250
    assert silences[-1] == 300


def state(**values: Any) -> State:
    """A case with 18 images, of which it has asked 4."""
    usual = {
        "case": "zero_shot a/b/c[]",
        "phase": "",
        "seconds": 3.0,
        "done": 4,
        "total": 18,
        "fresh": 4,
        "asking": 2.0,
    }
    return State(**usual | {"unit": "images", "cost": ""} | values)


def test_a_long_name_leaves_room_for_the_counts() -> None:
    long = state(case=f"imagenet/val/{'long' * 40}[]", done=12_345, total=50_000, fresh=500, unit="requests")
    said = _format_line("3/84 cases, 1:02:03 left", [long], 119)
    assert "12345/50000 requests" in said
    assert "250.00 requests/s" in said
    assert len(said) <= 119
    narrow = _format_line("3/84 cases, 1:02:03 left", [long], 79)
    assert narrow.endswith("long[]: 12345/50000 requests [00:03]")
    assert narrow.startswith("3/84 cases, 1:02:03 left | …")
    assert len(narrow) <= 79


def test_cases_that_count_unlike_things_have_answers_in_common() -> None:
    said = _format_line("0/9 cases", [state(), state(unit="requests", done=2, fresh=2)])
    assert said.startswith("0/9 cases | 2 cases: 6/36 answers")
    assert "3.00 answers/s" in said


def test_what_the_answers_of_a_server_cost_ends_the_line() -> None:
    said = _format_line("0/9 cases", [state(cost="0.1200 of about 4.1000 USD, 480,000 tokens")], 119)
    assert said.endswith("images/s], 0.1200 of about 4.1000 USD, 480,000 tokens")


def test_a_phase_is_shown_unless_another_case_is_asking() -> None:
    loading = state(phase="loads the model", done=0, fresh=0)
    assert _format_line("0/9 cases", [loading]).endswith(": loads the model [00:03]")
    assert "4/18 images" in _format_line("0/9 cases", [loading, state()])


def test_other_questions_are_counted_anew() -> None:
    running = _Running("a case")
    fresh = []
    for done, total in ((500, 2700), (2700, 2700), (0, 59), (16, 59), (59, 59), (59, 70), (70, 70)):
        running.count(done, total, "requests")
        fresh.append(running.state["fresh"])
    assert fresh == [0, 2200, 0, 16, 59, 0, 11]
    assert running.counts == (2700 + 59 + 70, 2200 + 59 + 11)


def test_the_innermost_phase_of_the_thread_says_what_a_case_does() -> None:
    running = _Running("a case")
    with phase("make model"), phase("load"):
        assert running.state["phase"] == "loads the model"
        with ThreadPoolExecutor() as threads:
            assert threads.submit(lambda: _Running("another").state["phase"]).result() == ""
    assert running.state["phase"] == ""


def test_cases_that_are_answered_before_the_tests_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyechart.plugins.progress.find_case", lambda _, nodeid: case_pattern(()).search(nodeid))
    progress = Progress(SimpleNamespace(), SimpleNamespace(folder=tmp_path))
    cases = [Case("toybox", split, ModelSpec("conse"), "zero_shot") for split in ("sample", "sample-cutouts")]
    with progress.before_tests(cases) as track:
        with track(cases[0]) as count:
            count(0, 123, "images")
            count(64, 123, "images")
            assert progress.line().startswith("0/2 cases answered | zero_shot toybox/sample/conse[]: 64/123 images")
        assert re.fullmatch(r"1/2 cases answered, 00:00 left", progress.pace.describe([]))
    assert not progress.pace.cases
