"""`eyechart compare`, `baseline` and `plan`: the exit status of the gate, and one sentence for a wrong use."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.gate.baselines.baseline_files import read_baselines
from eyechart.gate.session.gate_status import ABSENT, INCONCLUSIVE, REGRESSION

FILES = Path(__file__).parents[1] / "interchange" / "files" / "inspect"


def test_a_baseline_of_the_first_run_fails_the_second(
    shape_runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = shape_runs
    kept = tmp_path / "baselines"
    assert main(["baseline", before, "--out", kept]) == 0
    assert capsys.readouterr().out.startswith(f"baseline written: {kept / 'shapes'}")
    assert [*read_baselines(kept)] == [("shapes/shapes/shapes", "inspect_ai")]
    assert main(["compare", kept, after, "--check"]) == REGRESSION
    assert "regression" in capsys.readouterr().out
    assert main(["compare", kept, after]) == 0
    assert main(["compare", kept, before, "--check"]) == 0


def test_the_status_of_a_comparison_is_that_of_the_gate(
    shape_runs: tuple[Path, Path], import_files: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = shape_runs
    assert main(["compare", after, before, "--check"]) == 0  # an improvement
    assert main(["compare", before, before, "--check", "--margin=0.001"]) == INCONCLUSIVE
    assert "is inconclusive.\n" in capsys.readouterr().err
    both = import_files("inspect", FILES / "before.eval", FILES / "epochs.json", "--model=shapes")
    assert main(["compare", both, before, "--check"]) == ABSENT


def test_the_status_tells_what_cannot_be_compared(
    shape_runs: tuple[Path, Path], import_files: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other samples, no case in common, and a metric that is gone."""
    before, _ = shape_runs
    short = import_files("inspect", FILES / "epochs.json", "--model=shapes", "--benchmark=shapes/shapes")
    assert main(["compare", before, short, "--check"]) == REGRESSION
    assert "cannot be compared" in capsys.readouterr().err
    assert main(["compare", before, short]) == 2
    renamed = import_files("inspect", FILES / "before.eval", "--model=other")
    assert main(["compare", before, renamed, "--check"]) == ABSENT
    said = capsys.readouterr().err
    assert "have no case in common" in said
    assert (
        "The models have different names: shapes and other. Compare two models with --models 'shapes' 'other'" in said
    )
    assert "prompts" not in said
    log = json.loads((FILES / "epochs.json").read_bytes())
    log["results"]["scores"].pop()
    (tmp_path / "fewer.json").write_text(json.dumps(log), encoding="utf-8")
    runs = [import_files("inspect", path, "--model=m") for path in (FILES / "epochs.json", tmp_path / "fewer.json")]
    assert main(["compare", *runs, "--check"]) == REGRESSION
    assert main(["compare", *reversed(runs), "--check"]) == 0


@pytest.mark.parametrize("indices", [["a"], ["a", "b", "c"], ["a", "b", "c", "--models", "x", "y"]])
def test_one_run_alone_and_three_are_a_wrong_use(indices: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *indices]) == 2
    assert "two runs, or one and --models SPEC SPEC" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run"], "plan takes two runs, BEFORE AFTER, or none. Got 1."),
        (["a", "b", "--discordance=0.1"], "Give one or the other."),
        (["--discordance=2"], "--discordance"),
        (["a", "b"], "There is no run or baseline at a."),
    ],
)
def test_what_cannot_be_planned_is_refused(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *arguments, "--margin=0.01"]) == 2
    assert sentence in capsys.readouterr().err
