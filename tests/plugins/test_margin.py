"""`--eye-margin`: a loss that must be excluded; an inconclusive case fails under `--eye-strict`, with status 13."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from record_schema import VERDICTS_FILE

from eyechart.cli import main

pytestmark = pytest.mark.deep

CLASSES = {"n01440764": 0, "n01443537": 1, "n02123045": 281}
REGRESSION, INCONCLUSIVE, USAGE = 10, 13, 4


@pytest.fixture
def run_replay(world: Any) -> Callable[..., Any]:
    """Run a file of answers that has the first `wrong` pictures wrong; returns pytest's result."""
    world.models = ("a=replay[path=a.csv]",)

    def run_replay(wrong: int, *arguments: str) -> Any:
        pictures = sorted((world.data / "imagenet" / "tiny").rglob("*.[jp][pn]g"), key=lambda path: path.name)
        answers = [7 if index < wrong else CLASSES[path.parent.name] for index, path in enumerate(pictures)]
        rows = [f"tiny,{path.name},{answer}" for path, answer in zip(pictures, answers, strict=True)]
        (world.folder / "a.csv").write_text("\n".join(["split,key,answer", *rows, ""]))
        return world.run("-k", "imagenet/tiny/", "--eye-baseline=kept", *arguments)

    return run_replay


def test_an_inconclusive_case_fails_under_strict_and_says_what_would_decide(
    world: Any, run_replay: Callable[..., Any]
) -> None:
    assert run_replay(0, "--eye-update-baseline").ret == 0
    result = run_replay(1, "--eye-margin=0.01", "--eye-strict", "--eye-summary=summary.md", "--eye-verdicts=v.json")
    said = result.stdout.str()
    assert result.ret == INCONCLUSIVE, said
    assert "acc1 (ImGT) is inconclusive." in said
    assert "cannot be excluded, and the margin is 1 point" in said
    assert "more images would exclude 1 point" in said
    summary = (world.folder / "summary.md").read_text(encoding="utf-8")
    verdicts = read_verdicts(world)
    assert (verdicts["verdict"], verdicts["exit_status"], verdicts["margin"]) == ("inconclusive", INCONCLUSIVE, 0.01)
    assert f"eyechart: gate: {verdicts['sentence']}" in said
    assert {group["verdict"] for group in verdicts["models"] + verdicts["benchmarks"]} == {"inconclusive"}
    first = verdicts["metrics"][0]
    assert (first["metric"], first["primary"], first["lost"], first["gained"]) == ("acc1", True, 1, 0)
    assert first["loss_limit"] > 0.01
    assert first["more_samples"] > 500
    assert "Exit status 13: inconclusive cases under --eye-strict and --eye-margin" in summary


def read_verdicts(world: Any) -> Any:
    """What `--eye-verdicts` wrote, which its schema describes."""
    verdicts = json.loads((world.folder / "v.json").read_bytes())
    Draft202012Validator(json.loads(VERDICTS_FILE.read_bytes())).validate(verdicts)
    return verdicts


def test_a_case_without_a_baseline_is_in_the_file(world: Any, run_replay: Callable[..., Any]) -> None:
    run_replay(0, "--eye-update-baseline", "--eye-verdicts=v.json")
    assert read_verdicts(world)["verdict"] == "not tested"
    world.models = ("b=replay[path=a.csv]",)
    result = run_replay(1, "--eye-strict", "--eye-verdicts=v.json")
    verdicts = read_verdicts(world)
    assert (verdicts["exit_status"], verdicts["metrics"]) == (result.ret, [])
    assert verdicts["not_compared"] == ["imagenet/tiny/b (replay)"]


def test_a_folder_that_does_not_exist_is_refused(run_replay: Callable[..., Any]) -> None:
    result = run_replay(0, "--eye-verdicts=no/v.json")
    assert result.ret == USAGE
    assert "--eye-verdicts: there is no folder" in result.stderr.str()


def test_without_strict_it_is_only_said(run_replay: Callable[..., Any]) -> None:
    run_replay(0, "--eye-update-baseline")
    result = run_replay(1, "--eye-margin=0.01")
    assert result.ret == 0
    assert "gate: inconclusive in 1 case: a loss of" in result.stdout.str()


def test_a_regression_is_told_before_what_is_open(run_replay: Callable[..., Any]) -> None:
    run_replay(0, "--eye-update-baseline")
    assert run_replay(12, "--eye-margin=0.01", "--eye-strict").ret == REGRESSION


def test_the_same_weights_and_answers_are_no_regression(run_replay: Callable[..., Any]) -> None:
    run_replay(0, "--eye-update-baseline")
    result = run_replay(0, "--eye-margin=0.01", "--eye-strict")
    assert result.ret == 0
    assert "gate: no regression: the same code, options and files gave the same answers" in result.stdout.str()


@pytest.mark.parametrize(("given", "sentence"), [("0", "must be above 0. Got '0' instead"), ("1", "below 0.5. Got")])
def test_a_margin_that_is_none_is_refused(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str], given: str, sentence: str
) -> None:
    result = pytester.runpytest_inprocess(
        "--pyargs", "eyechart.benchmarks", "--eye-baseline=kept", f"--eye-margin={given}"
    )
    assert result.ret == USAGE
    assert sentence in "\n".join([*result.outlines, *result.errlines])
    capsys.readouterr()
    assert main(["compare", "a", "b", f"--margin={given}"]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_margin_without_a_comparison_is_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", "--eye-margin=0.01")
    assert result.ret == USAGE
    assert "--eye-margin is about a comparison" in "\n".join([*result.outlines, *result.errlines])
