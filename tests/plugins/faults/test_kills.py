"""Runs that are killed at any point: what was written is never asked again, and the end is as if nothing had been.

An answer that is on its way when the run dies cannot be known to the next one. There are at most as many of those as
requests may be under way at once (`concurrency`), and no more than these are ever paid twice.
"""

import signal
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

pytestmark = pytest.mark.deep

PICTURES = 18
CONCURRENCY = 3
KILLED = -signal.SIGKILL

# Dies at the moment that the environment names: a stage, and a number or a file.
DIES = """
import os
import signal
from pathlib import Path

from eyechart.inference.store import entries

STAGE, AT = os.environ["DIES"].split(":")
reached = []

def come_to(stage, which=None):
    reached.append(stage)
    if stage == STAGE and AT == (which or str(reached.count(stage))):
        os.kill(os.getpid(), signal.SIGKILL)

def append(self, header, payload, old=entries.Writer.append):
    come_to("appending")
    file = self.open_part()
    if STAGE == "writing" and AT == str(reached.count("appending")):
        old(self, header, payload)
        os.truncate(file.name, os.path.getsize(file.name) - len(payload) // 2)
        come_to("writing", AT)
    old(self, header, payload)

def replace(self, ordered, old=entries.Writer.replace):
    if STAGE == "drafting":
        (self.folder / f"{AT}.{os.getpid()}").write_bytes(b"EYE1 half")
    come_to("drafting", entries.FIRST)
    old(self, ordered)

def unlink(path, old=Path.unlink, **how):
    come_to("dropping", path.name)
    old(path, **how)

entries.Writer.append, entries.Writer.replace, Path.unlink = append, replace, unlink
"""
MOMENTS = (("sent", "3"), ("writing", "2"), ("drafting", "00000.part"), ("dropping", "00001.part"))
EARLY = ("sent", "writing")  # stages at which answers are on their way


@pytest.fixture(scope="module")
def clean(new_exam: Callable[..., Any]) -> Any:
    """After a run that nobody killed."""
    return prepared(new_exam())


@pytest.fixture
def unlucky(exam: Any) -> Any:
    """Before any run."""
    return prepared(exam, run=False)


def prepared(exam: Any, *, run: bool = True) -> Any:
    """Have every answer name its question."""
    letter = exam.server.answer
    exam.server.answer = lambda asked: f"{letter(asked)}. {asked.content}"
    exam.options = {"concurrency": CONCURRENCY}
    if run:
        exam.passes()
    return exam


def kill(exam: Any, stage: str, at: str, delay: float) -> None:
    """Run up to a moment, and no further."""
    exam.world.environment["DIES"] = f"{stage}:{at}"
    exam.seen, before = len(exam.server.asked), len(exam.server.paid)
    arguments = [*exam.arguments, exam.world.plugin(DIES)]
    with exam.world.start(*arguments, python=exam.world.fast) as process:

        def moment(number: int, when: str) -> None:
            if when == stage and number == before + 1 + int(at):  # the first says hello
                exam.server.always = exam.server.reply(after=exam.world.patience)
                time.sleep(delay)
                process.kill()

        exam.server.moment = moment if stage == "sent" else lambda *_: None
        said, _ = exam.world.ended(process)
        assert process.returncode == KILLED, said
    exam.server.always, exam.server.moment = None, lambda *_: None


def kept(exam: Any) -> set[str]:
    """The questions whose answers are written down."""
    return {text[-64:] for text in exam.parts}


def test_killed_runs_end_as_one_that_nobody_killed(unlucky: Any, clean: Any) -> None:
    written: set[str] = set()
    for number, (stage, at) in enumerate(MOMENTS):
        kill(unlucky, stage, at, delay=Random(number).uniform(0, 0.02))
        assert not written & {*unlucky.fresh}, "what was written is asked again"
        assert written <= kept(unlucky), "what was written is lost"
        written = kept(unlucky)
    unlucky.passes()
    assert {*unlucky.fresh} == {*clean.asked} - written
    assert sum(unlucky.paid.values()) - PICTURES <= CONCURRENCY * len(EARLY)
    assert endings(unlucky) == endings(clean)


def endings(exam: Any) -> tuple[object, ...]:
    """What a run leaves: the kept files, the record's numbers, every picture's answer."""
    files = {name.rpartition("/")[2]: content for name, content in exam.world.store.items()}
    del files["key.json"]  # which has the server's port
    numbers = [exam.record[name] for name in ("outcomes", "metrics", "usage")]
    return files, numbers, exam.rows()
