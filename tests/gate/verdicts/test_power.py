"""Tests of `eyechart.gate.verdicts.power`."""

import re
from typing import Any

import numpy as np
import pytest

from eyechart.gate.comparison.compare_metrics import (
    compare_metrics,
)
from eyechart.gate.verdicts.decide import Rule, decide, decide_with_models
from eyechart.gate.verdicts.power import SUPPOSED, power_lines, power_without_baseline
from eyechart.gate.verdicts.verdict_messages import (
    describe_loss,
)
from eyechart.results.estimates import score_estimates
from eyechart.statistics.intervals import Interval
from eyechart.statistics.significance import minimum_detectable_loss
from tests.gate.found_numbers import NAN, found


def test_what_counts_answers_says_of_how_many_images(make: Any) -> None:
    (verdict,) = decide([found(1e-9, n=24, n_clusters=7)], Rule(0.01))
    assert "-10.00 points, n=24 of 7 images\n" in describe_loss([verdict], [], make([]).keys)
    assert "(n=24 of 7 images, exact McNemar)" in next(power_lines([verdict], 0.01))


def test_power_is_at_the_hardest_place_of_the_session() -> None:
    share_of = found(0.5, n=1000, lost=tuple(range(30)), gained=20)
    other = found(0.5, ci=Interval(-0.02, 0.02), method="paired bootstrap", name="f1")
    none, small = found(NAN, method="unpaired"), found(1.0, n=3)
    said = list(power_lines(decide([share_of, other, none, small]), 0.01))
    assert f"a loss of {100 * minimum_detectable_loss(1000, 0.05, 0.01 / 3):.2f} points" in said[0]
    assert "f1 (ImGT) would show a loss of 3.85 points" in said[1]
    assert ["would show no loss" in line for line in said] == [False, False, True, True]


def test_power_without_a_baseline_supposes_what_nobody_saw(make: Any, share: Any, named: Any) -> None:
    given = [
        *share(acc1=[1, 0] * 300, oop=[1] * 600),
        named("f1", n=600, interval=Interval(0.46, 0.54)),
        named("mcc", None),
        named("ig"),
        named("ece", interval=None),
    ]
    said = list(power_without_baseline([make(given), make(share(acc5=[0, NAN, 0]))], 0.01))
    least = 100 * minimum_detectable_loss(600, SUPPOSED, 0.01 / 2)
    assert f"acc1 (ImGT) would show a loss of {least:.2f} points (n=600, exact McNemar, if 5% of these" in said[0]
    assert "f1 (ImGT) would show a loss of" in said[1]
    assert "unpaired; less where the same samples are compared" in said[1]
    assert "acc5 (ImGT) would show no loss" in said[-1]
    assert "ece (ImGT) would show no loss" in said[3]
    assert len(said) == 5


@pytest.mark.parametrize("n", [2, 3, 10])
def test_no_loss_is_larger_than_what_there_is_to_lose(make: Any, named: Any, n: int) -> None:
    given = [
        *(named(name, 0.9, n=n, interval=Interval(0.05, 1.0)) for name in ("f1", "auc", "aurc", "of_a_user")),
        *score_estimates("ImGT", np.log(np.linspace(0.05, 0.95, n))),
    ]
    case = make(given, samples=n)
    verdicts = decide([*compare_metrics(case, case)])
    for line in (*power_without_baseline([case], 0.01), *power_lines(verdicts, 0.01)):
        if found := re.search(r"would show a loss of ([\d.]+)( points)?", line):
            loss = float(found[1]) / (100 if found[2] else 1)
            assert loss <= (np.log(1e6) if "log_score" in line else 1), line
    for verdict in verdicts:
        most = np.log(1e6) if verdict.comparison.metric.name == "log_score" else 1
        assert not verdict.limit > most
        assert verdict.comparison.ci is None or max(map(abs, verdict.comparison.ci)) <= most


def test_the_loss_of_a_model_over_all_cases_is_in_points(make: Any, share: Any) -> None:
    sides = [
        [make(share(acc1=[1, 0] * 30), case=f"imagenet/{split}/m[]") for split in ("a", "b")] for _ in ("before", "now")
    ]
    parts = [comparison for pair in zip(*sides, strict=True) for comparison in compare_metrics(*pair)]
    _, pooled = decide_with_models(parts)
    (line,) = power_lines(pooled, 0.01)
    assert re.search(r"primary metrics, pooled would show a loss of [\d.]+ points \(n=120", line)
