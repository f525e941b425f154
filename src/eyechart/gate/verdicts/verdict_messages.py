"""The messages of the gate: of a loss, everything that is needed to investigate it; of anything else, one line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isnan
from pathlib import Path

from eyechart.gate.baselines.baseline_files import WrittenBaseline
from eyechart.gate.baselines.drift import Drift
from eyechart.gate.comparison.compare_metrics import (
    OTHER,
    PRIMARY,
    ROUNDED,
    SCORES,
    SIDES,
    SLICES,
    MetricComparison,
    samples_to_show,
)
from eyechart.gate.verdicts.decide import (
    CONFIDENCE_INCONCLUSIVE,
    IMPROVEMENT,
    INCONCLUSIVE,
    NO_REGRESSION,
    REGRESSION,
    Verdict,
    primary_verdicts,
    session_verdict,
)
from eyechart.gate.verdicts.page_link import PageLink, page_address
from eyechart.gate.verdicts.value_texts import compared_values, format_change, format_points
from eyechart.messages.plurals import count_of
from eyechart.messages.terminal import align_texts
from eyechart.results.evidence import Evidence
from eyechart.results.glossary import describe_metric
from eyechart.results.headlines import ANSWERED
from eyechart.results.metric_definitions import define
from eyechart.statistics.degenerate_intervals import ROUNDING

ACCEPT = "If it is meant to be so, accept it with --eye-update-baseline."
WRITE = "write the baseline with --eye-update-baseline"
LEAST = 1e-300  # smaller values may be rounded to 0, and no p-value is 0
MAX_LISTED = 5
TABLE_ROWS = 12
TOGETHER = {
    PRIMARY: "all primary metrics of the session",
    OTHER: "all metrics of the session that are not primary",
    SCORES: "all proper scores of the session",
    SLICES: "all slices of the session",
}
SAME_MODEL = {
    frozenset({True}): "the same weights",
    frozenset({False}): "the same code, options and files",
    frozenset({True, False}): "the same weights, or the same code, options and files,",
}  # by whether the comparisons compare weights


def describe_losses(now: Evidence, count: int, baseline: Path, link: PageLink) -> str:
    """Return that a case has `count` losses: both files, how to open the page, and how to accept the losses."""
    numbers = "one number" if count == 1 else f"{count} numbers"
    lines = [
        f"{now.case} ({now.protocol}) is worse than the baseline in {numbers}.",
        f"  baseline: {baseline}",
        f"  run: {link.run}",
        f"  page of both: {link.command}",
    ]
    return "\n".join([*lines, f"  {ACCEPT}"])


def describe_loss(verdicts: Sequence[Verdict], of_case: Sequence[MetricComparison], keys: Sequence[str]) -> str:
    """Return a loss: the metric before and now, the test, and the keys of samples that became wrong.

    `verdicts` have the same changed samples: the first one is described, the others are named. `of_case` are all
    comparisons of the case, by which the samples are ordered.
    """
    verdict, *others = verdicts
    comparison = verdict.comparison
    before, after = compared_values(comparison)
    samples = describe_n(comparison.n, comparison.n_clusters)
    if counts := comparison.counts:
        samples += f" ({counts[0]} in the baseline, {counts[1]} now)"
    change = f"{format_change(comparison)}, {samples}"
    p_values = f"{format_p_value(comparison.p)}, {format_adjusted(verdict)}"
    how = f" ({text})" if (text := str(verdict.adjustment)) else ""
    lines = [
        f"{comparison.case} ({comparison.protocol}): {comparison.name} is worse than the baseline.",
        *([f"  {sentence}"] if (sentence := describe_metric(comparison.metric.name)) else []),
        f"  {before} in the baseline, {after} now: {change}",
        f"  {comparison.method}, {p_values} adjusted for {TOGETHER.get(comparison.family, comparison.family)}{how}",
    ]
    if others:
        lines.append(f"  the same samples also changed: {'; '.join(other.comparison.name for other in others)}")
    if comparison.lost:
        good, bad = ("answered", "in error") if comparison.metric.name == ANSWERED else ("right", "wrong")
        lost, gained = comparison.n_lost, comparison.gained
        lines.append(f"  {good} before and {bad} now: {lost}; {bad} before and {good} now: {gained}")
        rows = samples_to_show(comparison, of_case)
        lines += [f"    {keys[row]}" for row in rows]
        lines += [f"    and {len(comparison.lost) - len(rows)} more"] if len(comparison.lost) > len(rows) else []
    number = comparison.name if comparison.lost else ""
    address = page_address(comparison.case, comparison.protocol, comparison.metric.labels, number)
    return "\n".join([*lines, f"  on the page: {address}"])


def describe_tolerated_loss(verdict: Verdict) -> str:
    """Return that a significant loss fails no case, since it is no larger than what is tolerated."""
    comparison = verdict.comparison
    p_values = f"{format_p_value(comparison.p)}, {format_adjusted(verdict)} adjusted"
    change = format_change(comparison, with_interval=False)
    limit = format_points(verdict.rule.max_drop)
    return f"tolerated loss: {comparison.name} {change}, a loss of {limit} is tolerated ({p_values})"


def count_verdicts(verdicts: Sequence[Verdict], pooled: Sequence[Verdict] = ()) -> str:
    """Return how many numbers were compared, how many are significantly worse, and what is worse beside them.

    The numbers are all that were compared, as on the page. Those that are significantly worse fail their cases; words
    state the significant losses that do not, and a regression of a model over all its cases (`pooled`), so that the
    line is not read as "nothing is worse".
    """
    worse = sum(verdict.regression for verdict in verdicts)
    line = f"gate: {count_of(len(verdicts), 'number')} compared, {worse} significantly worse"
    if advisory := sum(verdict.advisory_regression for verdict in verdicts):
        line += f", {advisory} significantly worse but advisory"
    if fallen := count_fallen(verdicts):
        line += f", {fallen} worse but not significantly"
    if tolerated := sum(verdict.tolerated for verdict in verdicts):
        line += f", {count_of(tolerated, 'loss', 'losses')} tolerated"
    lost = [verdict.comparison.model for verdict in pooled if verdict.regression]
    line += f"; significantly worse over all cases: {join_names(list(dict.fromkeys(lost)))}" if lost else ""
    unsure = describe_confidence(verdict for verdict in (*pooled, *verdicts) if not verdict.gated)
    return f"{line}; {unsure}, which fails no case without --eye-gate=accuracy,score" if unsure else line


def count_fallen(verdicts: Iterable[Verdict]) -> int:
    """Return the number of metrics that are worse by what may be chance."""
    open_ = (INCONCLUSIVE, NO_REGRESSION, CONFIDENCE_INCONCLUSIVE)
    return sum(verdict.decision in open_ and verdict.comparison.loss > ROUNDED for verdict in verdicts)


def describe_session(verdicts: Sequence[Verdict]) -> str:
    """Return the verdict on a session: what is worse, or the largest loss that cannot be excluded."""
    sentence = _describe_accuracy(verdicts)
    confidence = describe_confidence(verdicts)
    return f"{sentence}; {confidence}" if confidence else sentence


def describe_not_compared(cases: int) -> Iterator[str]:
    """Yield how many cases were not compared, beside a verdict that is on the others alone."""
    if cases:
        yield f"{count_of(cases, 'case was', 'cases were')} not compared"


def describe_confidence(verdicts: Iterable[Verdict]) -> str:
    """Return where proper scores have a regression, the pooled one of a model first; "" without one."""
    worse = [verdict.comparison for verdict in verdicts if verdict.confidence_regression]
    models = [comparison for comparison in worse if comparison.pooled]
    cases = {(comparison.case, comparison.protocol) for comparison in worse if not comparison.pooled}
    parts = [
        f"of {model.model} over {count_of(len(model.pooled), 'case')} (log score {model.delta:+.4f}, "
        f"{format_p_value(model.p)})"
        for model in models[:MAX_LISTED]
    ]
    parts += [f"in {count_of(len(cases), 'case')}"] if cases else []
    return f"confidence regression {', '.join(parts)}" if parts else ""


def _describe_accuracy(verdicts: Sequence[Verdict]) -> str:
    """Return the verdict on accuracies and the like."""
    decision = session_verdict(verdicts)
    primary = [*primary_verdicts(verdicts)]
    cases = cases_of(verdicts)
    if decision == REGRESSION:
        worse = [verdict for verdict in verdicts if verdict.regression]
        models = join_names([verdict.comparison.model for verdict in worse if verdict.comparison.pooled])
        of_cases = f"in {len(cases_of(worse))} of {count_of(len(cases), 'case')}"
        if not cases_of(worse):
            return f"regression over all cases of {models}, {of_cases.replace('in 0', 'in none')} alone"
        return f"regression {of_cases}{f', and over all cases of {models}' if models else ''}"
    if decision == INCONCLUSIVE:
        return _describe_inconclusive([verdict for verdict in primary if verdict.inconclusive])
    better = f"improvement in {sum(v.improvement for v in primary)} of {count_of(len(cases), 'case')}; "
    start = f"{better if decision == IMPROVEMENT else ''}no regression"
    every = "every primary metric"
    if tolerated := cases_of(verdict for verdict in primary if verdict.tolerated):
        start += f", but a significant loss in {count_of(len(tolerated), 'case')} is tolerated"
        primary, every = [verdict for verdict in primary if not verdict.tolerated], "every other primary metric"
    if all(verdict.limit == 0 for verdict in primary):
        kinds = {verdict.comparison.compares_weights for verdict in primary if verdict.comparison.unchanged_model}
        reasons = [f"{SAME_MODEL[frozenset(kinds)]} gave the same answers"] if kinds else []
        reasons += _describe_equal_models(primary)
        return f"{start}: {'; '.join(reasons)}" if primary else start
    margins = {verdict.rule.margin for verdict in primary if verdict.limit}
    if None in margins:
        return start
    (margin,) = margins if len(margins) == 1 else (None,)
    loss = "of its margin" if margin is None else f"of {format_points(margin)}"
    return f"{start}: a loss {loss} or more is excluded for {every}"


def _describe_equal_models(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield, for models with other weights, why no answer can have changed, by the case nearest to a change."""
    proofs = [verdict.comparison.logit_change for verdict in verdicts if verdict.comparison.logit_change]
    for change in sorted(proofs, key=lambda change: change.margin - 2 * change.largest)[:1]:
        moved = f"by at most {change.largest:.2g}, less than half of the smallest top-1 margin, {change.margin:.2g}"
        yield f"no answer can have changed, since logits moved {moved if change.largest else 'not at all'}"


def cases_of(verdicts: Iterable[Verdict]) -> set[tuple[str, str]]:
    """Return the cases, with their protocols, that some verdicts are on; pooled ones are on none."""
    comparisons = (verdict.comparison for verdict in verdicts)
    return {(comparison.case, comparison.protocol) for comparison in comparisons if not comparison.pooled}


def describe_pooled(verdict: Verdict, sides: tuple[str, str] = SIDES) -> str:
    """Return the pooled decision on a model: its accuracy before and now over all its cases, the test and verdict."""
    comparison = verdict.comparison
    before, after = compared_values(comparison)
    values = f"{before} {sides[0]}, {after} {sides[1]}: {format_change(comparison)}"
    samples = describe_n(comparison.n, comparison.n_clusters)
    open_loss = verdict.inconclusive and not isnan(verdict.limit)
    limit = f"; a loss of {format_points(verdict.limit)} cannot be excluded" if open_loss else ""
    name = "log score of " if comparison.family == SCORES else ""
    return (
        f"{name}{comparison.model} over {count_of(len(comparison.pooled), 'case')}: {verdict.decision}; {values}, "
        f"{samples}, {format_adjusted(verdict)} adjusted{limit}"
    )


def describe_pooled_loss(verdict: Verdict, case: Evidence) -> str:
    """Return that a model lost over all its cases, for the case that lost most."""
    return f"{describe_pooled(verdict)}.\n  All its cases are pooled. {case.case} ({case.protocol}) lost most. {ACCEPT}"


def describe_benchmarks(verdicts: Sequence[Verdict]) -> str:
    """Return the verdict on each of several benchmarks, "" for one."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(benchmark_of(verdict.comparison.case), []).append(verdict)
    parts = [f"{benchmark} {session_verdict(group)}" for benchmark, group in groups.items()]
    return f"benchmarks: {', '.join(parts)}" if len(parts) > 1 else ""


def _describe_inconclusive(verdicts: Sequence[Verdict]) -> str:
    """Return the largest loss that inconclusive primary metrics leave possible, and how many samples would decide."""
    largest = max(verdicts, key=lambda verdict: inf if isnan(verdict.limit) else verdict.limit)
    comparison = largest.comparison
    name = f"{comparison.name} in {comparison.case} ({comparison.protocol})"
    start = f"inconclusive in {count_of(len(verdicts), 'case')}"
    if isnan(largest.limit):
        return f"{start}: no loss of {name} can be excluded, since it has no interval"
    start = f"{start}: a loss of {format_points(largest.limit)} of {name}"
    if (margin := largest.rule.margin) is None:
        return f"{start} cannot be excluded; --eye-margin=0.01 says how many images would exclude 1 point"
    more = largest.samples_to_decide()
    decides = f"; if there is none, {more:,} more images would exclude {format_points(margin)}" if more else ""
    return f"{start} cannot be excluded{decides}"


def show_failing_numbers(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a table of the metrics that fail cases and of the primary metrics of these cases.

    The table of a session has the metrics with a title alone, which need not be those that fail.
    """
    failing = [verdict for verdict in verdicts if verdict.regression]
    cases = cases_of(failing)
    rows = [
        verdict
        for verdict in verdicts
        if verdict.regression
        or (verdict.comparison.primary and (verdict.comparison.case, verdict.comparison.protocol) in cases)
    ]
    if not rows:
        return
    head = ("what fails, and the primary metrics of these cases", "baseline", "now", "change", "adjusted", "verdict")
    yield from align_texts([head, *(_failing_row(verdict) for verdict in rows[:TABLE_ROWS])])
    if len(rows) > TABLE_ROWS:
        yield f"{len(rows) - TABLE_ROWS} more: eyechart page"


def _failing_row(verdict: Verdict) -> tuple[str, ...]:
    """Return the row of a metric: its case and name, its values, change with interval, p-value and verdict."""
    comparison = verdict.comparison
    values = (*compared_values(comparison), format_change(comparison))
    name = f"{comparison.case} ({comparison.protocol}): {comparison.name}"
    return name, *values, format_adjusted(verdict), verdict.decision


def describe_nearest_to_loss(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the loss with the smallest p-value that is not significant, if any: silence would look like no change."""
    decreases = [
        verdict
        for verdict in verdicts
        if verdict.gated
        and verdict.decision in (INCONCLUSIVE, NO_REGRESSION)
        and verdict.comparison.loss > ROUNDING
        and verdict.comparison.p < 1
    ]
    for verdict in sorted(decreases, key=lambda verdict: verdict.comparison.p)[:1]:
        comparison = verdict.comparison
        p_values = f"{format_p_value(comparison.p)}, {format_adjusted(verdict)} adjusted"
        name = f"{comparison.case} ({comparison.protocol}): {comparison.name}"
        yield f"nearest to a significant loss: {name} {format_change(comparison, with_interval=False)} ({p_values})"


def describe_n(n: int, n_clusters: int) -> str:
    """Return the number of samples, and of images where these are fewer.

    >>> describe_n(100, 100), describe_n(100, 40)
    ('n=100', 'n=100 of 40 images')
    """
    return f"n={n}" if n_clusters == n else f"n={n} of {n_clusters} images"


def format_p_value(p: float) -> str:
    """Return a p-value, never as 0.

    >>> format_p_value(0.0123), format_p_value(0.0)
    ('p=0.012', 'p<1e-300')
    """
    return f"p<{LEAST:g}" if p < LEAST else f"p={p:.2g}"


def format_adjusted(verdict: Verdict) -> str:
    """Return the adjusted p-value of a metric; the least value that random draws can give is an upper limit."""
    text = format_p_value(verdict.adjusted)
    return text.replace("=", "≤") if verdict.at_floor else text


def describe_floor(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield for each adjusted p-value that is printed as a limit how many random signs it comes from."""
    for text, flips in sorted({(format_adjusted(item), item.adjustment.draws) for item in verdicts if item.at_floor}):
        yield f"{text} is the smallest adjusted p-value that {flips:,} random sign flips can show"


def describe_refusal(now: Evidence, path: Path, reasons: Sequence[str]) -> str:
    """Return why a case cannot be compared with its baseline."""
    lines = "\n".join(f"  {reason}" for reason in reasons)
    return (
        f"{now.case} ({now.protocol}) cannot be compared with {path}:\n{lines}\n"
        f"  Run on what the baseline was made of, or write it again with --eye-update-baseline."
    )


def describe_missing_metrics(now: Evidence, path: Path, names: Sequence[str]) -> str:
    """Return which metrics of the baseline have no value now."""
    metrics = dict.fromkeys(name.partition(" ")[0] for name in names)
    why = "".join(f" {name} needs {needs}." for name in metrics if (needs := define(name).needs))
    return f"{now.case} ({now.protocol}) has no value now for what {path} has: {', '.join(names)}.{why} {ACCEPT}"


def describe_incomplete_baseline(now: Evidence, path: Path, names: Sequence[str]) -> str:
    """Return which metrics of a case are not in its baseline, so that they were not compared."""
    count = "one number that the case has now" if len(names) == 1 else f"{len(names)} numbers that the case has now"
    return (
        f"{now.case} ({now.protocol}): {path} does not have {count}: {', '.join(names)}.\n"
        f"  They were not compared. Write the baseline again with --eye-update-baseline."
    )


def describe_no_baseline(now: Evidence) -> str:
    """Return that a case has no baseline."""
    return f"{now.case} ({now.protocol}) has no baseline. Write it with --eye-update-baseline."


def describe_written_baseline(written: WrittenBaseline) -> str:
    """Return which baseline was written, and whether its previous content was lost."""
    lost = f"; what it held before is lost: {written.unreadable}" if written.unreadable else ""
    drift = (
        f"; its versions together have lost: {written.drift}; the count starts again" if written.drift.updates else ""
    )
    return f"baseline written: {written.path} ({written.path.stat().st_size:,} bytes){lost}{drift}. Commit it."


def describe_drift(benchmark: str, model: str, drift: Drift, alpha: float) -> str:
    """Return that the accepted versions of a baseline and this session together have lost."""
    return (
        f"{model} on {benchmark}: the accepted baselines and this session together have lost: {drift}.\n"
        f"  No version alone need have been a regression; the alarm is at an e-value of {1 / alpha:,.0f}.\n"
        f"  {ACCEPT} The count then starts again."
    )


def describe_remark(now: Evidence, text: str) -> str:
    """Return a remark with the name of its case."""
    return f"{now.case} ({now.protocol}): {text}"


def describe_remarks(remarks: Mapping[str, Sequence[Evidence]]) -> Iterator[str]:
    """Yield each remark once, with its case, or with the number of its cases."""
    for text, cases in remarks.items():
        yield describe_remark(cases[0], text) if len(cases) == 1 else f"{text} ({len(cases)} cases)"


def explain_nothing_compared(cases: Sequence[Evidence], baselines: Iterable[Evidence], path: str) -> str:
    """Return why no case was compared with `--eye-baseline`, with the baseline's models and the remedy."""
    benchmarks = {benchmark_of(evidence.case) for evidence in cases}
    models = list(dict.fromkeys(evidence.model for evidence in cases))
    related = [evidence for evidence in baselines if benchmark_of(evidence.case) in benchmarks]
    names = list(dict.fromkeys(evidence.model for evidence in related))
    count = "the case that ran" if len(cases) == 1 else f"the {len(cases)} cases that ran"
    start = f"nothing was compared: --eye-baseline={path} has no baseline of {count} (models: {join_names(models)})."
    if not names:
        return f"{start} It has none of {join_names(sorted(benchmarks))}: {WRITE}, or name another."
    if same := [evidence for evidence in related if evidence.model in models]:
        others = join_names([f"{evidence.case} ({evidence.protocol})" for evidence in same])
        return f"{start} Of these models it has {others}. Run these, or {WRITE}."
    start = f"{start} Its models for {join_names(sorted(benchmarks))}: {join_names(names)}."
    new = next((model for model in models if "[" in model), "SPEC")
    if aliases := [name for name in names if "[" not in name]:
        return f"{start} Give the model the name that the baseline knows: --eye-model={aliases[0]}={new}; or {WRITE}."
    return (
        f"{start} Where these are other checkpoints of one model, give both the same name: {WRITE} and "
        f"--eye-model=NAME={names[0]}, then compare with --eye-model=NAME={new}."
    )


def explain_nothing_recorded(skipped: int) -> str:
    """Return that nothing was compared because no case recorded a metric."""
    cases = count_of(skipped, "case")
    return f"nothing was compared with --eye-baseline: no case recorded a number ({cases} skipped)."


def explain_no_number(cases: Sequence[Evidence]) -> str:
    """Return that nothing was compared because no metric of the cases has a direction."""
    names = join_names([f"{evidence.case} ({evidence.protocol})" for evidence in cases])
    return (
        f"nothing was compared with --eye-baseline: {names} recorded no number with a better direction. "
        "Leave --eye-baseline out, or run cases that record one."
    )


def benchmark_of(case: str) -> str:
    """Return the benchmark of a case.

    >>> benchmark_of("imagenet/val/knn[]")
    'imagenet'
    """
    return case.partition("/")[0]


def join_names(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are.

    >>> join_names(["a", "b"]), join_names([*"abcdefg"])
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"{', '.join(names[:MAX_LISTED])}{more}"
