"""`--eye-margin`: a loss that must be excluded; an inconclusive case fails with status 13."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from record_schema import VERDICTS_FILE

from eyechart.cli import main

pytestmark = pytest.mark.deep

CLASSES = {"n01440764": 0, "n01443537": 1, "n02123045": 281}
REGRESSION, INCONCLUSIVE, USAGE = 10, 13, 4


@dataclass(frozen=True)
class Replayed:
    """A world with a baseline of a file of answers that is right everywhere."""

    world: Any

    def run(self, wrong: int, *arguments: str) -> Any:
        """Run the file of answers with the first `wrong` pictures wrong; returns pytest's result."""
        pictures = sorted((self.world.data / "imagenet" / "tiny").rglob("*.[jp][pn]g"), key=lambda path: path.name)
        answers = [7 if index < wrong else CLASSES[path.parent.name] for index, path in enumerate(pictures)]
        rows = [f"tiny,{path.name},{answer}" for path, answer in zip(pictures, answers, strict=True)]
        (self.world.folder / "a.csv").write_text("\n".join(["split,key,answer", *rows, ""]))
        return self.world.run("-k", "imagenet/tiny/", "--eye-baseline=kept", *arguments)

    @property
    def verdicts(self) -> Any:
        """What `--eye-verdicts` wrote, which its schema describes."""
        verdicts = json.loads((self.world.folder / "v.json").read_bytes())
        Draft202012Validator(json.loads(VERDICTS_FILE.read_bytes())).validate(verdicts)
        return verdicts


def last_line(said: str) -> str:
    """The last line of the gate."""
    return next(line for line in reversed(said.splitlines()) if line.startswith("eyechart: gate: "))


@pytest.fixture(scope="module")
def replayed(new_world: Callable[[], Any]) -> Replayed:
    """The baseline is written once; no test changes it."""
    world = new_world()
    world.models = ("a=replay[path=a.csv]",)
    replayed = Replayed(world)
    assert replayed.run(0, "--eye-update-baseline", "--eye-verdicts=v.json").ret == 0
    assert replayed.verdicts["verdict"] == "not tested"
    return replayed


def test_an_inconclusive_case_fails_and_says_what_would_decide(replayed: Replayed) -> None:
    result = replayed.run(1, "--eye-margin=0.01", "--eye-strict", "--eye-summary=summary.md", "--eye-verdicts=v.json")
    said = result.stdout.str()
    assert result.ret == INCONCLUSIVE, said
    assert "acc1 (ImGT) is inconclusive." in said
    assert "cannot be excluded, and the margin is 1 point" in said
    assert "more images would exclude 1 point" in said
    summary = (replayed.world.folder / "summary.md").read_text(encoding="utf-8")
    verdicts = replayed.verdicts
    assert (verdicts["verdict"], verdicts["exit_status"], verdicts["margin"]) == ("inconclusive", INCONCLUSIVE, 0.01)
    assert f"eyechart: gate: {verdicts['sentence']}" in said
    assert {group["verdict"] for group in verdicts["models"] + verdicts["benchmarks"]} == {"inconclusive"}
    first = verdicts["metrics"][0]
    assert (first["metric"], first["primary"], first["lost"], first["gained"]) == ("acc1", True, 1, 0)
    assert first["loss_limit"] > 0.01
    assert first["more_samples"] > 500
    assert "Exit status 13: inconclusive cases, and nothing else: a loss of --eye-margin" in summary


def test_without_strict_it_fails_too_and_the_last_line_says_why(replayed: Replayed) -> None:
    result = replayed.run(1, "--eye-margin=0.01")
    said = result.stdout.str()
    assert result.ret == INCONCLUSIVE
    assert "gate: inconclusive in 1 case: a loss of" in said
    assert last_line(said).endswith("a loss of 1 point is not excluded in 1 case, which fails")


def test_without_a_margin_an_inconclusive_case_passes(replayed: Replayed) -> None:
    result = replayed.run(1)
    assert result.ret == 0
    assert last_line(result.stdout.str()).endswith("2 worse but not significantly")


def test_a_likely_loss_is_named(replayed: Replayed) -> None:
    result = replayed.run(6, "--eye-margin=0.02")
    assert result.ret == INCONCLUSIVE
    assert last_line(result.stdout.str()).endswith("which fails, and is likely to be real in 1 (p<0.05)")


def test_a_regression_is_told_before_what_is_open(replayed: Replayed) -> None:
    assert replayed.run(12, "--eye-margin=0.01", "--eye-strict").ret == REGRESSION


def test_a_case_without_a_baseline_is_in_the_file(replayed: Replayed) -> None:
    result = replayed.run(1, "--eye-strict", "--eye-verdicts=v.json", "--eye-model=b=replay[path=a.csv]")
    verdicts = replayed.verdicts
    assert (verdicts["exit_status"], {metric["case"] for metric in verdicts["metrics"]}) == (
        result.ret,
        {"imagenet/tiny/a"},
    )
    assert verdicts["not_compared"] == ["imagenet/tiny/b (replay)"]


def test_a_folder_that_does_not_exist_is_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", "--eye-verdicts=no/v.json")
    assert result.ret == USAGE
    assert "--eye-verdicts: there is no folder" in "\n".join([*result.outlines, *result.errlines])


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
