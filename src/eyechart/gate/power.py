"""How small a loss would be found: by a comparison, or by one with a run that is held against nothing yet."""

from collections.abc import Iterator, Sequence
from math import isnan

from scipy.special import ndtri

from eyechart.gate.comparing import MCNEMAR, UNSURE, Compared, Verdict, title
from eyechart.gate.evidence import Evidence, Proof
from eyechart.gate.headlines import ANSWERED, LABELLED
from eyechart.gate.telling import size
from eyechart.metrics.intervals import Interval
from eyechart.metrics.significance import detectable, interval_change

POWER = 0.8
SUPPOSED = 0.05  # the share of a run's samples whose outcome is another in the next one, where nobody has seen it


def power_lines(verdicts: Sequence[Verdict], alpha: float) -> Iterator[str]:
    """The smallest loss that each comparison would find four times in five, at the hardest place in the session."""
    tests = sum(not isnan(verdict.found.p) for verdict in verdicts)
    for verdict in verdicts:
        found = verdict.found
        what = worded(smallest(found, alpha / max(1, tests)))
        samples = size(found.n, found.n_clusters)
        yield f"{found.case} ({found.protocol}): {found.name} {what} ({samples}, {found.method})"


def smallest(found: Compared, alpha: float) -> float:
    """The smallest loss that one comparison would find, a fraction: of a share exactly, else as if it were normal."""
    if found.method == MCNEMAR:
        return (
            detectable(found.n, (len(found.lost) + found.gained) / found.n, alpha, POWER) if found.n else float("nan")
        )
    return float("nan") if found.ci is None or isnan(found.p) else normal(found.ci, alpha)


def normal(ci: Interval, alpha: float) -> float:
    """The loss that is found by a change whose interval is so wide; NaN where it has none."""
    error = (ci.high - ci.low) / 2 / float(ndtri(0.975))
    return error * float(ndtri(1 - alpha / 2) + ndtri(POWER))


def worded(least: float) -> str:
    """A loss in words."""
    return "would show no loss" if isnan(least) else f"would show a loss of {100 * least:.2f} points"


def power_alone(found: Sequence[Evidence], alpha: float) -> Iterator[str]:
    """The smallest loss that each number of a session would show against another such session, by this one alone."""
    every = [(now, proof) for now in found for proof in now.proofs]
    twins = {(id(now), *proof.key[:2]) for now, proof in every if proof.category == LABELLED}
    numbers = [
        (now, proof)
        for now, proof in every
        if proof.better
        and proof.value is not None
        and not (proof.name == ANSWERED and proof.value == 1)
        and not (proof.category == "A" and (id(now), *proof.key[:2]) in twins)
    ]
    for now, proof in numbers:
        least, how = alone(now, proof, alpha / len(numbers))
        what = f"{title(proof)} {worded(least)} ({size(proof.n, proof.images)}, {how})"
        yield f"{now.case} ({now.protocol}): {what}"


def alone(now: Evidence, proof: Proof, alpha: float) -> tuple[float, str]:
    """The smallest loss of one number, a fraction, and what is supposed of the other run."""
    if now.outcomes(proof) is not None:
        least = detectable(proof.images, SUPPOSED, alpha, POWER)  # as if the samples of a cluster changed together
        return least, f"exact McNemar, if {SUPPOSED:.0%} of these change"
    value, ends = float(proof.value or 0), proof.ci or UNSURE
    ci = interval_change(value, ends, value, ends).ci
    return normal(ci, alpha), "unpaired; less where the same samples are compared"
