"""The messages on slices: a line for each case with a slice that lost or gained."""

from collections.abc import Iterable, Iterator, Sequence

from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.gate.slices.slice_tests import SliceChanges
from eyechart.gate.verdicts.decide import REGRESSION, Verdict
from eyechart.gate.verdicts.value_texts import format_points
from eyechart.gate.verdicts.verdict_messages import MAX_LISTED, describe_n, format_p_value
from eyechart.messages.plurals import count_of

OPEN_LOSSES = 3  # slices whose losses may be chance, of one case


def describe_slices(
    verdicts: Sequence[Verdict], slices: Iterable[SliceChanges], *, verbose: bool = False
) -> Iterator[str]:
    """Yield a line for each case: its slices that lost and gained, the most certain first, and how many there are.

    `slices` are the slices of all cases, `verdicts` the significant ones. A case without a significant slice
    has a line only if `verbose`, which names the slices with the largest losses that may be chance. Not more than
    `MAX_LISTED` slices are named unless it is `verbose`.
    """
    cases: dict[tuple[str, str], list[SliceChanges]] = {}
    for part in slices:
        cases.setdefault((part.whole.case, part.whole.protocol), []).append(part)
    groups: dict[tuple[str, str], list[Verdict]] = {case: [] for case in cases}
    for verdict in verdicts:
        groups[verdict.comparison.case, verdict.comparison.protocol].append(verdict)
    for case, parts in cases.items():
        lost = [verdict for verdict in groups[case] if verdict.decision == REGRESSION]
        gained = [verdict for verdict in groups[case] if verdict.improvement]
        if lost or gained or verbose:
            ordered = [part for side in (lost, gained) for part in sorted(side, key=lambda verdict: verdict.adjusted)]
            named = [describe_slice(verdict) for verdict in (ordered if verbose else ordered[:MAX_LISTED])]
            more = [f"{len(ordered) - len(named)} more"] if len(named) < len(ordered) else []
            gain = f", {len(gained)} gained" if gained else ""
            count = f"{len(lost)} of {count_of(sum(len(part.indices) for part in parts), 'slice')} lost{gain}"
            open_losses = [] if lost or not verbose else [*_largest_losses(parts)]
            count += f"; not significantly: {', '.join(open_losses)}" if open_losses else ""
            metric = parts[0].whole.metric
            of = f"slices of {metric.name} ({metric.labels})"
            yield f"{case[0]} ({case[1]}): {of}: {'; '.join([*named, *more, count])}"


def _largest_losses(slices: Iterable[SliceChanges]) -> Iterator[str]:
    """Yield the slices of a case that lost most samples, less those that they gained."""
    losses = [
        (int(part.gained[index] - part.lost[index]), f"{part.variable}={part.values[index]}", part, index)
        for part in slices
        for index in part.indices.tolist()
    ]
    for change, name, part, index in sorted(losses, key=lambda loss: loss[:2])[:OPEN_LOSSES]:
        if change < 0:
            n = describe_n(int(part.n[index]), int(part.n_clusters[index]))
            yield f"{name} {part.lost[index]} lost, {part.gained[index]} gained ({n})"


def describe_slice(verdict: Verdict) -> str:
    """Return the change of a slice in points and in samples, that of the rest, and the adjusted p-value.

    The samples are counted for metrics of which more is better, where an outcome of 1 is a right answer.
    """
    comparison = verdict.comparison
    change = "lost" if comparison.loss > 0 else "gained"
    parts = [describe_n(comparison.n, comparison.n_clusters)]
    if comparison.metric.direction > 0:
        right = round(comparison.before * comparison.n), round(comparison.after * comparison.n)
        parts.append(f"{right[0]:,} right before, {right[1]:,} now")
    parts += [_describe_rest(comparison), f"{format_p_value(verdict.adjusted)} adjusted"]
    notes = f", as did {' and '.join(comparison.like)}" if comparison.like else ""
    notes += f", explained by {comparison.explained_by}" if comparison.explained_by else ""
    return f"{comparison.metric.subset} {change} {format_points(abs(comparison.loss))} ({', '.join(parts)}){notes}"


def _describe_rest(comparison: MetricComparison) -> str:
    """Return how the samples outside of a slice changed."""
    whole = comparison.whole
    assert whole is not None
    lost, gained = whole.n_lost - comparison.n_lost, whole.gained - comparison.gained
    if lost == gained:
        return f"all others {'as many' if lost else 'unchanged'}"
    loss = (lost - gained) / (whole.n - comparison.n) * whole.metric.direction
    return f"the others {'lost' if loss > 0 else 'gained'} {format_points(abs(loss))}"
