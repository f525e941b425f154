"""The policy: which rule is for which metric, and what a file may not have."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.errors import SpecError
from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.policy.tiers import NO_POLICY, Policy, PolicyRule, read_policy, unread_policy
from eyechart.gate.verdicts.decide import Rule, Verdict, decide, decide_with_models
from eyechart.gate.verdicts.verdict_messages import describe_session

RIGHT = np.array([1, 1, 1, 0] * 500, np.float64)


def worse(lost: int) -> Any:
    """The outcomes of `RIGHT` with so many lost."""
    outcomes = RIGHT.copy()
    outcomes[np.flatnonzero(outcomes)[:lost]] = 0
    return outcomes


@pytest.fixture
def judged(make: Any, share: Any) -> Any:
    """The verdicts on metrics of imagenet/val that lost so many samples, by a policy."""

    def judged(policy: Policy, rule: Rule | None = None, **lost: int) -> list[Verdict]:
        before = make(share(**dict.fromkeys(lost, RIGHT)))
        after = make(share(**{name: worse(count) for name, count in lost.items()}))
        comparisons = [*compare_metrics(before, replace(after, weights_sha256="1" * 64))]
        own = rule or Rule()
        return decide(comparisons, Rule(own.alpha, own.max_drop, own.margin, own.gates, policy))

    return judged


def one(**rule: Any) -> Policy:
    """A policy of one rule."""
    return Policy(rules=(PolicyRule(**rule),))


def test_without_a_policy_primary_metrics_are_critical_and_others_are_supporting(judged: Any) -> None:
    verdicts = judged(NO_POLICY, acc1=100, acc5=100)
    assert [(verdict.rule.tier, verdict.regression) for verdict in verdicts] == [
        ("critical", True),
        ("supporting", True),
    ]


@pytest.mark.parametrize(
    ("patterns", "meant"),
    [
        ({}, [0, 1]),
        ({"metric": "acc1"}, [0]),
        ({"metric": "acc*"}, [0, 1]),
        ({"split": "imagenet/*", "metric": "acc5"}, [1]),
        ({"split": "imagenet"}, []),
        ({"split": "toybox/*"}, []),
        ({"protocol": "zero_shot", "labels": "ImGT", "subset": "all", "model": "m*"}, [0, 1]),
        ({"model": "m[]"}, [0, 1]),
        ({"model": "n*"}, []),
        ({"protocol": "knn", "model": "m*"}, []),
    ],
)
def test_a_rule_is_for_what_all_of_its_patterns_match(judged: Any, patterns: Any, meant: list[int]) -> None:
    policy = one(tier="advisory", **patterns)
    verdicts = judged(policy, acc1=100, acc5=100)
    assert [index for index, verdict in enumerate(verdicts) if not verdict.regression] == meant
    assert bool(policy.unused_rules([verdict.comparison for verdict in verdicts])) == (not meant)
    assert {verdict.decision for verdict in verdicts} == {"regression"}


@pytest.mark.parametrize(
    ("limits", "decision"),
    [
        ({"max_drop": 0.05}, "tolerated"),
        ({"max_drop": 0.04}, "regression"),
        ({"max_relative_drop": 0.067}, "tolerated"),  # 0.05 of 0.75
        ({"max_relative_drop": 0.066}, "regression"),
        ({"max_drop": 0.05, "max_relative_drop": 0.01}, "tolerated"),
    ],
)
def test_a_loss_is_tolerated_up_to_the_larger_of_both_limits(judged: Any, limits: Any, decision: str) -> None:
    (verdict,) = judged(one(**limits), acc1=100)
    assert (verdict.decision, verdict.regression) == (decision, decision == "regression")
    (own,) = judged(one(metric="other", **limits), Rule(max_drop=0.1), acc1=100)
    assert own.decision == "tolerated"
    (stricter,) = judged(one(max_drop=0), Rule(max_drop=0.1), acc1=100)
    assert stricter.decision == "regression"


def test_the_last_rule_that_sets_a_limit_counts(judged: Any) -> None:
    rules = (PolicyRule(max_drop=0.1, tier="advisory"), PolicyRule(metric="acc1", tier="critical"))
    first, second = judged(Policy(rules=rules), acc1=100, acc5=100)
    assert (first.rule.tier, first.decision) == ("critical", "tolerated")
    assert (second.rule.tier, second.decision) == ("advisory", "tolerated")


def test_each_metric_has_a_margin_of_its_own(judged: Any) -> None:
    rules = (PolicyRule(metric="acc1", margin=0.02), PolicyRule(metric="acc5", margin=0.001, tier="critical"))
    first, second = judged(Policy(rules=rules), acc1=0, acc5=0)
    assert (first.decision, second.decision) == ("no regression", "inconclusive")
    assert (first.must_be_decided, second.must_be_decided) == (True, True)
    assert describe_session([first, second]) == (
        "no regression: a loss of 2 points or more is excluded for every primary metric"
    )
    assert not judged(one(tier="supporting", margin=0.01), acc1=0)[0].must_be_decided


def test_an_advisory_metric_is_not_pooled(make: Any, share: Any) -> None:
    def sides(split: str, lost: int) -> Any:
        pair = (make(share(acc1=RIGHT)), replace(make(share(acc1=worse(lost))), weights_sha256="1" * 64))
        return compare_metrics(*(replace(side, case=f"imagenet/{split}/m[]", fingerprint=split) for side in pair))

    comparisons = [metric for split, lost in (("a", 100), ("b", 0), ("c", 0)) for metric in sides(split, lost)]
    _, (everything,) = decide_with_models(comparisons)
    assert (len(everything.comparison.pooled), everything.regression) == (3, True)
    policy = Policy(rules=(PolicyRule(split="imagenet/a", tier="advisory"),))
    verdicts, (rest,) = decide_with_models(comparisons, Rule(policy=policy))
    assert (len(rest.comparison.pooled), rest.regression) == (2, False)
    assert (verdicts[0].decision, verdicts[0].regression) == ("regression", False)


def test_a_model_tolerates_what_its_cases_tolerate_on_average(make: Any, share: Any) -> None:
    def sides(split: str) -> Any:
        pair = (make(share(acc1=RIGHT)), replace(make(share(acc1=worse(100))), weights_sha256="1" * 64))
        return compare_metrics(*(replace(side, case=f"imagenet/{split}/m[]", fingerprint=split) for side in pair))

    comparisons = [metric for split in "ab" for metric in sides(split)]
    for drop, decision in ((0.07, "tolerated"), (0.06, "regression")):
        rules = (PolicyRule(split="imagenet/a", max_drop=drop), PolicyRule(split="imagenet/b", max_drop=0.035))
        _, (whole,) = decide_with_models(comparisons, Rule(policy=Policy(rules=rules)))
        assert whole.rule.max_drop == pytest.approx((drop + 0.035) / 2)
        assert whole.decision == decision


def test_a_score_is_gated_by_its_tier(make: Any) -> None:
    from eyechart.results.estimates import score_estimates

    scores = -np.linspace(0.1, 2, 400)
    before, after = (make([next(score_estimates("ImGT", s))], samples=400) for s in (scores, scores * 1.5))
    comparisons = [*compare_metrics(before, replace(after, weights_sha256="1" * 64))]
    for policy, fails in ((NO_POLICY, False), (one(metric="log_score", tier="supporting"), True)):
        (verdict,) = decide(comparisons, Rule(policy=policy, max_drop=0.4))
        assert (verdict.decision, verdict.regression) == ("confidence regression", fails)
    assert decide(comparisons, Rule(policy=one(metric="log_score", max_drop=0.49)))[0].decision != "tolerated"
    assert decide(comparisons, Rule(policy=one(metric="log_score", max_relative_drop=0.49)))[0].decision != "tolerated"


def test_a_file_and_a_table_of_pyproject_say_the_same(tmp_path: Path) -> None:
    text = 'floors = ["imagenet/zero_shot:acc1>=0.62"]\n[[{0}rules]]\nmetric = "acc1"\nmargin = 0.01\n'
    (tmp_path / "policy.toml").write_text(text.format(""))
    (tmp_path / "pyproject.toml").write_text("[tool.eyechart.gate]\n" + text.format("tool.eyechart.gate."))
    expected = Policy(rules=(PolicyRule(metric="acc1", margin=0.01),), floors=("imagenet/zero_shot:acc1>=0.62",))
    assert read_policy(tmp_path / "policy.toml") == read_policy(tmp_path / "pyproject.toml") == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[rules", r"cannot be read: .*Expected TOML with the list floors and tables \[\[rules\]\]"),
        ("[[rules]]\nmetrics = 3", r"unknown field `metrics`"),
        ('[[rules]]\ntier = "high"', r"tier must be one of critical, supporting, advisory\. Got 'high' instead"),
        ("[[rules]]\nmargin = 1", r"margin must be above 0 and below 0\.5\. Got 1 instead\. 1 % is 0\.01"),
        ("[[rules]]\nmax_drop = -0.1", r"max_drop must be from 0 up and below 0\.5\. Got -0\.1 instead"),
        ('[[rules]]\nmetric = "acc1"', r"the rule on metric=acc1 sets nothing\. Give it a tier, margin"),
        ("floors = 3", r"Expected `array`, got `int`"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(SpecError, match=sentence):
        read_policy(path)


def test_a_missing_file_and_a_missing_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read: No such file or directory"):
        read_policy(tmp_path / "policy.toml")
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    with pytest.raises(SpecError, match=r"has no table \[tool\.eyechart\.gate\]\. Add it"):
        read_policy(tmp_path / "pyproject.toml")


def test_a_table_that_no_option_reads_is_named(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    assert unread_policy(tmp_path) == ""
    for text in ("", "tool = 3", "= damaged", "[tool.eyechart]\n"):
        file.write_text(text, encoding="utf-8")
        assert unread_policy(tmp_path) == ""
    file.write_text("[[tool.eyechart.gate.rules]]\nmargin = 0.01\n", encoding="utf-8")
    said = "has the table [tool.eyechart.gate], which is not read: give --eye-policy=pyproject.toml"
    assert unread_policy(tmp_path) == f"{file} {said}"
