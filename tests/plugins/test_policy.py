"""`--eye-policy`: tiers, margins and floors of a file decide whether a case fails."""

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HELD, POLICY, REGRESSION, USAGE, INCONCLUSIVE = "--eye-baseline=kept", "--eye-policy=policy.toml", 10, 4, 13


@pytest.fixture
def write(held: Any) -> Any:
    """Write the policy of a session, or another file of its folder."""

    def write(text: str, name: str = "policy.toml") -> None:
        Path(held.world.folder / name).write_text(text, encoding="utf-8")

    return write


def test_a_loss_of_an_advisory_split_is_said_and_fails_nothing(held: Any, write: Any) -> None:
    held.answer(wrong=18)
    write('[[rules]]\nsplit = "imagenet/tiny"\ntier = "advisory"\n')
    said = held.ran(HELD, POLICY, "--eye-verdicts=v.json")
    assert "2 passed" in said
    assert "imagenet/tiny/replay[path=a.csv] (replay): advisory: acc1 (ImGT) -100.00 points" in said
    metrics = json.loads((held.world.folder / "v.json").read_bytes())["metrics"]
    assert {(metric["verdict"], metric["tier"]) for metric in metrics if "tiny/" in metric["case"]} == {
        ("regression", "advisory")
    }


def test_a_margin_of_one_split(held: Any, write: Any) -> None:
    write('[[rules]]\nsplit = "imagenet/tiny"\nmargin = 0.01\n')
    held.answer(wrong=1)
    said = held.ran(HELD, POLICY, "--eye-strict", code=INCONCLUSIVE)
    assert "1 failed, 1 passed" in said
    assert "cannot be excluded, and the margin is 1 point" in said


def test_a_floor_of_the_policy(held: Any, write: Any) -> None:
    write('floors = ["imagenet/tiny/replay:acc1>=0.9"]\n')
    held.answer(wrong=9)
    assert "acc1 (ImGT) is 0.5000 (n=18)" in held.ran(POLICY, code=REGRESSION)


def test_the_table_of_pyproject(held: Any, write: Any) -> None:
    table = "[[tool.eyechart.gate.rules]]\nmax_relative_drop = 0.45\n"
    write(f'[tool.pytest.ini_options]\neye_policy = "pyproject.toml"\n{table}', "pyproject.toml")
    held.answer(wrong=8)
    said = held.ran(HELD, "-c", "pyproject.toml", "--eye-alpha=0.1")
    assert "tolerated loss: acc1 (ImGT) -44.44 points, a loss of 45.0 points is tolerated" in said


def test_a_rule_on_nothing_is_a_mistake_under_strict(held: Any, write: Any) -> None:
    write('[[rules]]\nmetric = "acc9"\ntier = "advisory"\n')
    why = "--eye-policy: the rule on metric=acc9 matches no metric of this session."
    assert f"ERROR: {why}" in held.ran(HELD, POLICY, "--eye-strict", code=USAGE)


@pytest.mark.parametrize(
    ("text", "why"),
    [("tiers = 3", "unknown field `tiers`"), ('floors = ["acc1"]', "acc1 is no floor"), (None, "cannot be read")],
)
def test_a_wrong_policy_is_refused_before_anything_runs(pytester: pytest.Pytester, text: str | None, why: str) -> None:
    if text:
        (pytester.path / "policy.toml").write_text(text, encoding="utf-8")
    result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", HELD, POLICY)
    said = "\n".join([*result.outlines, *result.errlines])
    assert result.ret == USAGE
    assert "--eye-policy: " in said
    assert why in said
    assert not (pytester.path / "reports").exists()
