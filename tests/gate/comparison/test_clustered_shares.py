"""Shares of samples that share a unit, such as photographs of one bird, are tested by units."""

from typing import Any

import numpy as np
import pytest

from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.verdicts.power import power_without_baseline
from eyechart.statistics.clusters import clustered_change_interval, clustered_mcnemar

GROUPS = np.repeat(np.arange(10), 4)  # ten observations of four photographs each
BEFORE = np.ones(40)
AFTER = np.where(GROUPS < 4, 0.0, 1.0)  # four observations lost, with all their photographs


def test_photographs_of_one_bird_are_lost_together(make: Any, share: Any) -> None:
    (found,) = compare_metrics(*(make(share(acc1=each), groups=GROUPS) for each in (BEFORE, AFTER)))
    assert found.p == clustered_mcnemar(BEFORE, AFTER, GROUPS).p == pytest.approx(2 * 0.5**4)
    assert found.ci == clustered_change_interval(BEFORE, AFTER, GROUPS)
    assert (found.n, found.n_clusters, len(found.lost), found.gained) == (40, 10, 16, 0)
    assert found.method == "exact sign flips of clusters"


def test_where_the_samples_that_count_are_of_a_unit_each_the_test_is_mcnemars(make: Any, share: Any) -> None:
    first = np.arange(40) % 4 == 0  # a photograph of each bird
    (found,) = compare_metrics(
        *(make(share(acc1=np.where(first, each, np.nan)), groups=GROUPS) for each in (BEFORE, AFTER))
    )
    assert (found.method, found.n, found.n_clusters) == ("exact McNemar", 10, 10)
    assert found.p == clustered_mcnemar(BEFORE, AFTER, GROUPS).p


def test_without_clusters_every_sample_is_its_own(make: Any, share: Any) -> None:
    (found,) = compare_metrics(*(make(share(acc1=each)) for each in (BEFORE, AFTER)))
    assert (found.method, found.n_clusters, found.p) == ("exact McNemar", 40, pytest.approx(2 * 0.5**16))


@pytest.mark.parametrize("which", ["baseline", "now"])
def test_a_baseline_without_clusters_takes_those_of_the_run_and_the_other_way_round(
    which: str, make: Any, share: Any
) -> None:
    groups = {"baseline": (None, GROUPS), "now": (GROUPS, None)}[which]
    sides = [make(share(acc1=each), groups=of) for each, of in zip((BEFORE, AFTER), groups, strict=True)]
    (found,) = compare_metrics(*sides)
    assert found.p == pytest.approx(2 * 0.5**4)


def test_a_number_says_of_how_many_observations_it_is(make: Any, share: Any) -> None:
    part = np.where(GROUPS < 3, BEFORE, np.nan)
    evidence = make(share(acc1=BEFORE, acc5=part), groups=GROUPS)
    assert [(proof.n, proof.sampling_units) for proof in evidence.metrics] == [(40, 10), (12, 3)]
    assert (evidence.cluster_ids() == GROUPS).all()
    evidence.check()
    assert "n=40 of 10 images" in next(power_without_baseline([evidence], 0.01))


def test_damaged_cluster_array_is_refused(make: Any, share: Any) -> None:
    evidence = make(share(acc1=BEFORE), groups=GROUPS, clusters="000000000000")
    with pytest.raises(ValueError, match="array 000000000000"):
        evidence.check()
