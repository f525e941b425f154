"""What tests of gate/verdicts share."""

from typing import Any

from eyechart.gate.comparison.compare_metrics import (
    MetricComparison,
)

NAN = float("nan")


def found(p: float = NAN, delta: float = -0.1, **other: Any) -> MetricComparison:
    """A comparison of which only some things matter."""
    from eyechart.results.evidence import MetricEvidence

    better = other.pop("better", 1)
    proof = MetricEvidence(
        name=other.pop("name", "acc1"), labels="ImGT", subset="all", value=0.5, n=10, direction=better
    )
    names = {"case": "imagenet/val/m[]", "protocol": "mcq", "model": "m[]"}
    whole = names | {"before": 0.5, "after": 0.5 + delta, "ci": None}
    counts = {"n": 10, "n_clusters": other.get("n", 10)}
    return MetricComparison(
        **(whole | counts | {"metric": proof, "delta": delta, "p": p, "method": "exact McNemar"} | other)
    )
