"""What the gate says: of a loss, all that is needed to look into it; of everything else, a line."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from eyechart.gate.baselines import WrittenBaseline
from eyechart.gate.compare import NOISE, MetricComparison, Verdict, samples_to_show
from eyechart.gate.evidence import Evidence
from eyechart.gate.headlines import ANSWERED
from eyechart.gate.page_link import PageLink, page_address

ACCEPT = "If it is meant to be so, accept it with --eye-update-baseline."
LEAST = 1e-300  # what is below cannot be told from 0, which no p-value is


def describe_losses(now: Evidence, count: int, baseline: Path, sight: PageLink) -> str:
    """That so many numbers of a case are worse: both files, how to look at it, and how to accept it."""
    numbers = "one number" if count == 1 else f"{count} numbers"
    lines = [
        f"{now.case} ({now.protocol}) is worse than the baseline in {numbers}.",
        f"  baseline: {baseline}",
        f"  run: {sight.run}",
        f"  page of both: {sight.command}",
    ]
    return "\n".join([*lines, f"  {ACCEPT}"])


def describe_loss(alike: Sequence[Verdict], of_case: Sequence[MetricComparison], keys: Sequence[str]) -> str:
    """A regression: the number before and now, how sure it is, and the samples to look at.

    Numbers that lost and gained the same samples are told as one.
    """
    verdict = alike[0]
    found = verdict.comparison
    bounds = "" if found.ci is None else f" [{found.ci.low:+.4f}, {found.ci.high:+.4f}]"
    change = f"{found.delta:+.4f}{bounds}, {describe_n(found.n, found.n_clusters)}{describe_counts(found)}"
    p_values = f"{format_p_value(found.p)}, {format_p_value(verdict.adjusted)}"
    lines = [
        f"{found.case} ({found.protocol}): {found.name} is worse than the baseline.",
        f"  {found.before:.4f} in the baseline, {found.after:.4f} now: {change}",
        f"  {found.method}, {p_values} after Holm's correction over the session",
    ]
    if others := [each.comparison.name for each in alike[1:]]:
        lines.append(f"  and so, of the same samples: {'; '.join(others)}")
    if found.lost:
        good, bad = ("answered", "in error") if found.metric.name == ANSWERED else ("right", "wrong")
        lost, gained = len(found.lost), found.gained
        lines.append(f"  {good} before and {bad} now: {lost}; {bad} before and {good} now: {gained}")
        lines += [f"    {keys[row]}" for row in samples_to_show(found, of_case)]
    shown = page_address(found.case, found.protocol, found.metric.labels, found.name if found.lost else "")
    return "\n".join([*lines, f"  on the page: {shown}"])


def describe_tolerated_loss(verdict: Verdict, max_drop: float) -> str:
    """Return that a significant loss fails no case, since it is no larger than `max_drop`."""
    found = verdict.comparison
    sure = f"{format_p_value(found.p)}, {format_p_value(verdict.adjusted)} after Holm's correction"
    return f"tolerated loss: {found.name} {found.delta:+.4f}, within --eye-max-drop={max_drop:g} ({sure})"


def count_verdicts(verdicts: Sequence[Verdict], max_drop: float) -> str:
    """Return how many numbers were compared, how many are worse, and how many losses were tolerated, if any."""
    line = f"gate: {len(verdicts)} numbers compared, {sum(each.regression for each in verdicts)} worse"
    tolerated = sum(each.tolerated for each in verdicts)
    if not tolerated:
        return line
    losses = "1 loss" if tolerated == 1 else f"{tolerated} losses"
    return f"{line}, {losses} tolerated because of --eye-max-drop={max_drop:g}"


def describe_nearest_to_loss(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Which number came nearest to a loss and is none, so that nobody takes silence for sameness."""
    doubtful = [each for each in verdicts if each.decision == NOISE and each.comparison.loss > 0]
    for each in sorted(doubtful, key=lambda one: one.comparison.p)[:1]:
        found = each.comparison
        sure = f"{format_p_value(found.p)}, {format_p_value(each.adjusted)} after Holm's correction"
        yield f"nearest to a loss: {found.case} ({found.protocol}): {found.name} {found.delta:+.4f} ({sure})"


def describe_n(n: int, units: int) -> str:
    """How many samples a number is of, and of how many images, where these are fewer."""
    return f"n={n}" if units == n else f"n={n} of {units} images"


def describe_counts(found: MetricComparison) -> str:
    """The n of either side, where they differ; else nothing."""
    return f" ({found.counts[0]} in the baseline, {found.counts[1]} now)" if found.counts else ""


def format_p_value(p: float) -> str:
    """A p-value, never as 0.

    >>> format_p_value(0.0123), format_p_value(0.0)
    ('p=0.012', 'p<1e-300')
    """
    return f"p<{LEAST:g}" if p < LEAST else f"p={p:.2g}"


def describe_refusal(now: Evidence, path: Path, different: Sequence[str]) -> str:
    """Two cases that are not about the same."""
    listed = "\n".join(f"  {each}" for each in different)
    return (
        f"{now.case} ({now.protocol}) cannot be held against {path}:\n{listed}\n"
        f"  Run on what the baseline was made of, or write it again with --eye-update-baseline."
    )


def describe_missing_metrics(now: Evidence, path: Path, gone: Sequence[str]) -> str:
    """Numbers that are no more."""
    return f"{now.case} ({now.protocol}) has no value now for what {path} has: {', '.join(gone)}. {ACCEPT}"


def describe_incomplete_baseline(now: Evidence, path: Path, lacking: Sequence[str]) -> str:
    """Return that a baseline lacks numbers that its case has now, which nothing is compared with."""
    count = "one number that the case has now" if len(lacking) == 1 else f"{len(lacking)} numbers that the case has now"
    return (
        f"{now.case} ({now.protocol}): {path} lacks {count}: {', '.join(lacking)}.\n"
        f"  They were not compared. Write the baseline again with --eye-update-baseline."
    )


def describe_no_baseline(now: Evidence) -> str:
    """A case that nothing is known of."""
    return f"{now.case} ({now.protocol}) has no baseline. Write it with --eye-update-baseline."


def describe_written_baseline(written: WrittenBaseline) -> str:
    """A file that was written."""
    lost = f"; what it held before is lost: {written.unreadable}" if written.unreadable else ""
    return f"baseline written: {written.path} ({written.path.stat().st_size:,} bytes){lost}. Commit it."


def describe_remark(now: Evidence, what: str) -> str:
    """A remark about a case."""
    return f"{now.case} ({now.protocol}): {what}"


def describe_remarks(remarks: Mapping[str, Sequence[Evidence]]) -> Iterator[str]:
    """Remarks with the case that they are about; one about several is said once."""
    for what, about in remarks.items():
        yield describe_remark(about[0], what) if len(about) == 1 else f"{what} ({len(about)} cases)"
