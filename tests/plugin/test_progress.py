"""Progress: a live line on a terminal, serial and under workers, taken away at the end; now and then one in a file."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eyechart.plugins.progress import Progress, format_line

pytestmark = pytest.mark.deep

OFTEN = "import eyechart.plugins.progress as progress\nprogress.QUIET_SECONDS = 0\n"
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


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_terminal_shows_the_questions_while_they_are_asked(
    world: Any, screen: Callable[..., Screen], workers: str
) -> None:
    world.order("tiny", batch=3, do="hold")
    shown = screen("-n", workers)
    shown.read(until=lambda said: "/tiny[]:" in said and "/18 " in said)
    (world.folder / "go").touch()
    said = shown.read()
    assert shown.run.wait(world.patience) == 0, said
    assert said.rfind(CLEAR) > said.rfind("/18 ")
    assert "4 passed" in said[said.rfind(CLEAR) :]
    lines = re.findall("\x1b7\x1b\\[B\r(.*?)\x1b8", said)
    assert max(map(len, lines)) < COLUMNS


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_file_gets_no_line_in_a_short_run(world: Any, workers: str) -> None:
    said = world.passes("-n", workers).stdout.str()
    assert "images/s" not in said
    assert "\x1b" not in said


def test_a_file_gets_whole_lines_now_and_then(world: Any) -> None:
    result = world.passes(world.plugin(OFTEN))
    result.stdout.fnmatch_lines(["imagenet/tiny/tiny[[][]]:*0/18*", "imagenet/tiny/tiny[[][]]:*4/18*"])
    assert "\x1b" not in result.stdout.str()


def test_a_long_name_leaves_room_for_the_counts() -> None:
    state = {
        "case": f"imagenet/val/{'long' * 40}[]",
        "done": 12_345,
        "total": 50_000,
        "fresh": 500,
        "seconds": 2.5,
        "unit": "questions",
    }
    said = format_line([state], 79)
    assert "12345/50000" in said
    assert "200.00 questions/s" in said
    assert said.startswith("…")
    assert len(said) <= 79


def test_cases_that_count_unlike_things_have_answers_in_common() -> None:
    state = {"case": "a", "done": 1, "total": 2, "fresh": 1, "seconds": 1.0}
    said = format_line([state | {"unit": "images"}, state | {"unit": "questions"}])
    assert said.startswith("2 cases")
    assert "2.00 answers/s" in said


def test_other_questions_are_counted_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress, states = Progress(SimpleNamespace(), SimpleNamespace(folder=tmp_path)), []
    monkeypatch.setattr(progress.board, "show", lambda shown, **_: states.extend(shown))
    tell = progress.make_progress("realbirdid/val/hf[x]")
    for done, total in ((500, 2700), (2700, 2700), (0, 59), (16, 59), (59, 59)):
        tell(done, total, "questions")
    assert [state["fresh"] for state in states] == [0, 2200, 0, 16, 59]
    assert {state["unit"] for state in states} == {"questions"}
    assert states[2]["seconds"] == 0


def test_nothing_of_the_progress_stays_in_the_run(world: Any) -> None:
    world.passes("-n", "2")
    assert not (world.latest / ".progress").exists()
