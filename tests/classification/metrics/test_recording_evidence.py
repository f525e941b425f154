"""What cases of classification are compared by: every number's outcomes or draws."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.results.evidence import Evidence, read_evidence
from eyechart.results.records import read_run
from eyechart.statistics.resampling import percentile_interval

PLAIN = {"acc1", "acc5", "mean_per_class_recall", "intersection"}
SURE = {"ece", "brier", "accuracy_coverage_auc", "log_score", "target_brier"}


@pytest.fixture
def evidence(run_folder: Path) -> Callable[[str], list[Evidence]]:
    """The evidence of the run's cases of a protocol."""

    def evidence(protocol: str) -> list[Evidence]:
        files = [record.evidence for record in read_run(run_folder).records if record.protocol == protocol]
        return [read_evidence(run_folder / file.path) for file in files if file is not None]

    return evidence


@pytest.mark.deep
@pytest.mark.parametrize(("protocol", "names"), [("supervised", PLAIN | SURE), ("zero_shot", PLAIN)])
def test_a_run_is_itself(evidence: Any, unchanged: Any, protocol: str, names: set[str]) -> None:
    found = evidence(protocol)
    assert found
    assert all(unchanged(each) == names for each in found)


def test_draws_lie_around_their_numbers(evidence: Any) -> None:
    (found,) = evidence("supervised")
    drawn = {
        proof: found.bootstrap_samples(proof)
        for proof in found.metrics
        if proof.bootstrap_samples and proof.name != "ece"
    }
    assert {proof.name for proof in drawn} == {"mean_per_class_recall", "brier", "accuracy_coverage_auc"}
    assert [np.nanmean(each) for each in drawn.values()] == pytest.approx([each.value for each in drawn], abs=0.05)
    assert all(
        percentile_interval(draws).low <= proof.value <= percentile_interval(draws).high
        for proof, draws in drawn.items()
    )
