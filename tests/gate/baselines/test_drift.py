"""Drift: small losses of accepted baselines add up, gains are no credit, and false alarms are rare."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.gate.baselines.baseline_files import read_baseline, read_drifts, write_baselines
from eyechart.gate.baselines.drift import NO_DRIFT, Drift, add_version, count_changes
from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.verdicts.verdict_messages import describe_written_baseline
from eyechart.statistics.e_values import loss_log_e_value
from eyechart.statistics.significance import mcnemar

ALPHA = 0.01
RIGHT = np.ones(200)


def worse(lost: int, first: int = 0) -> Any:
    """Outcomes of which so many are wrong, from a first one on."""
    outcomes = RIGHT.copy()
    outcomes[first : first + lost] = 0
    return outcomes


def test_versions_add_up_and_gains_are_no_credit() -> None:
    drift = NO_DRIFT.add(5, 2).add(4, 1)
    assert drift == Drift(updates=2, lost=9, gained=3)
    assert drift.log_e_value == pytest.approx(float(loss_log_e_value(9, 3)))
    assert drift.add(0, 0) == drift
    assert drift.add(0, 40) == NO_DRIFT
    assert NO_DRIFT.add(1, 9) == NO_DRIFT
    assert str(Drift(updates=2, lost=20, gained=3)) == "20 images lost and 3 gained over 2 versions (e-value 186)"


def test_one_version_is_no_alarm_since_the_gate_tests_it() -> None:
    assert not Drift(updates=1, lost=90, gained=0).is_alarm(ALPHA)
    assert Drift(updates=2, lost=90, gained=0).is_alarm(ALPHA)


def test_losses_that_no_gate_finds_raise_an_alarm() -> None:
    """Each version loses 6 images and gains 3."""
    drift, versions = NO_DRIFT, 0
    while not drift.is_alarm(ALPHA):
        drift, versions = drift.add(6, 3), versions + 1
    assert mcnemar(np.repeat([1, 0], [6, 3]), np.repeat([0, 1], [6, 3])).p > 0.5
    assert versions == 12


def test_false_alarms_are_at_most_one_in_a_hundred_versions() -> None:
    draws, alarms, versions = np.random.default_rng(5), 0, 0
    for _ in range(30):
        drift = NO_DRIFT
        for lost in draws.binomial(12, 0.5, 100):
            drift, versions = drift.add(int(lost), 12 - int(lost)), versions + 1
            if drift.is_alarm(ALPHA):
                alarms, drift = alarms + 1, NO_DRIFT
    assert versions == 3_000
    assert 0 < alarms <= ALPHA * versions


def test_images_are_counted_once_for_all_cases_of_a_split(make: Any, share: Any) -> None:
    comparisons = [
        comparison
        for index, outcomes in enumerate((worse(3), worse(3, first=2)))
        for comparison in compare_metrics(
            *(make(share(acc1=side, acc5=side), protocol=f"p{index}") for side in (RIGHT, outcomes))
        )
    ]
    assert count_changes(comparisons) == (5, 0)
    assert count_changes([]) == (0, 0)


def test_a_baseline_counts_its_versions_and_starts_again_after_an_alarm(make: Any, share: Any, tmp_path: Path) -> None:
    written = [write_baselines(tmp_path, [make(share(acc1=worse(lost)))], ALPHA)[0] for lost in range(0, 48, 3)]
    alarms = [index for index, one in enumerate(written) if one.drift.updates]
    first = written[alarms[0]]
    total = f"its versions together have lost: {3 * alarms[0]} images lost and 0 gained"
    assert total in describe_written_baseline(first)
    assert alarms[0] <= 5
    assert alarms[1] == 2 * alarms[0]
    kept = read_baseline(first.path)
    rest = read_drifts([first.path])[kept.benchmark, kept.model]
    assert (kept.drift or NO_DRIFT) == rest
    assert rest.lost + sum(written[index].drift.lost for index in alarms) == 45


def test_a_version_on_other_data_does_not_count(make: Any, share: Any) -> None:
    before, after = (make(share(acc1=outcomes)) for outcomes in (RIGHT, worse(9)))
    assert add_version(NO_DRIFT, [before], [after]).lost == 9
    assert add_version(NO_DRIFT, [before], [replace(after, fingerprint="g")]) == NO_DRIFT
    assert add_version(NO_DRIFT, [replace(before, case="imagenet/other/m[]")], [after]) == NO_DRIFT


def test_the_first_version_has_no_count(make: Any, share: Any, tmp_path: Path) -> None:
    (written,) = write_baselines(tmp_path, [make(share(acc1=RIGHT))])
    assert b"drift" not in written.path.read_bytes()
    assert read_drifts([written.path]) == {("imagenet", "m[]"): NO_DRIFT}
