"""What the gate says of a margin: which losses are not excluded, which are likely to be real, what would decide."""

from dataclasses import replace
from typing import Any

import pytest

from eyechart.gate.verdicts.decide import Rule
from eyechart.gate.verdicts.margin_messages import describe_open_end, describe_undecided
from tests.gate.verdicts.changed_shares import MORE, RIGHT, changed


def test_an_undecided_case_says_what_would_decide_it(judged: Any) -> None:
    said = describe_undecided(judged({"acc1": RIGHT}, {"acc1": changed(50, 50)})[0])
    assert "50 lost, 50 gained, n=2000" in said
    assert "a loss of up to 1.2 points cannot be excluded, and the margin is 1 point" in said
    assert (
        f"If there is no loss and answers change as often as now, about {MORE:,} more images exclude the margin. "
        "A margin is chosen before a run: one above 1.2 points needs no more images."
    ) in said


def test_a_loss_that_is_likely_to_be_real_is_no_reason_for_a_larger_margin(judged: Any) -> None:
    (lost,) = judged({"acc1": RIGHT}, {"acc1": changed(30, 14)})
    assert (lost.decision, lost.comparison.p < 0.05) == ("inconclusive", True)
    assert "--eye-gate" not in describe_undecided(lost)  # the case has no scores
    scored = lost.comparison, replace(lost.comparison, family="proper scores")
    said = describe_undecided(lost, scored)
    assert "The loss is likely to be real (p=0.023): see to the model. If there is no loss and answers change" in said
    assert "A margin is chosen" not in said
    assert "--eye-gate=accuracy,score also tests the scores" in said
    gated = replace(lost, rule=replace(lost.rule, gates=("accuracy", "score")))
    assert "--eye-gate" not in describe_undecided(gated, scored)
    (open_,) = judged({"acc1": RIGHT}, {"acc1": changed(22, 14)})
    assert (open_.decision, open_.comparison.p > 0.05) == ("inconclusive", True)
    assert "A margin is chosen" not in describe_undecided(open_)
    assert "A run of the case with --eye-update-baseline accepts it." in describe_undecided(open_)


def test_inconclusive_cases_that_pass_are_said(judged: Any) -> None:
    sides = {"acc1": RIGHT}, {"acc1": changed(30, 20)}
    assert [*describe_open_end(judged(*sides, Rule()), strict=True)] == [
        "1 inconclusive case passes under --eye-strict, since no --eye-margin says which loss must be excluded"
    ]
    assert not [*describe_open_end(judged(*sides, Rule()), strict=False)]
    advisory = judged(*sides, Rule(margin=0.01, gates=("score",)))
    why = "since the primary metric is not critical (--eye-gate, --eye-policy)"
    assert [*describe_open_end(advisory, strict=True)] == [f"1 inconclusive case passes under --eye-strict, {why}"]
    assert [*describe_open_end(advisory, strict=False)] == [f"1 inconclusive case passes, {why}"]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("after", "margin", "end"),
    [
        (changed(30, 20), 0.01, ["a loss of 1 point is not excluded in 1 case, which fails"]),
        (
            changed(30, 14),
            0.01,
            ["a loss of 1 point is not excluded in 1 case, which fails, and is likely to be real in 1 (p<0.05)"],
        ),
        (changed(30, 14), 0.05, ["a loss below the margin is likely to be real in 1 case (p<0.05)"]),
        (changed(14, 30), 0.05, []),
        (changed(30, 20), 0.05, []),
        (changed(100), 0.01, []),
    ],
)
def test_no_loss_ends_in_silence_with_a_margin(
    judged: Any, after: Any, margin: float, end: list[str], strict: bool
) -> None:
    verdicts = judged({"acc1": RIGHT}, {"acc1": after}, Rule(margin=margin))
    assert [*describe_open_end(verdicts, strict=strict)] == end
    assert verdicts[0].is_open == any("fails" in part for part in end)
