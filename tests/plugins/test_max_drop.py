"""`--eye-max-drop`: a value that cannot be meant is refused, and every loss that it tolerates is reported."""

from collections.abc import Callable
from typing import Any

import pytest

from eyechart.cli import main

CLASSES = {"n01440764": 0, "n01443537": 1, "n02123045": 281}
HINT = "Values are fractions: 1 % is 0.01"
USAGE = 4
REPORTED = "tolerated loss: acc1 (ImGT) -38.89 points, a loss of 40.0 points is tolerated"


@pytest.fixture
def run_replay(world: Any) -> Callable[..., str]:
    """Run a file of answers that has the first `wrong` pictures wrong; returns what was printed."""
    world.models = ("replay[path=a.csv]",)

    def run_replay(wrong: int, *arguments: str) -> str:
        pictures = sorted((world.data / "imagenet" / "tiny").rglob("*.[jp][pn]g"), key=lambda path: path.name)
        answers = [7 if index < wrong else CLASSES[path.parent.name] for index, path in enumerate(pictures)]
        rows = [f"tiny,{path.name},{answer}" for path, answer in zip(pictures, answers, strict=True)]
        (world.folder / "a.csv").write_text("\n".join(["split,key,answer", *rows, ""]))
        return str(world.passes("-k", "imagenet/tiny/", "--eye-baseline=kept", *arguments).stdout.str())

    return run_replay


@pytest.mark.parametrize("given", ["1", "0.5"])
def test_a_max_drop_from_one_half_on_is_refused_by_pytest(pytester: pytest.Pytester, given: str) -> None:
    result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", f"--eye-max-drop={given}")
    said = "\n".join([*result.outlines, *result.errlines])
    assert result.ret == USAGE, said
    assert f"--eye-max-drop must be from 0 up and below 0.5. Got '{given}' instead. {HINT}." in said


@pytest.mark.parametrize("command", ["compare", "page"])
@pytest.mark.parametrize("given", ["1", "0.5", "nan", "-0.1", "half"])
def test_a_max_drop_from_one_half_on_is_refused_by_reports(
    capsys: pytest.CaptureFixture[str], command: str, given: str
) -> None:
    assert main([command, "a", "b", f"--max-drop={given}"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"Invalid value for '--max-drop': must be from 0 up and below 0.5. Got '{given}' instead. {HINT}." in said


def test_a_tolerated_loss_is_reported_in_the_terminal_and_in_the_summary_file(
    world: Any, run_replay: Callable[..., str]
) -> None:
    run_replay(0, "--eye-update-baseline")
    said = run_replay(7, "--eye-max-drop=0.4", "--eye-alpha=0.2", "--eye-summary=summary.md")
    for text in (said, (world.folder / "summary.md").read_text(encoding="utf-8")):
        assert REPORTED in text
        assert "0 significantly worse, " in text
        assert ", 2 losses tolerated" in text


def test_without_a_tolerated_loss_none_is_reported(run_replay: Callable[..., str]) -> None:
    run_replay(0, "--eye-update-baseline")
    said = run_replay(0, "--eye-max-drop=0.4", "--eye-alpha=0.2")
    assert "0 significantly worse" in said
    assert "tolerated loss:" not in said
    assert " tolerated" not in said
