"""The smallest loss that the gate would detect: in a comparison, or in a later one of a run without a baseline."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isnan

from scipy.special import ndtri

from eyechart.gate.comparison.compare_metrics import (
    MCNEMAR,
    NO_INTERVAL,
    SIGN_FLIPS,
    MetricComparison,
    compare_metrics,
)
from eyechart.gate.verdicts.decide import Verdict
from eyechart.gate.verdicts.verdict_messages import describe_n
from eyechart.results.evidence import Evidence, MetricEvidence
from eyechart.results.glossary import is_percent
from eyechart.results.metric_definitions import range_of
from eyechart.statistics.intervals import Interval
from eyechart.statistics.significance import interval_change, minimum_detectable_loss

POWER = 0.8
Kind = tuple[str, bool]
SUPPOSED = 0.05  # the assumed proportion of samples whose outcome changes between two runs


def power_lines(verdicts: Sequence[Verdict], alpha: float) -> Iterator[str]:
    """Yield for each comparison the smallest loss with a power of 0.8, at the strictest level that it may need."""
    comparisons = [verdict.comparison for verdict in verdicts]
    levels = strictest_levels([comparison for comparison in comparisons if not isnan(comparison.p)], alpha)
    for comparison in comparisons:
        smallest = smallest_detectable_loss(comparison, levels.get(kind_of(comparison), alpha))
        most = _largest_loss(comparison.range_name, comparison.before, comparison.metric.direction)
        loss = _describe_detectable_loss(comparison.range_name, smallest, most, counted=comparison.is_proportion)
        samples = describe_n(comparison.n, comparison.n_clusters)
        name = f"{comparison.case} ({comparison.protocol}): {comparison.name}"
        yield f"{name} {loss} ({samples}, {comparison.method})"


def strictest_levels(comparisons: Iterable[MetricComparison], alpha: float) -> Mapping[Kind, float]:
    """Return the significance level that one test of each kind needs at worst: that of Bonferroni's correction.

    The joint test of proportions needs less where metrics are correlated or few samples change.
    """
    tests = Counter(map(kind_of, comparisons))
    kinds = Counter(family for family, _ in tests)
    return {kind: alpha / kinds[kind[0]] / count for kind, count in tests.items()}


def kind_of(comparison: MetricComparison) -> Kind:
    """Return the family of a metric, and whether it is tested jointly with others."""
    return comparison.family, bool(comparison.changes)


def smallest_detectable_loss(comparison: MetricComparison, alpha: float) -> float:
    """Return the smallest loss, a fraction, that a comparison would detect.

    It is exact for McNemar's test. Clustered samples count as their effective number, other metrics as normal.
    """
    if comparison.method in (MCNEMAR, SIGN_FLIPS):
        if not comparison.n:
            return float("nan")
        n = comparison.n if comparison.method == MCNEMAR else int(comparison.effective_n)
        return minimum_detectable_loss(n, (comparison.n_lost + comparison.gained) / comparison.n, alpha, POWER)
    return (
        float("nan") if comparison.ci is None or isnan(comparison.p) else _detectable_by_interval(comparison.ci, alpha)
    )


def _detectable_by_interval(ci: Interval, alpha: float) -> float:
    """Return the smallest loss that is detected by a change with this 95 % interval; NaN where the interval is NaN."""
    error = (ci.high - ci.low) / 2 / float(ndtri(0.975))
    return error * float(ndtri(1 - alpha / 2) + ndtri(POWER))


def _describe_detectable_loss(name: str, loss: float, most: float = inf, *, counted: bool = False) -> str:
    """Return a sentence part about the smallest detectable loss of a metric, of most metrics a fraction.

    A metric that counts samples (`counted`) is one whatever its name is, as a pooled one.

    One that is larger than the metric can lose at most is no loss that a comparison would show.

    >>> _describe_detectable_loss("acc1", 0.0123), _describe_detectable_loss("log_score", 0.0123)
    ('would show a loss of 1.23 points', 'would show a loss of 0.0123')
    """
    if isnan(loss) or loss > most:
        return "would show no loss"
    in_points = is_percent(name, loss, counted=counted)
    return f"would show a loss of {f'{100 * loss:.2f} points' if in_points else f'{loss:.4f}'}"


def power_without_baseline(cases: Sequence[Evidence], alpha: float) -> Iterator[str]:
    """Yield for each metric of a session the smallest loss that a comparison with a similar session would detect."""
    judged = [(evidence, comparison) for evidence in cases for comparison in compare_metrics(evidence, evidence)]
    levels = strictest_levels([comparison for _, comparison in judged], alpha)
    for evidence, comparison in judged:
        metric = comparison.metric
        loss, method = minimum_detectable_effect(evidence, metric, levels[kind_of(comparison)])
        samples = describe_n(metric.n, metric.sampling_units)
        most = _largest_loss(metric.name, float(metric.value or 0), metric.direction)
        text = f"{metric.full_name} {_describe_detectable_loss(metric.name, loss, most)} ({samples}, {method})"
        yield f"{evidence.case} ({evidence.protocol}): {text}"


def minimum_detectable_effect(evidence: Evidence, metric: MetricEvidence, alpha: float) -> tuple[float, str]:
    """Return the smallest detectable loss of a metric, a fraction, and the test with its assumption."""
    if evidence.sample_outcomes(metric) is not None:
        loss = minimum_detectable_loss(
            metric.sampling_units, SUPPOSED, alpha, POWER
        )  # samples of a cluster change together
        return loss, f"exact McNemar, if {SUPPOSED:.0%} of these change"
    value, bounds = float(metric.value or 0), metric.ci or NO_INTERVAL
    ci = interval_change(value, bounds, value, bounds).ci
    return _detectable_by_interval(ci, alpha), "unpaired; less where the same samples are compared"


def _largest_loss(name: str, value: float, direction: int) -> float:
    """Return the largest loss that a metric with this value can have; infinite where its range is not known.

    A metric that is not known counts as a share if its value may be one.

    >>> _largest_loss("acc1", 0.75, 1), _largest_loss("aurc", 0.25, -1), _largest_loss("length", 9.9, 1)
    (0.75, 0.75, inf)
    >>> _largest_loss("acc_delta", -0.25, 1), _largest_loss("mcc_delta", -0.25, 1), _largest_loss("f1", 85.0, 1)
    (0.75, 1.75, inf)
    """
    least, most = range_of(name)
    if (least, most) == (-inf, inf) and is_percent(name, value, counted=True):
        least, most = (0.0, 1.0) if value >= 0 else (-1.0, 1.0)
    if not least <= value <= most:
        return inf
    return value - least if direction > 0 else most - value
