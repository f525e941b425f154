"""A tracker that fails: a sentence, the other trackers, and the run as it was."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from eyechart.tracking.log_runs import describe_error, track_run
from eyechart.tracking.targets import Target, parse_targets
from eyechart.tracking.tracker import TrackerRun, Value

pytestmark = pytest.mark.deep  # they need the clients

ENDED: list[str] = []


class Faulty:
    """A tracker that fails at its second run, as a client does whose server is gone."""

    started = 0

    def check(self) -> None:
        """Nothing is refused."""

    def start(self, run: TrackerRun, *, offline: bool) -> None:
        """Count the runs."""
        Faulty.started += 1
        self.name = run.name

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Fail at the second run."""
        print("noise of a client")
        if Faulty.started == 2:
            raise ConnectionError("POST https://me:secret@host/api failed\nTraceback …")

    def log_table(self, name: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Do nothing."""

    def log_files(self, paths: Sequence[Path]) -> None:
        """Do nothing."""

    def end(self) -> str:
        """Store that the run was ended."""
        ENDED.append(self.name)
        return "there"


class Quitting(Faulty):
    """A tracker that ends the process."""

    def start(self, run: TrackerRun, *, offline: bool) -> None:
        """Exit."""
        raise SystemExit("no key")


@pytest.fixture(autouse=True)
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a faulty tracker instead of wandb, and one that ends the process in that of mlflow."""
    monkeypatch.setattr(Target, "make_tracker", lambda self: Quitting() if self.name == "mlflow" else Faulty())
    Faulty.started = 0
    ENDED.clear()


def test_an_error_is_a_sentence_and_each_started_run_is_ended(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (run_folder / "records.json").read_bytes()
    first, second = track_run(run_folder, parse_targets(["wandb:pets,mlflow"]))
    assert first.failed
    assert first.text == (
        "wandb:pets has 1 of 3 models: ConnectionError: POST https://…@host/api failed. The run is kept; log it again "
        f"with: eyechart track {run_folder} --to=wandb:pets"
    )
    assert len(ENDED) == 2
    assert second.failed
    assert second.text.startswith("mlflow has 0 of 3 models: SystemExit: no key. ")
    assert (run_folder / "records.json").read_bytes() == before
    assert "noise" not in capsys.readouterr().out


def test_a_long_error_is_cut() -> None:
    assert len(describe_error(ValueError("x" * 1000))) < 330
    assert describe_error(ValueError()) == "ValueError: no message."
