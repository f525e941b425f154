"""The sentence that the page opens with: the verdict of the gate, and the smallest loss that the runs would show."""

from collections.abc import Iterator, Sequence

from eyechart.gate.messages import count_fallen, describe_confidence, describe_session
from eyechart.gate.power import POWER, kind_of, minimum_detectable_effect, smallest_detectable_loss, strictest_levels
from eyechart.gate.verdicts import IMPROVEMENT, INCONCLUSIVE, REGRESSION, TOLERATED, primary_verdicts, session_verdict
from eyechart.plurals import count_of

from ..evidence_io import case_evidence
from ..render import one_line
from ..runs import Runs
from .changes import Changes
from .paired import Ranking, describe_rankings
from .summary import first_metric

NOTHING = "Nothing was compared: this page has no baseline and no earlier run."
NOW, AGAIN = "This comparison", "A comparison of another run with this one"


def summarise_verdict(runs: Runs, changes: Changes, rankings: Sequence[Ranking] = ()) -> dict[str, str]:
    """Return the verdict on all cases: its kind (loss, passed, open, ranks), its sentence, and the detectable losses.

    Without a baseline and an earlier run the verdict is about the models, if several were evaluated.
    """
    decisions = [verdict.decision for _, verdict in changes.outcome.verdicts]
    against = one_line(changes.against)
    if not decisions:
        losses = list(losses_without_comparison(runs, changes))
        ranks = "" if changes.has_content else describe_rankings(rankings, changes.rule.alpha)
        text = f"Nothing was compared with {against}." if changes.has_content else ranks or NOTHING
        return {"kind": "ranks" if ranks else "open", "text": text, "detects": describe_losses(AGAIN, losses)}
    losses = list(losses_of_comparison(changes))
    worse, tolerated, better = (decisions.count(word) for word in (REGRESSION, TOLERATED, IMPROVEMENT))
    fallen = count_fallen(verdict for _, verdict in changes.outcome.verdicts)
    more = [
        f"{fallen} worse but not significantly" if fallen else "",
        f"{tolerated} tolerated" if tolerated else "",
        f"{better} better" if better else "",
    ]
    ending = "".join(f", {part}" for part in more if part)
    if worse:
        share = f"{worse} of {count_of(len(decisions), 'number')}"
        text = f"{share} {'is' if worse == 1 else 'are'} significantly worse than {against}{ending}."
    else:
        text = f"No number is significantly worse than {against}: {len(decisions)} compared{ending}."
    verdicts = changes.outcome.every
    decision = session_verdict(verdicts)
    lost = decision == REGRESSION
    if decision == INCONCLUSIVE or (lost and not worse):
        sentence = describe_session(verdicts)
        text = f"{text} {sentence[0].upper()}{sentence[1:]}."
    if confidence := describe_confidence(verdicts):
        text = text if decision == INCONCLUSIVE or (lost and not worse) else f"{text} {confidence.capitalize()}."
        kind = "loss" if lost else "open"
        return {"kind": kind, "text": text, "detects": describe_losses(NOW, losses)}
    kind = "loss" if lost else "open" if decision == INCONCLUSIVE else "passed"
    return {"kind": kind, "text": text, "detects": describe_losses(NOW, losses)}


def describe_losses(subject: str, losses: list[float]) -> str:
    """Return a sentence about the smallest detectable losses of the main metrics, fractions; "" without one.

    >>> describe_losses("It", [0.021, 0.5, 1.2, float("nan")])[:70]
    'It detects a loss of 2.1 to 50.0 points, depending on the case, in the'
    """
    known = [100 * loss for loss in losses if loss < 1]  # without NaN
    if not known:
        return f"{subject} has too few samples to detect any loss." if losses else ""
    low, high = f"{min(known):.1f}", f"{max(known):.1f}"
    points = f"{low} points" if low == high else f"{low} to {high} points, depending on the case,"
    text = f"{subject} detects a loss of {points} in the main metric with a probability of {POWER:.0%}"
    few = len(losses) - len(known)
    return f"{text}; {few} of {len(losses)} cases have too few samples." if few else f"{text}."


def losses_of_comparison(changes: Changes) -> Iterator[float]:
    """Yield the smallest loss of each case's primary metric that its comparison would detect."""
    verdicts = [verdict for _, verdict in changes.outcome.verdicts]
    primary = [verdict.comparison for verdict in primary_verdicts(verdicts)]
    levels = strictest_levels(primary, changes.rule.alpha)
    return (smallest_detectable_loss(comparison, levels[kind_of(comparison)]) for comparison in primary)


def losses_without_comparison(runs: Runs, changes: Changes) -> Iterator[float]:
    """Yield the smallest loss of each case's main metric that a comparison with a later run would detect."""
    main = [
        (case, metric)
        for case in runs.cases
        if (metric := first_metric(case)) is not None and metric.higher_is_better is not None and case.record.evidence
    ]
    for case, metric in main:
        evidence = case_evidence(case.record, case.folder)
        for kept in evidence.metrics:
            if kept.key == metric.key:
                yield minimum_detectable_effect(evidence, kept, changes.rule.alpha / len(main))[0]
