"""Progress: a live line on a terminal, serial and under workers, taken away at the end; now and then one in a file."""

import os
import pty
import select
from collections.abc import Callable
from typing import Any

import pytest

OFTEN = "import eyechart.plugins.progress as progress\nprogress.QUIET_SECONDS = 0\n"
CLEAR = "\x1b[2K"


class Screen:
    """What comes out of a run on a terminal."""

    def __init__(self, world: Any, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        self.said = ""
        self.run = world.start(*world.usual, *arguments, stdout=slave, stderr=slave)
        os.close(slave)

    def read(self, until: Callable[[str], bool] = lambda _: False) -> str:
        """Read to the end, or until something is there."""
        while not until(self.said) and (more := self.more()):
            self.said += more
        return self.said

    def more(self) -> str:
        assert select.select([self.master], [], [], 60)[0], self.said
        try:
            return os.read(self.master, 65536).decode()
        except OSError:  # so Linux says that nobody holds the other end any more
            return ""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_terminal_shows_the_questions_while_they_are_asked(world: Any, workers: str) -> None:
    world.order("tiny", batch=3, do="hold")
    screen = Screen(world, "-n", workers)
    screen.read(until=lambda said: "imagenet/tiny/tiny[]:" in said and "/18" in said)
    (world.folder / "go").touch()
    said = screen.read()
    assert screen.run.wait(60) == 0, said
    assert said.rfind(CLEAR) > said.rfind("/18 ")
    assert "4 passed" in said[said.rfind(CLEAR) :]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_file_gets_no_line_in_a_short_run(world: Any, workers: str) -> None:
    said = world.passes("-n", workers).stdout.str()
    assert "images/s" not in said
    assert "\x1b" not in said


def test_a_file_gets_whole_lines_now_and_then(world: Any) -> None:
    result = world.passes(world.plugin(OFTEN))
    result.stdout.fnmatch_lines(["imagenet/tiny/tiny[[][]]:*0/18*", "imagenet/tiny/tiny[[][]]:*4/18*"])
    assert "\x1b" not in result.stdout.str()


def test_nothing_of_the_progress_stays_in_the_run(world: Any) -> None:
    world.passes("-n", "2")
    assert not (world.latest / ".progress").exists()
