"""The verdicts of a session as a JSON file for other programs: `--eye-verdicts`, `eyechart compare --verdicts`."""

from collections.abc import Callable, Sequence
from math import isnan
from pathlib import Path
from typing import Annotated, Any

import msgspec

from eyechart.errors import ReportError
from eyechart.gate.verdicts.decide import (
    ACCURACY,
    INCONCLUSIVE,
    REGRESSION,
    SCORE,
    VERDICTS,
    Rule,
    Verdict,
    kind_of_metric,
    session_verdict,
)
from eyechart.gate.verdicts.verdict_messages import benchmark_of, describe_not_compared, describe_session
from eyechart.results.records import doc

SCHEMA = 1
WORDS = ", ".join(VERDICTS)


class MetricVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a metric of a case."""

    case: Annotated[str, doc("Benchmark, split, model and options.")]
    protocol: Annotated[str, doc("Protocol of the case.")]
    metric: Annotated[str, doc("Name of the metric, such as acc1.")]
    labels: Annotated[str, doc("Label set that answers are compared with.")]
    subset: Annotated[str, doc("Subset, level and prompt of the metric.")]
    family: Annotated[
        str, doc("Metrics that are adjusted for together: primary metrics, other metrics, proper scores, slices.")
    ]
    primary: Annotated[bool, doc("Whether it is the first metric of its case, which decides the verdict of the case.")]
    before: Annotated[float, doc("Value in the baseline; accuracies and shares are fractions.")]
    after: Annotated[float, doc("Value in this session.")]
    change: Annotated[float, doc("After minus before.")]
    low: Annotated[float | None, doc("Lower end of the 95 % interval of the change, null without one.")]
    high: Annotated[float | None, doc("Upper end of the 95 % interval of the change, null without one.")]
    n: Annotated[int, doc("Number of samples that both sides have.")]
    lost: Annotated[int | None, doc("Number of samples that became wrong, null for a metric that counts no samples.")]
    gained: Annotated[
        int | None, doc("Number of samples that became correct, null for a metric that counts no samples.")
    ]
    p: Annotated[float | None, doc("Two-sided p-value of this metric alone, null if it cannot be tested.")]
    p_adjusted: Annotated[float | None, doc("The p-value adjusted for all metrics of the family.")]
    adjusted_by: Annotated[
        str, doc("joint test, Holm's correction, no other metric; empty for slices and what cannot be tested.")
    ]
    adjusted_numbers: Annotated[int, doc("Number of metrics and pooled decisions that were tested together.")]
    draws: Annotated[int | None, doc("Number of random signs of the joint test, null where it took all or none.")]
    test: Annotated[str, doc("Name of the test of this metric alone.")]
    loss_limit: Annotated[float | None, doc("Upper confidence limit of the loss, one-sided at 1 - alpha.")]
    more_samples: Annotated[int | None, doc("Samples more that would exclude a loss of the margin, null if not known.")]
    tier: Annotated[str, doc("critical, supporting, or advisory: a regression does not fail the case.")]
    margin: Annotated[float | None, doc("Loss of this metric that must be excluded, null if there is none.")]
    max_drop: Annotated[float, doc("Largest loss of this metric that is tolerated.")]
    verdict: Annotated[str, doc(f"One of {WORDS}.")]


class GroupVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on several metrics: a regression if any metric has one, else the pooled one or that of the primary
    metrics.
    """

    name: Annotated[str, doc("Case with its protocol, benchmark or model.")]
    verdict: Annotated[str, doc(f"One of {WORDS}.")]
    pooled: Annotated[
        MetricVerdict | None, doc("The pooled decision on all cases of a model that has several; null without one.")
    ] = None
    pooled_score: Annotated[
        MetricVerdict | None, doc("That of the log scores of a model with several cases that have them.")
    ] = None


class SessionVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of a session."""

    schema: Annotated[int, doc("Version of this schema.")] = SCHEMA
    verdict: Annotated[str, doc(f"Verdict on the session: one of {WORDS}.")]
    sentence: Annotated[str, doc("The verdict in a sentence.")]
    alpha: Annotated[float, doc("Significance level of each family.")]
    max_drop: Annotated[float, doc("Largest loss that is tolerated.")]
    margin: Annotated[float | None, doc("Loss that must be excluded, null without --eye-margin.")]
    benchmarks: Annotated[tuple[GroupVerdict, ...], doc("Verdict on each benchmark.")]
    models: Annotated[tuple[GroupVerdict, ...], doc("Verdict on each model.")]
    cases: Annotated[tuple[GroupVerdict, ...], doc("Verdict on each case.")]
    metrics: Annotated[tuple[MetricVerdict, ...], doc("Verdict on each metric.")]
    slices: Annotated[
        tuple[MetricVerdict, ...], doc("Slices with a significant change, and those that a policy rule gates.")
    ] = ()
    slices_compared: Annotated[int, doc("Number of slices that were compared.")] = 0
    drifts: Annotated[tuple[str, ...], doc("Losses that accepted baselines and this session add up to.")] = ()
    not_compared: Annotated[tuple[str, ...], doc("Cases without a comparable baseline.")]
    exit_status: Annotated[int, doc("Exit status of the session; docs/ci.md has the meanings.")]


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the file, which docs/verdicts.schema.json holds."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "verdicts of eyechart"}
    return {**dialect, **msgspec.json.schema(SessionVerdicts)}


def summarise_session(
    verdicts: Sequence[Verdict],
    pooled: Sequence[Verdict],
    rule: Rule,
    not_compared: Sequence[str] = (),
    exit_status: int = 0,
    slices: Sequence[Verdict] = (),
    slices_compared: int = 0,
    drifts: Sequence[str] = (),
) -> SessionVerdicts:
    """Return the verdicts of a session; `pooled` are those on models, `drifts` the losses over accepted versions."""
    gated = [verdict for verdict in slices if verdict.gated]
    every, of_cases = [*verdicts, *pooled, *gated], [*verdicts, *gated]
    return SessionVerdicts(
        verdict=REGRESSION if drifts else session_verdict(every),
        sentence="; ".join([*drifts, describe_session(every), *describe_not_compared(len(not_compared))])
        if verdicts
        else "nothing was compared",
        drifts=tuple(drifts),
        alpha=rule.alpha,
        max_drop=rule.max_drop,
        margin=rule.margin,
        benchmarks=_group_verdicts(of_cases, lambda verdict: benchmark_of(verdict.comparison.case)),
        models=_model_verdicts(of_cases, pooled),
        cases=_group_verdicts(of_cases, lambda verdict: f"{verdict.comparison.case} ({verdict.comparison.protocol})"),
        metrics=tuple(summarise_metric(verdict) for verdict in verdicts),
        slices=tuple(summarise_metric(part) for part in slices if part.gated or part.decision != INCONCLUSIVE),
        slices_compared=slices_compared,
        not_compared=tuple(not_compared),
        exit_status=exit_status,
    )


def write_verdicts(path: Path, verdicts: SessionVerdicts) -> None:
    """Write the file. Raises ReportError if it cannot be written."""
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(verdicts)) + b"\n")
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error.strerror or error}.") from error


def _group_verdicts(verdicts: Sequence[Verdict], name: Callable[[Verdict], str]) -> tuple[GroupVerdict, ...]:
    """Return the verdict on the metrics of each name, in the order of their first occurrence."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(name(verdict), []).append(verdict)
    return tuple(GroupVerdict(name=key, verdict=session_verdict(group)) for key, group in groups.items())


def _model_verdicts(verdicts: Sequence[Verdict], pooled: Sequence[Verdict]) -> tuple[GroupVerdict, ...]:
    """Return the verdict on each model, with its pooled decision if it has one."""
    of_model = {(verdict.comparison.model, kind_of_metric(verdict.comparison)): verdict for verdict in pooled}
    groups = []
    for group in _group_verdicts(verdicts, lambda verdict: verdict.comparison.model):
        whole, score = (of_model.get((group.name, kind)) for kind in (ACCURACY, SCORE))
        decision = group.verdict if group.verdict == REGRESSION or whole is None else whole.decision
        groups.append(
            msgspec.structs.replace(
                group,
                verdict=decision,
                pooled=whole and summarise_metric(whole),
                pooled_score=score and summarise_metric(score),
            )
        )
    return tuple(groups)


def summarise_metric(verdict: Verdict) -> MetricVerdict:
    """Return the verdict on a metric."""
    comparison = verdict.comparison
    metric, interval = comparison.metric, comparison.ci
    return MetricVerdict(
        case=comparison.case,
        protocol=comparison.protocol,
        metric=metric.name,
        labels=metric.labels,
        subset=metric.subset_text,
        family=comparison.family,
        primary=comparison.primary,
        before=comparison.before,
        after=comparison.after,
        change=comparison.delta,
        low=_number_or_none(interval.low) if interval else None,
        high=_number_or_none(interval.high) if interval else None,
        n=comparison.n,
        lost=comparison.n_lost if comparison.counts_samples else None,
        gained=comparison.gained if comparison.counts_samples else None,
        p=_number_or_none(comparison.p),
        p_adjusted=_number_or_none(verdict.adjusted),
        adjusted_by=verdict.adjustment.method,
        adjusted_numbers=verdict.adjustment.numbers,
        draws=verdict.adjustment.draws or None,
        test=comparison.method,
        loss_limit=_number_or_none(verdict.limit),
        more_samples=verdict.samples_to_decide(),
        tier=verdict.rule.tier,
        margin=verdict.rule.margin,
        max_drop=verdict.rule.max_drop,
        verdict=verdict.decision,
    )


def _number_or_none(value: float) -> float | None:
    """Return a number, None for NaN.

    >>> _number_or_none(0.5), _number_or_none(float("nan"))
    (0.5, None)
    """
    return None if isnan(value) else value
