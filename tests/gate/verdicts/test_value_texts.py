"""Values and changes as texts: what is in percent and points, and what stays a number."""

import pytest

from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.gate.verdicts.value_texts import compared_values, format_change, is_percent_change
from eyechart.results.evidence import MetricEvidence
from eyechart.statistics.intervals import Interval


def moved(name: str, before: float, after: float, ci: Interval | None) -> MetricComparison:
    """A number that moved."""
    proof = MetricEvidence(name=name, labels="ImGT", subset="all", value=before, n=400, direction=1)
    sizes = {"before": before, "after": after, "delta": after - before}
    return MetricComparison(
        "imagenet/val/m[]", "zero_shot", "m[]", proof, **sizes, n=400, n_clusters=400, ci=ci, p=0.5, method="student"
    )


@pytest.mark.parametrize(
    ("comparison", "values", "change", "with_interval"),
    [
        (
            moved("acc1", 0.625, 0.5675, Interval(-0.101, -0.014)),
            ("62.50 %", "56.75 %"),
            "-5.75 points",
            "-5.75 points [-10.10, -1.40]",
        ),
        (
            moved("log_score", -2.4852, -2.4702, Interval(-0.001, 0.031)),
            ("-2.4852", "-2.4702"),
            "+0.0150",
            "+0.0150 [-0.0010, +0.0310]",
        ),
        (moved("acc1", 0.5, 0.5, None), ("50.00 %", "50.00 %"), "+0.00 points", "+0.00 points"),
        (moved("exact_match", 0.99, 99, None), ("0.9900", "99.0000"), "+98.0100", "+98.0100"),  # two scales
    ],
    ids=["percent", "number", "no interval", "beyond 1"],
)
def test_a_change_is_in_points_where_both_values_are_in_percent(
    comparison: MetricComparison, values: tuple[str, str], change: str, with_interval: str
) -> None:
    assert compared_values(comparison) == values
    assert (format_change(comparison, with_interval=False), format_change(comparison)) == (change, with_interval)
    assert is_percent_change(comparison) == ("%" in values[0])
