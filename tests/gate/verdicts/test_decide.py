"""Regression, no regression, inconclusive, improvement: of a metric, a case and a session."""

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from eyechart.errors import SpecError
from eyechart.gate.comparison.compare_metrics import OTHER as OTHER_METRICS
from eyechart.gate.comparison.compare_metrics import MetricComparison, compare_metrics
from eyechart.gate.verdicts.decide import (
    ALONE,
    ALPHA,
    VERDICTS,
    Adjustment,
    Rule,
    decide,
    parse_margin,
    session_verdict,
)
from eyechart.gate.verdicts.margin_messages import describe_undecided
from eyechart.gate.verdicts.verdict_messages import (
    count_verdicts,
    describe_floor,
    describe_loss,
    describe_session,
    format_adjusted,
    show_failing_numbers,
)
from eyechart.plugins.options import OPTIONS
from eyechart.results.evidence import MetricEvidence
from eyechart.statistics.noninferiority import loss_upper_limit
from eyechart.statistics.significance import holm
from tests.gate.verdicts.changed_shares import MORE, OTHER, POINT, RIGHT, changed

EXCLUDED = "no regression: a loss of 1 point or more is excluded for every primary metric"
CASE = "imagenet/val/m[] (zero_shot)"
OPEN = f"inconclusive in 1 case: a loss of 1.2 points of acc1 (ImGT) in {CASE} cannot be excluded"


@pytest.mark.parametrize(
    ("lost", "gained", "n", "verdict"),
    [
        (100, 0, 2000, "regression"),
        (0, 100, 2000, "improvement"),
        (0, 0, 2000, "no regression"),
        (5, 5, 2000, "no regression"),
        (50, 50, 2000, "inconclusive"),
        (4, 0, 2000, "no regression"),
        (0, 0, 100, "inconclusive"),  # so few images exclude no loss of one point
    ],
)
def test_a_metric_has_the_verdict_that_its_images_allow(
    judged: Any, lost: int, gained: int, n: int, verdict: str
) -> None:
    (only,) = judged({"acc1": RIGHT[:n]}, {"acc1": changed(lost, gained, n)})
    assert only.decision == verdict
    assert only.limit == pytest.approx(loss_upper_limit(lost, gained, n, 0.01))
    assert (only.limit < 0.01) == (verdict in ("no regression", "improvement"))


def test_without_a_margin_only_the_same_weights_show_that_nothing_is_worse(judged: Any) -> None:
    same, other = (judged({"acc1": RIGHT}, {"acc1": RIGHT}, Rule(), weights)[0] for weights in ("0" * 64, OTHER))
    assert (same.decision, same.limit) == ("no regression", 0)
    assert other.decision == "inconclusive"
    assert judged({"acc1": RIGHT}, {"acc1": RIGHT}, Rule(), "")[0].decision == "inconclusive"  # a served model


def test_the_same_weights_that_answer_differently_are_tested(judged: Any) -> None:
    assert judged({"acc1": RIGHT}, {"acc1": changed(50, 50)}, Rule(), "0" * 64)[0].decision == "inconclusive"


def test_the_first_metric_of_a_case_is_primary(judged: Any, make: Any, share: Any) -> None:
    metrics = {"answered": [1, 0] * 1000, "acc1": RIGHT, "acc5": RIGHT}
    verdicts = judged(metrics, metrics)
    assert [(verdict.comparison.metric.name, verdict.comparison.primary) for verdict in verdicts] == [
        ("answered", False),
        ("acc1", True),
        ("acc5", False),
    ]


def test_it_says_how_many_more_images_would_decide(judged: Any) -> None:
    (only,) = judged({"acc1": RIGHT}, {"acc1": changed(50, 50)})
    assert only.samples_to_decide() == MORE
    (open_,) = judged({"acc1": RIGHT}, {"acc1": changed(50, 50)}, Rule())
    assert open_.samples_to_decide() is None
    assert judged({"acc1": RIGHT}, {"acc1": RIGHT})[0].samples_to_decide() is None


def test_copies_of_a_metric_and_metrics_that_cannot_change_cost_nothing(judged: Any) -> None:
    before, after = {"acc1": RIGHT, "acc5": RIGHT}, {"acc1": RIGHT, "acc5": changed(8)}
    alone = judged(before, after, Rule())[1].adjusted
    copies = {f"recall{number}": RIGHT for number in range(30)}
    losses = {f"recall{number}": changed(8) for number in range(15)} | {f"recall{n}": RIGHT for n in range(15, 30)}
    beside = judged(before | copies, after | losses, Rule())[1]
    assert beside.adjusted == pytest.approx(alone)
    assert beside.regression
    assert holm([beside.comparison.p] * 16)[0] > 0.01


def test_images_of_different_data_have_signs_of_their_own(make: Any, share: Any) -> None:
    sides = [make(share(acc1=RIGHT)), replace(make(share(acc1=changed(10))), weights_sha256=OTHER)]
    first = [*compare_metrics(*sides)]
    other = [*compare_metrics(*(replace(side, case="imagenet/test/m[]", fingerprint="g") for side in sides))]
    same = [*compare_metrics(*(replace(side, case="imagenet/val/n[]") for side in sides))]
    p = first[0].p
    assert [verdict.adjusted for verdict in decide(first + same)] == pytest.approx([p, p])
    assert decide(first + other)[0].adjusted == pytest.approx(1 - (1 - p) ** 2, rel=0.3)


def test_a_very_small_level_has_no_random_draws(judged: Any) -> None:
    before = {f"recall{number}": RIGHT for number in range(4)}
    after = {f"recall{number}": changed(30 + number) for number in range(4)}
    verdicts = judged(before, after, Rule(1e-7))
    adjusted, p = [verdict.adjusted for verdict in verdicts], [verdict.comparison.p for verdict in verdicts]
    assert adjusted == pytest.approx([p[0], *holm(p[1:])])
    assert all(verdict.regression for verdict in verdicts)


def test_proportions_and_other_metrics_share_the_level(make: Any, share: Any, drawn: Any) -> None:
    before, after = (make([*share(acc1=side), drawn(side)]) for side in (RIGHT, changed(10)))
    comparisons = [*compare_metrics(before, replace(after, weights_sha256=OTHER))]
    verdicts = decide([dataclasses.replace(comparison, family=OTHER_METRICS) for comparison in comparisons])
    assert [verdict.adjusted for verdict in verdicts] == pytest.approx([2 * found.p for found in comparisons])
    assert [verdict.adjustment for verdict in verdicts] == [Adjustment(ALONE, factor=2)] * 2


def test_it_says_how_many_numbers_were_adjusted_together(judged: Any) -> None:
    before = {"acc1": RIGHT, "acc5": RIGHT, "recall": RIGHT}
    few = judged(before, {"acc1": changed(8), "acc5": changed(9), "recall": changed(2, 3)}, Rule())
    many = judged(before, {"acc1": changed(8), "acc5": changed(9), "recall": changed(20, 3)}, Rule())
    assert [str(verdict.adjustment) for verdict in few] == [
        "",
        *["joint test of 2 numbers with all signs of 12 units"] * 2,
    ]
    assert str(many[1].adjustment) == "joint test of 2 numbers with 10,000 random signs"
    assert (few[1].adjustment.least, many[1].adjustment.least) == (0, 1 / 10_001)
    assert str(judged(before, {"acc1": changed(8), "acc5": changed(9), "recall": RIGHT}, Rule(1e-7))[1].adjustment) == (
        "Holm's correction of 2 numbers"
    )


def test_a_regression_of_any_metric_decides_a_session_and_otherwise_the_primary_ones(judged: Any) -> None:
    before = {"acc1": RIGHT, "acc5": RIGHT}
    assert session_verdict(judged(before, {"acc1": RIGHT, "acc5": changed(100)})) == "regression"
    assert session_verdict(judged(before, {"acc1": RIGHT, "acc5": changed(0, 100)})) == "no regression"
    assert session_verdict(judged(before, {"acc1": changed(0, 100), "acc5": RIGHT})) == "improvement"
    better, open_ = judged(before, {"acc1": changed(0, 100), "acc5": RIGHT}), judged(before, before, Rule())
    assert session_verdict([*better, *open_]) == "inconclusive"
    assert session_verdict([]) == "not tested"


@pytest.mark.parametrize(
    ("after", "rule", "sentence"),
    [
        (changed(100), POINT, "regression in 1 of 1 case"),
        (RIGHT, POINT, EXCLUDED),
        (changed(0, 100), POINT, f"improvement in 1 of 1 case; {EXCLUDED}"),
        (changed(50, 50), POINT, f"{OPEN}; if there is none, {MORE:,} more images would exclude 1 point"),
        (changed(100), Rule(margin=0.01, max_drop=0.1), "no regression, but a significant loss in 1 case is tolerated"),
        (changed(50, 50), Rule(), f"{OPEN}; --eye-margin=0.01 says how many images would exclude 1 point"),
    ],
)
def test_the_verdict_on_a_session_is_a_sentence(judged: Any, after: Any, rule: Rule, sentence: str) -> None:
    assert describe_session(judged({"acc1": RIGHT}, {"acc1": after}, rule)) == sentence


def test_a_metric_without_an_interval_excludes_no_loss(make: Any, named: Any) -> None:
    before = make([named("ig", interval=None)])
    verdicts = decide([*compare_metrics(before, replace(before, weights_sha256=OTHER))], POINT)
    said = describe_session(verdicts)
    start = f"inconclusive in 1 case: no loss of ig (ImGT) in {CASE}"
    assert said == f"{start} can be excluded, since it has no interval"
    assert "a loss of any size cannot be excluded" in describe_undecided(verdicts[0])


def test_the_same_weights_and_answers_are_said(judged: Any) -> None:
    verdicts = judged({"acc1": RIGHT}, {"acc1": RIGHT}, Rule(), "0" * 64)
    assert describe_session(verdicts) == "no regression: the same weights gave the same answers"


@pytest.mark.parametrize(
    ("after", "line"),
    [
        (RIGHT, "gate: 1 number compared, 0 significantly worse"),
        (changed(30, 20), "gate: 1 number compared, 0 significantly worse, 1 worse but not significantly"),
        (changed(100), "gate: 1 number compared, 1 significantly worse"),
    ],
)
def test_worse_means_significantly_worse_and_the_line_says_so(judged: Any, after: Any, line: str) -> None:
    assert count_verdicts(judged({"acc1": RIGHT}, {"acc1": after}, Rule())) == line


def test_a_primary_metric_that_cannot_be_tested_is_undecided(judged: Any, make: Any, named: Any) -> None:
    before = make([named("ig", 0.5, interval=None)])
    after = make([named("ig", 0.4, interval=None)])
    (verdict,) = decide([*compare_metrics(before, replace(after, weights_sha256=OTHER))], POINT)
    assert (verdict.decision, verdict.is_open) == ("not tested", True)


def test_the_least_p_value_of_random_draws_is_an_upper_limit(judged: Any) -> None:
    first, second = judged({"acc1": RIGHT, "acc5": RIGHT}, {"acc1": changed(100), "acc5": changed(0, 90)}, Rule())
    assert format_adjusted(first) == f"p={first.adjusted:.2g}"  # the only primary metric
    verdicts = decide([dataclasses.replace(each.comparison, family="primary metrics") for each in (first, second)])
    assert [format_adjusted(each) for each in verdicts] == ["p≤0.0001"] * 2
    assert [*describe_floor(verdicts)] == [
        "p≤0.0001 is the smallest adjusted p-value that 10,000 random sign flips can show"
    ]
    assert [*describe_floor([first])] == []
    assert "p≤0.0001 adjusted for all primary metrics of the session" in describe_loss(
        verdicts[:1], [verdicts[0].comparison], [""] * 2000
    )


def test_what_fails_is_in_a_table_beside_the_primary_metric(judged: Any) -> None:
    verdicts = judged({"acc1": RIGHT, "acc5": RIGHT}, {"acc1": changed(12, 5), "acc5": changed(100)}, Rule())
    head, first, second = show_failing_numbers(verdicts)
    assert head.split("  ")[0] == "what fails, and the primary metrics of these cases"
    assert "acc1 (ImGT)" in first
    assert first.endswith("inconclusive")
    assert "acc5 (ImGT)" in second
    assert second.endswith("regression")
    assert "-5.00 points [-" in second
    assert not [*show_failing_numbers(judged({"acc1": RIGHT}, {"acc1": changed(30, 20)}))]


def test_without_a_margin_a_gain_excludes_no_loss_of_a_margin(judged: Any) -> None:
    said = describe_session(judged({"acc1": RIGHT}, {"acc1": changed(0, 100)}, Rule()))
    assert said == "improvement in 1 of 1 case; no regression"


@pytest.mark.parametrize("text", ["0", "0.5", "1", "-0.1", "one"])
def test_a_margin_is_a_fraction_above_0(text: str) -> None:
    with pytest.raises(SpecError, match="must be"):
        parse_margin(text)


NAN = float("nan")


def compared(p: float, delta: float, name: str = "acc1") -> MetricComparison:
    """A number that moved by so much."""
    proof = MetricEvidence(
        name=name, labels="ImGT", subset="all", value=0.5, n=100, direction=-1 if name == "ece" else 1
    )
    sizes: dict[str, Any] = {"before": 0.5, "after": 0.5 + delta, "delta": delta, "n": 100, "n_clusters": 100}
    return MetricComparison("imagenet/val/x", "zero_shot", "x", proof, **sizes, ci=None, p=p, method="exact McNemar")


@pytest.mark.parametrize(
    ("p", "delta", "name", "drop", "word"),
    [
        (1e-9, -0.1, "acc1", 0, "regression"),
        (1e-9, 0.1, "ece", 0, "regression"),
        (1e-9, -0.1, "acc1", 0.1, "tolerated"),
        (1e-9, 0.1, "acc1", 0, "improvement"),
        (1e-9, -0.1, "ece", 0, "improvement"),
        (ALPHA, -0.1, "acc1", 0, "inconclusive"),
        (0.9, 0.1, "acc1", 0, "inconclusive"),
        (1, 0, "acc1", 0, "inconclusive"),
        (1e-9, 3e-8, "ece", 0, "inconclusive"),  # of every image alike, by another number of threads
        (1e-9, -3e-8, "ece", 0, "inconclusive"),
        (NAN, -0.5, "acc1", 0, "not tested"),
    ],
)
def test_every_number_has_its_word(p: float, delta: float, name: str, drop: float, word: str) -> None:
    (verdict,) = decide([compared(p, delta, name)], Rule(max_drop=drop))
    assert verdict.decision == word
    assert word in VERDICTS


def test_the_word_is_of_p_after_the_correction() -> None:
    words = {each.decision for each in decide([compared(0.006, -0.1)] * 2)}
    assert words == {"inconclusive"}


def test_what_the_gate_takes_for_sure_is_what_reports_do() -> None:
    (default,) = (option.default for option in OPTIONS if option.name == "alpha")
    assert float(default) == ALPHA


@pytest.mark.parametrize(("gates", "fails"), [(("accuracy",), False), (("accuracy", "score"), True)])
def test_calibration_fails_a_case_only_as_a_score(gates: tuple[str, ...], fails: bool) -> None:
    """A model near chance that is unsure has a low calibration error, so that a better model can have a higher one."""
    right, unsure = decide([compared(1e-9, 0.1), compared(1e-9, 0.1, "ece")], Rule(gates=gates))
    assert (right.decision, unsure.decision) == ("improvement", "regression")
    assert unsure.regression is fails
