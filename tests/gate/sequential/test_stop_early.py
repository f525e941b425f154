"""Which cases can stop early, and what a sequential case is compared by."""

from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.errors import SpecError
from eyechart.gate.comparison.compare_metrics import BETTING, compare_metrics
from eyechart.gate.sequential.stop_early import LOSS, NO_LOSS, SequentialTest, can_be_sequential
from eyechart.gate.verdicts.decide import Rule, decide
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.results.evidence import digest, pack_clusters
from eyechart.statistics.e_values import loss_log_e_value, sequential_loss_limit

RIGHT = np.array([1, 1, 1, 0] * 100, np.float64)


def changed(lost: int, gained: int = 0) -> Any:
    """The outcomes of `RIGHT`, of which so many changed."""
    outcomes = RIGHT.copy()
    outcomes[np.flatnonzero(RIGHT == 1)[:lost]] = 0
    outcomes[np.flatnonzero(RIGHT == 0)[:gained]] = 1
    return outcomes


def test_a_proportion_of_independent_images_can_be_sequential(make: Any, share: Any, drawn: Any) -> None:
    groups = np.arange(400) // 2
    birds = replace(make(share(acc1=RIGHT), groups=groups), clusters=digest(pack_clusters(groups)))
    assert can_be_sequential(make(share(acc1=RIGHT)))
    assert not can_be_sequential(birds)
    assert not can_be_sequential(make([drawn(RIGHT)]))
    assert not can_be_sequential(make(share(answered=RIGHT)))


@pytest.mark.parametrize(
    ("lost", "gained", "margin", "reason"),
    [
        (40, 2, None, LOSS),
        (5, 5, 0.1, NO_LOSS),
        (5, 5, 0.01, ""),
        (5, 5, None, ""),
        (2, 40, None, ""),
        (2, 40, 0.1, NO_LOSS),
    ],
)
def test_the_test_decides_by_the_primary_metric(
    make: Any, share: Any, lost: int, gained: int, margin: float | None, reason: str
) -> None:
    before, now = (make(share(acc1=outcomes, acc5=RIGHT)) for outcomes in (RIGHT, changed(lost, gained)))
    assert SequentialTest(before, 0.01, 0.01, margin).decide(now) == reason
    assert SequentialTest(before, 0.01, 0.01, margin).decide(replace(now, seed=7)) == ""


def test_a_sequential_case_has_its_primary_metric_alone_and_an_e_process(make: Any, share: Any) -> None:
    before, after = (make(share(acc1=outcomes, acc5=RIGHT)) for outcomes in (RIGHT, changed(20, 4)))
    (comparison,) = compare_metrics(before, replace(after, sequential=True, weights_sha256="1" * 64))
    assert (comparison.method, comparison.primary, comparison.n_lost, comparison.gained) == (BETTING, True, 20, 4)
    assert comparison.p == pytest.approx(exp(-loss_log_e_value(20, 4)))
    assert comparison.loss_limit(0.01) == sequential_loss_limit(20, 4, 400, 0.01)
    assert comparison.ci is not None
    assert comparison.ci.low < comparison.delta < 0
    assert comparison.ci.high == pytest.approx(sequential_loss_limit(4, 20, 400, 0.025))
    (verdict,) = decide([comparison], Rule(0.2))
    assert verdict.decision == "regression"
    (better,) = compare_metrics(after, replace(before, sequential=True, weights_sha256="1" * 64))
    assert better.p == 1  # the test is one-sided


def test_requests_that_depend_on_the_limit_are_refused(tmp_path: Path) -> None:
    runner = Runner(Store(tmp_path), 100, 42, lambda *_: None, in_blocks=True)
    with pytest.raises(SpecError, match=r"--eye-sequential: .* ask about one image a request \(images_per_request=1\)"):
        _ = runner.fixed_limit
    assert Runner(Store(tmp_path), 100, 42, lambda *_: None).fixed_limit == 100
