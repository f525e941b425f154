"""Answers from several processes of a model on this machine: the store is that of a run in one process."""

import signal
import subprocess
from typing import Any

import pytest

from tests.inference.engines.odd_models import MODELS

pytestmark = pytest.mark.deep

PICTURES = 24  # of both small splits


@pytest.fixture
def divided(world: Any) -> Any:
    """A folder to run in, and the options for two processes of each model on this machine."""
    world.options = ["--eye-devices=2"]
    return world


def test_a_process_that_dies_is_started_again_and_no_answer_is_lost(divided: Any, serial: Any) -> None:
    """A process is killed in its second batch; at most the two work units that it had are asked twice."""
    divided.order("tinyclass", 2, "die")
    divided.passes(*divided.options)
    assert divided.store == serial.store
    assert {record["loads"] for record in divided.session["records"]} <= {0, 1, 2, 3}
    batch = 4
    assert PICTURES * 2 < divided.asked + batch <= PICTURES * 2 + 3 * batch


def test_a_run_that_is_interrupted_ends_its_processes_and_goes_on_later(divided: Any, serial: Any) -> None:
    """Ctrl-C arrives while a process works; the next run, of one process, asks for what is missing."""
    divided.order("tinyclass", 3, "hold")
    arguments = (*divided.usual, *divided.options)
    with divided.start(*arguments, python=divided.fast) as process:
        divided.until(lambda: (divided.folder / "held").exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        said, _ = divided.ended(process)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, said
    divided.passes()
    assert divided.store == serial.store
    assert divided.asked < 3 * PICTURES


ROWS_OF_TEXTS = """
from pathlib import Path
from eyechart.inference.requests.row_requests import ClassWeights, Encode, ScoreChoices
from eyechart.inference.runner.runner import Runner
from eyechart.evaluation.settings import Settings
from eyechart.evaluation.session import Session
from eyechart.models.spec import parse_spec

texts = tuple(f"text {number}" for number in range(30))
asked = {
    "mine:Talker[]": [ScoreChoices(texts, (0,), ("yes", "no", "perhaps"))],
    "tinyeyes:Tiny[]": [Encode(texts), ClassWeights(texts[:3], ("a {c}", "the {c}"))],
}
for name, options in {"one": {}, "several": {"devices": 2}}.items():
    with Session(Settings(store=Path(name), **options)) as session:
        runner = Runner(session.store, None, 0, lambda *_: None, session.get_engine)
        for model, requests in asked.items():
            for request in requests:
                runner.run(request, session.models[parse_spec(model)])
"""


def test_rows_of_texts_are_stored_as_by_one_process(world: Any) -> None:
    """Scores of texts, features of texts and class weights."""
    (world.folder / "mine.py").write_text(MODELS)
    command = [*world.fast, "-c", ROWS_OF_TEXTS]
    subprocess.run(command, cwd=world.folder, env=world.surroundings, check=True, timeout=300)
    one, several = (
        {
            path.relative_to(root): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file() and path.name != "lock"
        }
        for root in (world.folder / "one", world.folder / "several")
    )
    assert one == several
    assert sum(path.name == "done.json" for path in one) == 2  # rows of scored texts are never complete
