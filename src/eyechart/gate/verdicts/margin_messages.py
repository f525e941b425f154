"""The messages about a margin: which losses are not excluded, which are likely to be real, and what would decide."""

from collections.abc import Iterator, Sequence
from math import isnan

from eyechart.gate.comparison.compare_metrics import SCORES, MetricComparison
from eyechart.gate.verdicts.decide import NO_REGRESSION, SCORE, Verdict
from eyechart.gate.verdicts.value_texts import compared_values, format_change, format_points
from eyechart.gate.verdicts.verdict_messages import cases_of, describe_n, format_p_value
from eyechart.messages.plurals import count_of

LIKELY = 0.05  # a loss with a p-value below it is likely to be real


def describe_open_end(verdicts: Sequence[Verdict], *, strict: bool) -> Iterator[str]:
    """Yield what the last line says about losses that are open or likely: which cases fail, and which pass and why.

    Without a margin, and without `strict`, it says nothing.
    """
    if open_ := [verdict for verdict in verdicts if verdict.is_open]:
        margins = {verdict.rule.margin for verdict in open_}
        loss = f"a loss of {format_points(min(filter(None, margins)))}" if len(margins) == 1 else "a loss of the margin"
        real = cases_of(verdict for verdict in open_ if _is_likely_loss(verdict))
        likely = f", and is likely to be real in {len(real)} (p<{LIKELY:g})" if real else ""
        fails = count_of(len(cases_of(open_)), "case, which fails", "cases, which fail")
        yield f"{loss} is not excluded in {fails}{likely}"
    primary = [verdict for verdict in verdicts if verdict.comparison.primary and (strict or verdict.rule.margin)]
    if small := cases_of(v for v in primary if v.decision == NO_REGRESSION and _is_likely_loss(v)):
        yield f"a loss below the margin is likely to be real in {count_of(len(small), 'case')} (p<{LIKELY:g})"
    passed = [verdict for verdict in primary if verdict.inconclusive and not verdict.must_be_decided]
    if passed:
        count = count_of(len(cases_of(passed)), "inconclusive case passes", "inconclusive cases pass")
        under = " under --eye-strict" if strict else ""
        no_margin = any(verdict.rule.margin is None for verdict in passed)
        yield f"{count}{under}, since " + (
            "no --eye-margin says which loss must be excluded"
            if no_margin
            else "the primary metric is not critical (--eye-gate, --eye-policy)"
        )


def _is_likely_loss(verdict: Verdict) -> bool:
    """Return whether a metric is worse with an own p-value below `LIKELY`."""
    return verdict.comparison.loss > 0 and verdict.comparison.p < LIKELY


def describe_undecided(verdict: Verdict, compared: Sequence[MetricComparison] = ()) -> str:
    """Return why a case fails whose critical metric is inconclusive, and the remedies.

    `compared` are all comparisons, also of other cases; proper scores of this case are a remedy unless the gate has
    them.
    """
    comparison = verdict.comparison
    has_scores = any(
        other.family == SCORES and (other.case, other.protocol) == (comparison.case, comparison.protocol)
        for other in compared
    )
    counts = f"{comparison.n_lost} lost, {comparison.gained} gained, " if comparison.is_proportion else ""
    more = verdict.samples_to_decide()
    images = "Add images"
    if more:
        condition = "If there is no loss and answers change as often as now"
        images = f"{condition}, about {more:,} more images exclude the margin"
    if comparison.loss > 0:
        p_value = format_p_value(comparison.p)
        real = f"The loss is likely to be real ({p_value}): see to the model. " if _is_likely_loss(verdict) else ""
        accept = "a run of the case with --eye-update-baseline accepts it"
        if SCORE not in verdict.rule.gates and has_scores:
            accept = (
                "--eye-gate=accuracy,score also tests the scores, which show a damaged model with fewer images; "
                f"{accept}"
            )
        advice = f"{real}{images}. {accept[0].upper()}{accept[1:]}."
    else:
        images += _describe_logits(comparison)
        advice = f"{images}. A margin is chosen before a run: one above {_limit_text(verdict)} needs no more images."
    limit = "any size" if isnan(verdict.limit) else f"up to {_limit_text(verdict)}"
    before, after = compared_values(comparison)
    change = format_change(comparison, with_interval=False)
    margin = verdict.rule.margin or 0.0
    return (
        f"{comparison.case} ({comparison.protocol}): {comparison.name} is inconclusive.\n"
        f"  {before} in the baseline, {after} now: {change}, {counts}"
        f"{describe_n(comparison.n, comparison.n_clusters)}\n"
        f"  a loss of {limit} cannot be excluded, and the margin is {format_points(margin)}\n"
        f"  {advice}"
    )


def _describe_logits(comparison: MetricComparison) -> str:
    """Return why logits do not prove that no answer can have changed, as a sentence; "" if answers changed."""
    if not comparison.is_proportion or comparison.n_lost or comparison.gained:
        return ""
    if change := comparison.logit_change:
        moved = f"logits moved by up to {change.largest:.2g}, and the smallest top-1 margin is {change.margin:.2g}"
        return f". No answer changed, but some may have: {moved}"
    return ". No answer changed; whether none can have changed is known if the baseline is written with the same store"


def _limit_text(verdict: Verdict) -> str:
    """Return the largest loss that an inconclusive metric leaves possible."""
    return "any loss" if isnan(verdict.limit) else format_points(verdict.limit)
