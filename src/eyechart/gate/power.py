"""How small a loss would be found: by a comparison, or by one with a run that is held against nothing yet."""

from collections.abc import Iterator, Sequence
from math import isnan

from scipy.special import ndtri

from eyechart.gate.compare import MCNEMAR, NO_INTERVAL, MetricComparison, Verdict, metric_title
from eyechart.gate.evidence import Evidence, MetricEvidence
from eyechart.gate.headlines import ANSWERED, LABELLED
from eyechart.gate.messages import describe_n
from eyechart.metrics.intervals import Interval
from eyechart.metrics.significance import interval_change, minimum_detectable_loss

POWER = 0.8
SUPPOSED = 0.05  # the share of a run's samples whose outcome is another in the next one, where nobody has seen it


def power_lines(verdicts: Sequence[Verdict], alpha: float) -> Iterator[str]:
    """The smallest loss that each comparison would find four times in five, at the hardest place in the session."""
    tests = sum(not isnan(verdict.comparison.p) for verdict in verdicts)
    for verdict in verdicts:
        found = verdict.comparison
        what = describe_detectable_loss(smallest_detectable_loss(found, alpha / max(1, tests)))
        samples = describe_n(found.n, found.n_clusters)
        yield f"{found.case} ({found.protocol}): {found.name} {what} ({samples}, {found.method})"


def smallest_detectable_loss(found: MetricComparison, alpha: float) -> float:
    """The smallest loss that one comparison would find, a fraction: of a share exactly, else as if it were normal."""
    if found.method == MCNEMAR:
        return (
            minimum_detectable_loss(found.n, (len(found.lost) + found.gained) / found.n, alpha, POWER)
            if found.n
            else float("nan")
        )
    return float("nan") if found.ci is None or isnan(found.p) else detectable_by_interval(found.ci, alpha)


def detectable_by_interval(ci: Interval, alpha: float) -> float:
    """The loss that is found by a change whose interval is so wide; NaN where it has none."""
    error = (ci.high - ci.low) / 2 / float(ndtri(0.975))
    return error * float(ndtri(1 - alpha / 2) + ndtri(POWER))


def describe_detectable_loss(least: float) -> str:
    """A loss in words."""
    return "would show no loss" if isnan(least) else f"would show a loss of {100 * least:.2f} points"


def power_without_baseline(found: Sequence[Evidence], alpha: float) -> Iterator[str]:
    """The smallest loss that each number of a session would show against another such session, by this one alone."""
    every = [(now, proof) for now in found for proof in now.metrics]
    twins = {(id(now), *proof.key[:2]) for now, proof in every if proof.category == LABELLED}
    numbers = [
        (now, proof)
        for now, proof in every
        if proof.direction
        and proof.value is not None
        and not (proof.name == ANSWERED and proof.value == 1)
        and not (proof.category == "A" and (id(now), *proof.key[:2]) in twins)
    ]
    for now, proof in numbers:
        least, how = minimum_detectable_effect(now, proof, alpha / len(numbers))
        samples = describe_n(proof.n, proof.sampling_units)
        what = f"{metric_title(proof)} {describe_detectable_loss(least)} ({samples}, {how})"
        yield f"{now.case} ({now.protocol}): {what}"


def minimum_detectable_effect(now: Evidence, proof: MetricEvidence, alpha: float) -> tuple[float, str]:
    """The smallest loss of one number, a fraction, and what is supposed of the other run."""
    if now.sample_outcomes(proof) is not None:
        least = minimum_detectable_loss(
            proof.sampling_units, SUPPOSED, alpha, POWER
        )  # as if the samples of a cluster changed together
        return least, f"exact McNemar, if {SUPPOSED:.0%} of these change"
    value, ends = float(proof.value or 0), proof.ci or NO_INTERVAL
    ci = interval_change(value, ends, value, ends).ci
    return detectable_by_interval(ci, alpha), "unpaired; less where the same samples are compared"
