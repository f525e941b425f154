"""`eyechart explain --baseline`: every p-value of the gate, computed again from what its explanation says."""

import re
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pytest

from eyechart.cli import main
from eyechart.gate.session.compare_cases import SessionComparison
from eyechart.gate.verdicts.decide import DEFAULT_RULE, HOLM, JOINT, Rule, Verdict
from eyechart.gate.verdicts.value_texts import format_points
from eyechart.reports.comparison.run_comparison import MatchedSides, compare_sides, match_runs
from eyechart.reports.comparison.verdict_explanation import explain_verdict

CONSE, TIMM = "conse[]", "timm[tf_efficientnet_lite0]"
PROTOCOLS = {CONSE: "zero_shot", TIMM: "supervised"}
SIZE, WRONG = 60, 999
TRUTHS = tuple((index, (index,) if index % 3 else (index, index + 1), None) for index in range(SIZE))
REACHED = re.compile(r"([\d,]+) of ([\d,]+): ([\d.e-]*\d)")
MCNEMAR = re.compile(r"P\(X ≤ (\d+)\), at most 1, where X has the distribution Binomial\((\d+), ½\): p = ([\d.e-]+)\.")


@pytest.fixture
def sides(make_run):
    """Two runs of two models on one split, of which the second has some more wrong images."""

    def sides(more: dict[str, list[int]]) -> MatchedSides:
        folders = []
        for name, wrong in (("before", {model: [7] for model in PROTOCOLS}), ("after", more)):
            said = {
                model: (protocol, [WRONG if row in wrong[model] else truth[0] for row, truth in enumerate(TRUTHS)])
                for model, protocol in PROTOCOLS.items()
            }
            folders.append(make_run(name, models=said, truths=TRUTHS, labels=("ImGT", "ReGT")))
        return match_runs(folders)

    return sides


def explained(sides: MatchedSides, rule: Rule = DEFAULT_RULE) -> list[tuple[Verdict, str]]:
    """Return each verdict of a comparison with its explanation, in one line."""
    session = compare_sides(sides, rule).session
    pooled = {verdict.comparison.model: verdict for verdict in session.pooled}
    return [
        (verdict, " ".join(explain_verdict(sides, session, key, verdict).split()))
        for key, verdicts in session.verdicts_of.items()
        for verdict in (*verdicts, pooled.get(session.cases[key].head.model))
        if verdict is not None
    ]


def joint_p_values(session: SessionComparison, family: str) -> dict[int, float]:
    """Return the p-values of the joint test by all signs, by the identity of the verdict, one number after another."""
    of_family = [verdict for verdict in (*session.verdicts, *session.pooled) if verdict.comparison.family == family]
    together = [verdict for verdict in of_family if verdict.adjustment.method == JOINT]
    rows = np.zeros((len(together), SIZE))
    for row, verdict in zip(rows, together, strict=True):
        for part in verdict.comparison.changes:
            row[part.clusters] = part.changes
    changed = rows[:, rows.any(axis=0)]
    sizes = np.maximum(np.sqrt((changed**2).sum(axis=1)), 1e-9)
    observed = np.abs(changed.sum(axis=1)) / sizes
    drawn = np.array([np.abs(changed @ signs) / sizes for signs in product((-1, 1), repeat=changed.shape[1])])
    p_values, largest = {}, 0.0
    for index in np.argsort(-observed, kind="stable"):
        behind = drawn[:, observed <= observed[index] + 1e-9].max(axis=1)
        largest = max(largest, float((behind >= observed[index] - 1e-9).mean()), together[index].comparison.p)
        p_values[id(together[index])] = largest
    return p_values


def test_the_joint_test_follows_from_all_signs(sides) -> None:
    found = sides({CONSE: [*range(9)], TIMM: [3, 4, 20]})
    session = compare_sides(found, DEFAULT_RULE).session
    expected = joint_p_values(session, "primary metrics")
    assert len(expected) == 2
    texts = {verdict.comparison.case: text for verdict, text in explained(found) if verdict.comparison.primary}
    for verdict in session.verdicts:
        if id(verdict) in expected:
            assert verdict.adjusted == pytest.approx(expected[id(verdict)])
            text = texts[verdict.comparison.case]
            assert "get signs in all 2^" in text
            assert float(REACHED.findall(text)[0][2]) == pytest.approx(verdict.adjusted, rel=1e-5)


def test_every_own_test_and_adjustment_is_shown_with_its_numbers(sides) -> None:
    texts = explained(sides({CONSE: [*range(25)], TIMM: [3, 4, 20]}))
    assert {verdict.adjustment.method for verdict, _ in texts} >= {JOINT, HOLM}
    assert any(verdict.regression for verdict, _ in texts)
    for verdict, text in texts:
        comparison = verdict.comparison
        assert f"So the verdict is: {verdict.decision}." in text
        if shown := MCNEMAR.search(text):
            fewer, changed = int(shown[1]), int(shown[2])
            p = min(1.0, 2 * sum(comb(changed, count) for count in range(fewer + 1)) / 2**changed)
            assert (float(shown[3]), comparison.p) == (pytest.approx(p, rel=1e-5), pytest.approx(p))
        if verdict.adjustment.method == JOINT and (shown := REACHED.search(text)):
            reached, total = (int(number.replace(",", "")) for number in shown.groups()[:2])
            assert reached / total * verdict.adjustment.factor == pytest.approx(verdict.adjusted)
            assert (verdict.adjusted, verdict.adjustment.factor) != (1, 2)
        if "Multiplied by 2, as below, it is 1 or more." in text:
            assert (verdict.adjusted, verdict.adjustment.factor) == (1, 2)
        if verdict.adjustment.method == HOLM:
            assert f"Holm's correction of {verdict.adjustment.numbers} numbers, the other metrics" in text
    assert sum(bool(MCNEMAR.search(text)) for _, text in texts) >= 4
    assert sum(bool(REACHED.search(text)) for _, text in texts) >= 2
    assert sum("it is 1 or more" in text for _, text in texts) >= 1


def test_the_command_explains_and_names_what_is_missing(
    make_run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ("zero_shot", [truth[0] for truth in TRUTHS])
    before, after, other = (
        make_run(name, models={model: said}, truths=TRUTHS, labels=("ImGT",))
        for name, model in (("before", CONSE), ("after", CONSE), ("other", TIMM))
    )
    assert main(["explain", after, "imagenet", "--baseline", before]) == 0
    assert "acc1 (ImGT): no regression" in capsys.readouterr().out
    assert main(["explain", after, "imagenet", "--baseline", before, "--metric", "pooled"]) == 2
    assert re.search(
        r"pooled of imagenet/\S+ \(zero_shot\) was not compared\. Compared are: acc1", capsys.readouterr().err
    )
    assert main(["explain", after, "imagenet", "--baseline", other]) == 2
    assert "have no case in common" in capsys.readouterr().err


def test_limits_are_in_the_unit_of_their_metric_and_below_0_a_gain(sides) -> None:
    found = sides({CONSE: [*range(25)], TIMM: [3, 4, 20]})
    for verdict, text in explained(found):
        if verdict.comparison.metric.name in ("acc1", "mean_per_class_recall"):
            assert re.search(r"The largest loss that is not excluded, one-sided at 0\.99, is [\d.]+ points?;", text)
    gains = explained(MatchedSides(found.names, found.after, found.before, found.folders))
    shown = [(verdict.limit, text) for verdict, text in gains if verdict.limit < 0]
    assert shown
    for limit, text in shown:
        assert f"Every loss is excluded, one-sided at 0.99: the gain is at least {format_points(-limit)};" in text
