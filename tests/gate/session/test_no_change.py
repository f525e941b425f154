"""Nothing changed, four times in a row: the gate passes however the cases are dealt to workers and answered.

Every session is a pytest of its own with its own workers, all of them forked from an interpreter (`warm.py`), since to
import a model's library again in each would take nine tenths of the time. A session puts its cases in another order,
deals them to another number of workers in another way, and finds another part of the answers in the store; before the
last one a run was killed while it answered.

The sessions have every pair of a number of workers, a way to deal and a share of answers that are forgotten, so that
what depends on one or two of these is found for certain. Files and sentences are compared byte for byte, so that there
is no false alarm.
"""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any

import pytest

pytestmark = pytest.mark.deep

SESSIONS, LIMIT = 4, 8
MODELS = ("open_clip[toybox-clip]", "tiny[]", "tinyclass[]", "replay[path=a.csv]", "replay[path=b.csv]")
CASES = """imagenet/tiny and not open_clip or cutouts/open_clip and zero_shot or coco/open_clip and detection
           or drawn/open_clip and flat_list"""
KILLED = "imagenet/tiny/tiny["
WORKERS, FORGOTTEN, WAYS = (1, 3), (0, 0.5), ("load", "worksteal")
SHUFFLE = """
import os
import random

import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    random.Random(os.environ["DEAL"]).shuffle(items)
"""


@dataclass(frozen=True)
class Session:
    """What is left of one: how it ended, what the gate said, who did what, in which order, and every file's hash."""

    status: int
    said: tuple[str, ...]
    arrived: tuple[str, ...]
    workers: frozenset[tuple[str, str]]
    asked: int
    files: dict[str, str]
    records: str


@dataclass
class Again:
    """A folder in which nothing changes."""

    world: Any

    def __post_init__(self) -> None:
        self.world.models = MODELS

    def known(self) -> None:
        """Write down answers that are right at random."""
        pictures = sorted((self.world.data / "imagenet").rglob("*.[jp][pn]g"))
        for seed, name in enumerate("ab"):
            chance = Random(seed)
            rows = [f"{path.parent.parent.name},{path.name},{chance.choice((0, 1, 281))}" for path in pictures]
            (self.world.folder / f"{name}.csv").write_text("\n".join(["split,key,answer", *rows, ""]))

    def begin(self) -> None:
        """Write the baseline."""
        self.known()
        done = self.run("--eye-update-baseline")
        assert done.ret == 0, done.stdout.str() + done.stderr.str()

    def run(self, *arguments: str, cases: str = CASES) -> Any:
        """Run the cases as a user does."""
        models = [f"--eye-model={model}" for model in self.world.models]
        usual = ["--pyargs", "eyechart.benchmarks", "-k", " ".join(cases.split()), f"--eye-data={self.world.data}"]
        more = [f"--eye-limit={LIMIT}", "--eye-templates=1", "--eye-offline", "-p", "no:cacheprovider"]
        return self.world.call(*usual, *models, *more, "--eye-baseline=kept", *arguments)

    def session(self, number: int) -> Session:
        """Deal the cases out anew, run them, and clear away."""
        chance = Random(number)
        self.world.models = chance.sample(MODELS, len(MODELS))
        self.world.environment["DEAL"] = str(number)
        rounds, index = divmod(number, 2)
        way, workers = WAYS[rounds], f"{WORKERS[index]}*popen"
        self.forget(chance, FORGOTTEN[index ^ rounds])  # so that every pair of the three comes up
        if number == SESSIONS - 1:
            self.kill()
        before = self.world.asked
        done = self.run(self.world.plugin(SHUFFLE), "-v", "--dist", way, "--tx", workers)
        found = self.seen(done, self.world.asked - before)
        shutil.rmtree(self.world.latest.resolve())
        return found

    def forget(self, chance: Random, share: float) -> None:
        """Take a share of the answers out of the store."""
        for done in sorted((self.world.folder / ".eyechart" / "store").rglob("done.json")):
            if chance.random() < share:
                shutil.rmtree(done.parent)

    def kill(self) -> None:
        """Begin to answer and die of it, so that a part of the answers is found by whoever comes next."""
        shutil.rmtree(self.world.folder / ".eyechart" / "store")
        self.world.order("tiny", batch=2, do="die")
        assert self.run(self.world.plugin(SHUFFLE), cases=KILLED).ret

    def seen(self, done: Any, asked: int) -> Session:
        """Look at what a session left."""
        said, folder = done.stdout.str(), self.world.latest
        assert done.ret == 0, said + done.stderr.str()
        lines = (folder / "records.jsonl").read_text().splitlines()
        files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("records.json")]
        return Session(
            status=done.ret,
            said=tuple(line for line in said.splitlines() if line.startswith("eyechart: ")),
            arrived=tuple(json.loads(line)["case"] for line in lines),
            workers=frozenset(re.findall(r"^\[(gw\d)\] .*? PASSED \S+::(\S+)", said, re.MULTILINE)),
            asked=asked,
            files={str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files},
            records=json.dumps(self.world.records, sort_keys=True),
        )


@pytest.fixture(scope="module")
def sessions(new_world: Callable[[], Any]) -> list[Session]:
    """A baseline, and then the sessions, one after the other."""
    again, found = Again(new_world()), list[Session]()
    again.begin()
    found += map(again.session, range(SESSIONS))
    return found


def test_every_session_passes(sessions: list[Session]) -> None:
    assert [session.status for session in sessions] == [0] * SESSIONS
    last = [session.said[-1] for session in sessions]
    assert all(re.fullmatch(r"eyechart: gate: [1-9]\d+ numbers compared, 0 significantly worse", said) for said in last)
    verdicts = {session.said[-2] for session in sessions}
    same = "the same weights, or the same code, options and files, gave the same answers"
    assert verdicts == {f"eyechart: gate: no regression: {same}"}


def test_they_say_the_same_word_for_word(sessions: list[Session]) -> None:
    assert len({session.said for session in sessions}) == 1


def test_every_file_is_the_same_byte_for_byte(sessions: list[Session]) -> None:
    first = sessions[0].files
    evidence = [name for name in first if name.startswith("evidence/") and name.count("/") == 1]
    assert len(evidence) == len(sessions[0].arrived) > 8
    assert not {name for session in sessions for name, _ in session.files.items() ^ first.items()}
    assert len({session.records for session in sessions}) == 1


def test_hardly_two_are_dealt_alike(sessions: list[Session]) -> None:
    assert len({session.arrived for session in sessions}) > 0.9 * SESSIONS
    assert len({session.workers for session in sessions}) > 0.5 * SESSIONS
    assert {len({who for who, _ in session.workers}) for session in sessions} == {*WORKERS}


def test_some_answer_anew_and_some_find_a_part_or_all(sessions: list[Session]) -> None:
    fewest, *some, most = sorted({session.asked for session in sessions})
    assert fewest == 0
    assert some, f"every session asked about none or about {most} pictures"
