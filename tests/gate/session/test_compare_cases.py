"""The plugin, `eyechart compare` and `eyechart.compare` make one comparison: their verdicts are the same JSON."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import eyechart
from eyechart.cli import main
from eyechart.gate.session.gate_status import INCONCLUSIVE, REGRESSION

pytestmark = pytest.mark.deep

HELD, STRICT, UPDATE, FILE = "--eye-baseline=kept", "--eye-strict", "--eye-update-baseline", "--eye-verdicts=v.json"
POLICY = """
floors = ["imagenet/tiny/replay:acc1>=0.1"]

[[rules]]
subset = "class=*"
tier = "supporting"

[[rules]]
split = "imagenet/tiny2"
metric = "acc1"
margin = 0.05
max_drop = 0.1
"""


@pytest.fixture(scope="module")
def kept(new_gated: Callable[[], Any]) -> Any:
    """A session after a baseline of two splits was written, with a policy of tiers, margins, slices and a floor."""
    gated = new_gated()
    gated.kept()
    (gated.world.folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    return gated


def three_ways(gated: Any, status: int, *options: str, **values: Any) -> dict[str, Any]:
    """Return the verdicts after the same comparison in three ways has given the same."""
    folder = gated.world.folder
    gated.ran(HELD, STRICT, FILE, *(f"--eye-{option}" for option in options), code=status)
    run = gated.world.latest
    command = ["compare", folder / "kept", run, "--check", "--verdicts", folder / "c.json"]
    assert main([*command, *(f"--{option}" for option in options)]) == status
    called = eyechart.compare(folder / "kept", run, **values)
    of_plugin, of_command = ((folder / name).read_bytes() for name in ("v.json", "c.json"))
    assert of_command == of_plugin
    assert json.loads(msgspec.json.encode(called.summary)) == json.loads(of_plugin)
    verdicts: dict[str, Any] = json.loads(of_plugin)
    assert called.verdict == verdicts["verdict"]
    return verdicts


@pytest.mark.parametrize(
    ("wrong", "status", "verdict"),
    [({"tiny": 0}, 0, "no regression"), ({"tiny": 12}, REGRESSION, "regression")],
    ids=["no-change", "damage"],
)
def test_the_plugin_the_command_and_python_give_one_verdict_file(
    kept: Any, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, int], status: int, verdict: str
) -> None:
    monkeypatch.chdir(kept.world.folder)
    for split, count in wrong.items():
        kept.answer(wrong=count, of=split)
    options = ("alpha=0.05", "gate=accuracy,score", "policy=policy.toml") if status else ()
    values = {"alpha": 0.05, "gates": ("accuracy", "score"), "policy": "policy.toml"} if status else {}
    verdicts = three_ways(kept, status, *options, **values)
    assert verdicts["verdict"] == verdict
    assert verdicts["models"][0]["pooled"]["verdict"] == verdict
    if status:
        assert {part["tier"] for part in verdicts["slices"]} == {"supporting"}
        assert len(verdicts["slices"]) == verdicts["slices_compared"] > 2


def test_a_floor_of_the_policy_and_an_open_margin_have_one_status(
    kept: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(kept.world.folder)
    kept.answer(wrong=1)
    (kept.world.folder / "floor.toml").write_text('floors = ["imagenet/tiny/replay:acc1>=0.99"]', encoding="utf-8")
    three_ways(kept, REGRESSION, "policy=floor.toml", policy="floor.toml")
    assert "acc1 (ImGT) is 0.9444 (n=18), and --eye-floor=imagenet/tiny/replay:acc1>=0.99" in capsys.readouterr().out
    three_ways(kept, INCONCLUSIVE, "margin=0.001", margin=0.001)


def test_losses_that_were_accepted_count_for_the_command_too(held: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(held.world.folder)
    for wrong in (3, 6):
        held.answer(wrong=wrong)
        held.ran(HELD, UPDATE)
    held.answer(wrong=8)
    verdicts = three_ways(held, REGRESSION, "alpha=0.1", alpha=0.1)
    assert verdicts["drifts"][0].startswith("regression of replay[path=a.csv] on imagenet over accepted versions: 8 ")
    assert "regression" not in {metric["verdict"] for metric in verdicts["metrics"]}


def test_a_rule_and_a_floor_that_match_nothing_are_named(
    kept: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(kept.world.folder)
    Path("typo.toml").write_text(
        'floors = ["imagenet/tiny/replay:acc9>=0.1"]\n[[rules]]\nmetric = "acc9"\ntier = "critical"\n', encoding="utf-8"
    )
    shutil.copytree(kept.world.latest.resolve(), "run", dirs_exist_ok=True)
    assert main(["compare", "run", "run", "--policy", "typo.toml"]) == 0
    said = capsys.readouterr().out
    assert "The policy: the rule on metric=acc9 matches no metric." in said
    assert "The policy: the floor imagenet/tiny/replay:acc9>=0.1 matches no metric" in said
