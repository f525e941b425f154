"""The gate's options: what is refused before anything runs, what is said where nothing is compared, floors at work."""

import re
from typing import Any

import pytest

from eyechart.plugins.gate_options import read_rule

pytestmark = pytest.mark.deep

REGRESSION = 10
ALONE = "is about a comparison, and this session makes none. Name baselines with --eye-baseline"
UPDATE = "--eye-update-baseline"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--eye-max-drop=0.01"], f"--eye-max-drop {ALONE}"),
        (["--eye-alpha=0.05"], f"--eye-alpha {ALONE}"),
        (["--eye-power", "--eye-max-drop=0.01"], f"--eye-max-drop {ALONE}"),
        (["--eye-baseline=kept", UPDATE, "--eye-max-drop=0.01"], f"--eye-max-drop {ALONE}"),
        (["--eye-baseline="], "--eye-baseline names nothing. Name a folder or file of baselines, or leave it out."),
        (["--eye-max-drop=half"], "--eye-max-drop must be from 0 up and below 0.5. Got 'half' instead."),
        (["--eye-max-drop=1.5"], "--eye-max-drop must be from 0 up and below 0.5. Got '1.5' instead."),
        (["--eye-max-drop=nan"], "--eye-max-drop must be from 0 up and below 0.5. Got 'nan' instead."),
        (["--eye-alpha=0"], "--eye-alpha must be above 0 and below 0.5. Got 0 instead."),
        (["--eye-alpha=1"], "--eye-alpha must be above 0 and below 0.5. Got 1 instead."),
        (["--eye-alpha=5%"], "--eye-alpha takes numbers from 0 to 1. Got '5%' instead."),
        (["--eye-floor=imagenet/zero_shot:acc1>0.5"], "--eye-floor: imagenet/zero_shot:acc1>0.5 is no floor."),
        (["--eye-flor=a/b:c>=1"], "did you mean --eye-floor"),
    ],
)
def test_what_cannot_be_meant_is_refused(pytester: pytest.Pytester, given: list[str], sentence: str) -> None:
    with pytest.raises(pytest.UsageError) as error:
        pytester.parseconfigure(*given)
    assert sentence in str(error.value)


def test_what_the_ini_file_sets_may_wait_for_a_baseline(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\neye_max_drop = 0.01\neye_alpha = 0.05\n")
    rule = read_rule(pytester.parseconfigure("--eye-strict"))
    assert (rule.max_drop, rule.alpha) == (0.01, 0.05)


def test_power_without_a_baseline_is_by_the_session_alone(world: Any) -> None:
    said = world.passes("--eye-power", "--eye-alpha=0.02", "-n1").stdout.str()
    # The least loss that 18 images would show is above the few right answers that the model can lose.
    assert "imagenet/tiny/tiny[] (zero_shot): acc1 (ImGT) would show no loss (n=18, exact McNemar, if 5%" in said
    assert re.search(r"imagenet/tiny2/tiny\[\] .*acc1 \(ImGT\) would show no loss \(n=6, exact McNemar, if 5%", said)
    assert re.search(r"supervised\): ece \(ImGT\) would show a loss of [\d.]+ points \(n=18, unpaired; less", said)


def test_a_ground_truth_more_or_less_is_said_and_the_others_are_compared(world: Any) -> None:
    rows = [f"{path.parent.name}/{path.name},1" for path in sorted(world.data.glob("imagenet/*/*/*.*"))]
    (world.folder / "more.csv").write_text("\n".join(["file,labels", *rows]))
    more = "--eye-labels=More=more.csv"
    world.passes("--eye-baseline=kept", UPDATE)
    said = world.passes("--eye-baseline=kept", more).stdout.str()
    assert "eyechart: acc1 (More) is not in the baseline" in said
    assert re.search(r"gate: [1-9]\d* numbers compared, 0 significantly worse", said)
    world.passes("--eye-baseline=kept", UPDATE, more)
    gone = world.run("--eye-baseline=kept")
    assert gone.ret == REGRESSION
    assert re.search(r"imagenet/tiny/tiny\[\] .* has no value now for what \S+ has: acc1 \(More\)", gone.stdout.str())


def test_floors_fail_a_case_of_a_worker_and_an_unknown_number_is_told_beside_them(world: Any) -> None:
    floors = ("zero_shot:acc1>=1", "zero_shot:acc5>=0", "supervised:brier<=0", "zero_shot:acc7>=0.5")
    result = world.run("-n1", *(f"--eye-floor=imagenet/tiny/{floor}" for floor in floors))
    said = result.stdout.str()
    assert result.ret == REGRESSION, said
    for protocol, model in (("zero_shot", "tiny"), ("supervised", "tinyclass")):
        assert re.search(rf"^FAILED \S*test_{protocol}\[imagenet/tiny/{model}\[\]\]", said, re.MULTILINE)
    assert said.count("FAILED ") == 2
    assert re.search(r"acc1 \(ImGT\) is 0\.\d{4} \(n=18\), and --eye-floor=imagenet/tiny/zero_shot:acc1>=1\.", said)
    assert re.search(r"brier \(ImGT\) is \d\.\d{4} \(n=18\), and --eye-floor=imagenet/tiny/supervised:brier<=0\.", said)
    assert (
        "ERROR: --eye-floor=imagenet/tiny/zero_shot:acc7>=0.5 matches no metric of this session; did you mean " in said
    )


def test_rules_of_a_policy_need_a_comparison_and_floors_do_not(pytester: pytest.Pytester) -> None:
    rules = "[[rules]]\nmargin = 0.01\n"
    (pytester.path / "p.toml").write_text(rules, encoding="utf-8")
    with pytest.raises(pytest.UsageError, match="--eye-policy has rules on a comparison and no floors"):
        pytester.parseconfigure("--eye-policy=p.toml")
    (pytester.path / "p.toml").write_text(f'floors = ["pets/knn:acc1>=0.5"]\n{rules}', encoding="utf-8")
    pytester.parseconfigure("--eye-policy=p.toml")
