"""The sentence that the page opens with: the verdict of the gate, and the smallest loss that the runs would show."""

from collections.abc import Iterator, Sequence
from typing import Any

from eyechart.gate.verdicts.decide import (
    IMPROVEMENT,
    INCONCLUSIVE,
    REGRESSION,
    TOLERATED,
    Verdict,
    primary_verdicts,
)
from eyechart.gate.verdicts.power import (
    POWER,
    kind_of,
    minimum_detectable_effect,
    smallest_detectable_loss,
    strictest_levels,
)
from eyechart.gate.verdicts.value_texts import compared_values, format_change
from eyechart.gate.verdicts.verdict_messages import count_fallen, describe_confidence, describe_session, format_adjusted
from eyechart.messages.plurals import count_of
from eyechart.reports.page.case_rows import first_metric
from eyechart.reports.page.changes import Changes
from eyechart.reports.page.rankings import Ranking, describe_rankings
from eyechart.reports.runs import Runs
from eyechart.reports.tables.render import one_line

_ONE_RUN = "this page has no baseline and no earlier run."
_NOTHING_IN_COMMON = (
    "the runs of this page have no case in common, that is, none of the same split, model and protocol."
)
NOW, AGAIN = "This comparison", "A comparison of another run with this one"


def summarise_verdict(runs: Runs, changes: Changes, rankings: Sequence[Ranking] = ()) -> dict[str, Any]:
    """Return the verdict on all cases: its kind (loss, passed, open, ranks), its sentence, and further sentences.

    Without a baseline and an earlier run the verdict is about the models, if several were evaluated.
    """
    verdicts = [verdict for _, verdict in changes.outcome.verdicts]
    if not verdicts:
        losses = list(_losses_without_comparison(runs, changes))
        ranks = "" if changes.has_content else describe_rankings(rankings, changes.rule.alpha)
        nothing = _describe_nothing(runs, changes)
        text = f"{ranks} {nothing[0].upper()}{nothing[1:]}" if ranks else f"Nothing was compared: {nothing}"
        return {"kind": "ranks" if ranks else "open", "text": text, "more": [describe_losses(AGAIN, losses)]}
    decision, drifts = changes.outcome.session.decision, changes.outcome.session.drifts
    confidence = describe_confidence(changes.outcome.every)
    left = "".join(f" {sentence}" for sentence in _describe_left_out(changes))
    text = f"{_describe_worst(verdicts)}{count_changes(verdicts, one_line(changes.against))}{left}"
    text = f"{text} {confidence.capitalize()}." if confidence else text
    text = "".join([*(f"{str(drift).capitalize()}. " for drift in drifts), text])
    more = [describe_losses(NOW, list(_losses_of_comparison(changes)))]
    worse = any(verdict.regression for verdict in verdicts)
    if decision == INCONCLUSIVE or (decision == REGRESSION and not worse):
        sentence = describe_session(changes.outcome.every).replace("--eye-margin", "--margin")
        more.insert(0, f"{sentence[0].upper()}{sentence[1:]}.")
        text = text if decision == INCONCLUSIVE else f"{text} {more.pop(0)}"
    kinds = {REGRESSION: "loss", INCONCLUSIVE: "open"}
    fails = changes.outcome.refused or any(case.missing for case in changes.outcome.compared.values())
    kind = kinds.get(decision, "open" if confidence or fails else "passed")
    return {"kind": kind, "text": text, "more": [*filter(None, more)]}


def _describe_left_out(changes: Changes) -> Iterator[str]:
    """Yield sentences about what the counts leave out: cases and numbers of one side."""
    against = one_line(changes.against)
    if alone := len(changes.outcome.refused) + len(changes.without_baseline):
        yield f"{count_of(alone, 'case was', 'cases were')} not compared."
    if gone := len(changes.missing):
        yield f"{count_of(gone, 'case')} of {against} {'is' if gone == 1 else 'are'} not here."
    if missing := sum(len(case.missing) for case in changes.outcome.compared.values()):
        yield f"{count_of(missing, 'number')} of {against} {'has' if missing == 1 else 'have'} no value now."


def _describe_worst(verdicts: Sequence[Verdict]) -> str:
    """Return a sentence about the first regression, that of a primary metric if there is one; "" without any."""
    lost = sorted(
        (verdict for verdict in verdicts if verdict.regression),
        key=lambda verdict: not verdict.comparison.primary,
    )
    if not lost:
        return ""
    comparison = lost[0].comparison
    before, after = compared_values(comparison)
    where = one_line(f"{comparison.case} ({comparison.protocol}): {comparison.name}")
    p = f"{format_adjusted(lost[0])} adjusted"
    counts = f"; {comparison.n_lost} lost, {comparison.gained} gained" if comparison.is_proportion else ""
    return f"Worse in {where} {before} → {after}, {format_change(comparison)}, {p}{counts}. "


def count_changes(verdicts: Sequence[Verdict], against: str) -> str:
    """Return a sentence that counts the verdicts."""
    decisions = [verdict.decision for verdict in verdicts]
    worse = sum(verdict.regression for verdict in verdicts)
    tolerated, better = (decisions.count(word) for word in (TOLERATED, IMPROVEMENT))
    advisory = sum(verdict.advisory_regression for verdict in verdicts)
    primary = (verdict.comparison for verdict in verdicts if verdict.inconclusive and verdict.comparison.primary)
    fallen, cases = count_fallen(verdicts), {(comparison.case, comparison.protocol) for comparison in primary}
    more = [
        f"{advisory} significantly worse but advisory" if advisory else "",
        f"{fallen} worse but not significantly" if fallen else "",
        f"{tolerated} significantly worse but tolerated" if tolerated else "",
        f"{better} better" if better else "",
        f"{count_of(len(cases), 'case')} inconclusive" if cases else "",
    ]
    ending = "".join(f", {part}" for part in more if part)
    if worse:
        share = f"{worse} of {count_of(len(decisions), 'number')}"
        return f"{share} {'is' if worse == 1 else 'are'} significantly worse than {against}{ending}."
    if tolerated or advisory:
        compared = count_of(len(decisions), "number")
        return f"No significant loss fails a case: {compared} compared with {against}{ending}."
    return f"No number is significantly worse than {against}: {len(decisions)} compared{ending}."


def _describe_nothing(runs: Runs, changes: Changes) -> str:
    """Return why nothing was compared."""
    if changes.has_content:
        return f"no number of this page can be compared with {one_line(changes.against)}."
    return _NOTHING_IN_COMMON if len(runs.sessions) > 1 else _ONE_RUN


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


def _losses_of_comparison(changes: Changes) -> Iterator[float]:
    """Yield the smallest loss of each case's primary metric that its comparison would detect."""
    verdicts = [verdict for _, verdict in changes.outcome.verdicts]
    primary = [verdict.comparison for verdict in primary_verdicts(verdicts)]
    levels = strictest_levels(primary, changes.rule.alpha)
    return (smallest_detectable_loss(comparison, levels[kind_of(comparison)]) for comparison in primary)


def _losses_without_comparison(runs: Runs, changes: Changes) -> Iterator[float]:
    """Yield the smallest loss of each case's main metric that a comparison with a later run would detect."""
    main = [
        (case, metric)
        for case in runs.cases
        if (metric := first_metric(case)) is not None and metric.higher_is_better is not None and case.record.evidence
    ]
    for case, metric in main:
        for kept in case.evidence.metrics:
            if kept.key == metric.key:
                yield minimum_detectable_effect(case.evidence, kept, changes.rule.alpha / len(main))[0]
