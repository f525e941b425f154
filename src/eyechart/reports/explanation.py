"""Explain one number of a run: from the question and the responses to the value, its interval and the code."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from math import sqrt
from statistics import NormalDist
from textwrap import fill
from types import FunctionType
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from eyechart.data.splits.registry import PackagedSample, registered_datasets
from eyechart.errors import ReportError
from eyechart.messages.plurals import count_of
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.registry import BUILT_IN
from eyechart.protocol.base import Protocol
from eyechart.protocol.imported import recorded_protocol
from eyechart.protocol.prompts import get_prompt, prompt_names
from eyechart.reports.explanation_layout import NAME_WIDTH, WIDTH, describe_class, describe_code, lay_out
from eyechart.reports.page.prompt_texts import prompt_texts
from eyechart.reports.page.samples import RIGHT, WRONG, Samples, class_namer, read_samples
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.render import PERCENT, metric_cell, one_line
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import MetricEvidence
from eyechart.results.glossary import (
    INTERVALS,
    describe_label_set,
    describe_metric,
    describe_subset,
    is_counted,
)
from eyechart.results.records import WHOLE, Metric
from eyechart.statistics.clusters import clustered_wilson, effective_sample_size
from eyechart.statistics.intervals import wilson

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_PROMPT_LINES = 12  # of a prompt; the rest is counted
_RESPONSE_LENGTH = 160  # characters of a response


def find_case(runs: Runs, name: str, protocol: str = "") -> CaseRun:
    """Return the case of some runs that a text names.

    Args:
        runs: The runs.
        name: The name of the case, or a part of it that no other case has; or its protocol, if no other case has it.
        protocol: The name of its protocol, "" where one case alone has the name.

    Raises:
        ReportError: If no case or several cases have the name; the message lists them.
    """
    cases, form = [*runs.cases], normalize("NFC", name)
    names = [normalize("NFC", case.record.case) for case in cases]
    chosen = (
        [case for case, known in zip(cases, names, strict=True) if known == form]
        or [case for case, known in zip(cases, names, strict=True) if form in known]
        or [case for case in cases if case.record.protocol == name]
    )
    chosen = [case for case in chosen if protocol in ("", case.record.protocol)]
    if len(chosen) == 1:
        return chosen[0]
    listed = "\n".join(f"  {case.record.case}  {case.record.protocol}" for case in chosen or cases)
    if not chosen:
        raise ReportError(f"No case has '{name}' in its name{_under(protocol)}. The cases of the run are:\n{listed}")
    raise ReportError(
        f"{len(chosen)} cases have '{name}' in their name{_under(protocol)}. Give the whole name, or --protocol. "
        f"The cases are:\n{listed}"
    )


def find_metric(case: CaseRun, name: str = "", labels: str = "", subset: str = "") -> Metric:
    """Return a metric of a case; without a name the main one.

    Args:
        case: The case.
        name: The name of the metric, such as `acc1`.
        labels: Its label set, "" for the first one.
        subset: Its subset with level and prompt, such as `answerable.species`; "" for the first one.

    Raises:
        ReportError: If the record has no such metric; the message lists what it has.
    """
    metrics, wanted = case.record.metrics, name or case.accuracy_name or case.record.metrics[0].name
    chosen = (m for m in metrics if m.name == wanted and labels in ("", m.labels) and subset in ("", m.subset_text))
    if (metric := next(chosen, None)) is not None:
        return metric
    names = [*dict.fromkeys(metric.name for metric in metrics)]
    if wanted not in names:
        raise ReportError(
            f"{case.record.case} has no metric '{wanted}'{did_you_mean(wanted, names)} It has {', '.join(names)}."
        )
    known = "; ".join(m.full_name for m in metrics if m.name == wanted)
    raise ReportError(
        f"{case.record.case} has {wanted} as {known}. Give --labels and --subset as one of these has them."
    )


def explain(case: CaseRun, metric: Metric, samples: int = 2) -> str:
    """Return how a number was made, section by section.

    Args:
        case: The case.
        metric: One of the metrics of its record.
        samples: How many correct samples are shown, and how many wrong ones.

    Returns:
        What was asked and answered, what counts as correct, the value computed again from the stored outcomes, its
        interval, samples, and the files and lines of the code.
    """
    record, protocol = case.record, recorded_protocol(case.record.protocol)
    evidence = next((found for found in case.evidence.metrics if found.key == metric.key), None)
    outcomes = None if evidence is None else case.evidence.sample_outcomes(evidence)
    clusters = case.evidence.cluster_ids()
    table = read_samples(case, class_namer(case.class_names))
    if outcomes is None and metric.value is not None and metric.ci_method == "wilson":
        # Of a metric that the gate does not judge the run stores no outcomes. Its value and n give their number.
        outcomes, clusters = (np.arange(metric.n) < round(metric.value * metric.n)).astype(np.float64), None
    sections = [
        ("metric", [describe_metric(metric.name)]),
        ("case", [f"{record.case}, {record.protocol}. {protocol.summary}"]),
        ("model", [_describe_model(case)]),
        ("images", [*_describe_images(case)]),
        ("options", [*_describe_options(case)]),
        ("asked", [*_describe_question(case)]),
        ("answers", [*_describe_answers(case)]),
        ("labels", [*_describe_labels(case, table, metric)]),
        ("counted", [*_describe_counted(metric)]),
        ("value", [*_describe_value(metric, evidence, outcomes)]),
        ("interval", [*_describe_interval(metric, outcomes, clusters)]),
        ("samples", [*_show_samples(case, table, metric, samples)]),
        ("code", [*_list_code(case, metric)]),
        ("notes", [*record.notes]),
    ]
    return lay_out(f"{metric.full_name}: {_value_text(metric)}", sections)


def _under(protocol: str) -> str:
    return f" under the protocol {protocol}" if protocol else ""


def _value_text(metric: Metric) -> str:
    """Return the value and its interval as tables print them."""
    if metric.value is None:
        return "not defined"
    style = metric_cell(metric).style
    ends = f" [{style(metric.ci[0])}, {style(metric.ci[1])}]" if metric.ci else ""
    return f"{style(metric.value)}{' %' if style == PERCENT else ''}{ends}"


def _describe_model(case: CaseRun) -> str:
    model = case.record.model
    parts = (
        model.alias,
        model.spec,
        model.dtype,
        f"weights {model.weights_sha256[:12]}" if model.weights_sha256 else "",
    )
    return f"{', '.join(filter(None, parts))}."


def _describe_images(case: CaseRun) -> Iterator[str]:
    record = case.record
    of_all = f" of {record.data.expected_n:,}" if record.data.expected_n else ""
    limit = f", limit {record.limit}, seed {record.seed}" if record.limit is not None else ""
    root = f" from {record.data.root}" if record.data.root else ""
    yield (
        f"{record.data.n:,}{of_all} of {record.benchmark}/{record.split}{root}{limit}; "
        f"fingerprint {record.data.fingerprint[:12]}."
    )
    yield record.data.provenance


def _describe_options(case: CaseRun) -> Iterator[str]:
    """Yield each option of the protocol with its value and meaning, then the other settings of the record."""
    values = case.record.variant
    options = {option.name: option for option in recorded_protocol(case.record.protocol).options}
    for name in options:
        if name in values:
            yield f"{name}={values[name]}: {options[name].help}"
    if others := case.prompt_settings_without(options):
        yield f"Recorded besides: {others}."


def _describe_question(case: CaseRun) -> Iterator[str]:
    """Yield the prompts of the case, and the class names that they may list."""
    for prompt in prompt_texts(case, None):
        about = f", for {prompt['asks']}" if prompt["asks"] and prompt["asks"] != prompt["name"] else ""
        if _asks_for_json(prompt["name"]):
            about += ', whose answer is JSON (format = "json" in its file)'
        lines = prompt["text"].splitlines()
        more = len(lines) - _PROMPT_LINES
        lines = lines[:_PROMPT_LINES] + ([f"… and {count_of(more, 'more line')}"] if more > 0 else [])
        quoted = (fill(line, WIDTH - NAME_WIDTH, initial_indent="| ", subsequent_indent="| ") for line in lines)
        yield "\n".join([f"The prompt {prompt['name']}{about}:", *quoted])
    if (file := case.record.data.class_names) is not None:
        yield f"{count_of(len(case.class_names), 'class name')}: {case.folder / file.path}"


def _asks_for_json(prompt: str) -> bool:
    """Return whether a prompt of eyechart asks for JSON."""
    return prompt in prompt_names() and get_prompt(prompt).format == "json"


def _describe_answers(case: CaseRun) -> Iterator[str]:
    counts, usage = case.record.outcomes, case.record.usage
    if usage is not None:
        limit = f"; the limit of an answer is {usage.max_tokens:,}" if usage.max_tokens else ""
        yield f"{count_of(usage.requests, 'request')}, {usage.answer_tokens:,} answer tokens{limit}."
    yield (
        f"{counts.correct:,} correct, {counts.wrong:,} wrong, {counts.unparsed:,} unparsed, {counts.truncated:,} "
        f"truncated. {count_of(counts.error, 'error')}, which no metric counts; {counts.refused:,} of them refusals."
    )


def _describe_labels(case: CaseRun, table: Samples | None, metric: Metric) -> Iterator[str]:
    if not metric.labels:
        return
    sha, rule = case.label_sets.get(metric.labels, (case.record.data.labels.get(metric.labels, ""), ""))
    yield " ".join(filter(None, (f"{metric.labels} {sha[:12]}.".replace(" .", "."), describe_label_set(metric.labels))))
    if rule:
        yield f"An image without labels counts as: {rule}."
    if equivalences := case.option("equivalences"):
        pairs = "the pairs that the data set comes with" if equivalences == "own" else equivalences
        yield f"Classes that count as equal: {pairs} (equivalences={equivalences})."
        yield _count_by_equal_class(table, metric)


def _count_by_equal_class(table: Samples | None, metric: Metric) -> str:
    """Return how many correct samples have no label that is the answer itself, "" where that is not known."""
    if table is None or not table.answers or metric.labels not in table.label_sets:
        return ""
    of_set = table.label_sets[metric.labels]
    correct = np.flatnonzero(of_set.outcomes == RIGHT)
    alone = sum(table.answers[row] not in of_set.labels[row] for row in correct if of_set.labels[row])
    return f"Correct by an equal class alone: {alone:,} of {len(correct):,}."


def _describe_counted(metric: Metric) -> Iterator[str]:
    units = "" if metric.n_clusters == metric.n else f", of {count_of(metric.n_clusters, 'sampling unit')}"
    yield f"{count_of(metric.n, 'sample')}{units}. {'' if metric.subset == WHOLE else describe_subset(metric)}".strip()


def _describe_value(metric: Metric, evidence: MetricEvidence | None, outcomes: Floats | None) -> Iterator[str]:
    """Yield how the value follows from the stored outcomes of samples."""
    if metric.value is None:
        yield "Not defined for these samples."
    elif outcomes is not None:
        counted = outcomes[~np.isnan(outcomes)]
        right = int(counted.sum())
        yield (
            f"{right:,} of {len(counted):,} samples count as 1: {right} / {len(counted)} = "
            f"{right / len(counted):.6f}. The record has {metric.value:.6f}."
        )
    elif evidence is not None and evidence.scores:
        yield f"The mean of the stored scores of {metric.n:,} samples: {metric.value:.6f}."
    else:
        yield f"{metric.value:.6f}, from all samples together. The sample table has what it was computed from."


def _describe_interval(metric: Metric, outcomes: Floats | None, clusters: Ints | None) -> Iterator[str]:
    """Yield the method, and Wilson's interval computed again."""
    if metric.ci is None:
        yield "None."
        return
    yield INTERVALS.get(metric.ci_method, f"Method: {metric.ci_method}.")
    if outcomes is not None and is_counted(metric.ci_method):
        counted = ~np.isnan(outcomes)
        units = np.arange(len(outcomes)) if clusters is None else clusters
        yield _fill_formula(outcomes[counted], units[counted])
        low, high = clustered_wilson(outcomes[counted], units[counted])
        yield f"Computed again: {low:.6f} to {high:.6f}. The record has {metric.ci[0]:.6f} to {metric.ci[1]:.6f}."


def _fill_formula(outcomes: Floats, units: Ints) -> str:
    """Return Wilson's formula with the numbers of these samples, and its result as a centre and a half width."""
    right, count, z = int(outcomes.sum()), len(outcomes), NormalDist().inv_cdf(0.975)
    n, p = effective_sample_size(outcomes, units), right / count
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    effective = "" if n == count else ", the effective number of samples, since those of a sampling unit are alike"
    return (
        f"(p + z²/2n ± z √(p (1 - p)/n + z²/4n²)) / (1 + z²/n), where p = {right} / {count}, z = {z:.6f} and "
        f"n = {n:.6g}{effective}: {centre:.6f} ± {half:.6f}."
    )


def _show_samples(case: CaseRun, table: Samples | None, metric: Metric, count: int) -> Iterator[str]:
    """Yield the first correct samples and the first wrong ones under the label set of the metric."""
    if table is None or not table.label_sets:
        return
    of_set = table.label_sets.get(metric.labels) or next(iter(table.label_sets.values()))
    if any(_asks_for_json(prompt["name"]) for prompt in prompt_texts(case, None)):
        yield "A text is what was read from the JSON of a response."
    for title, code in (("correct", RIGHT), ("wrong", WRONG)):
        for row in np.flatnonzero(of_set.outcomes == code)[:count]:
            key, question = table.items[row]
            response = one_line(table.raw[row])[:_RESPONSE_LENGTH]
            parts = (
                f"{title}: {key}" + (f" ({question})" if question else ""),
                f"text {response!r}" if response else "",
                f"answer {table.answers[row] or 'none'}" if table.answers else "",
                f"labels {', '.join(of_set.labels[row]) or 'none'}",
            )
            yield "; ".join(filter(None, parts))
    if case.record.predictions is not None:
        yield f"All of them: {case.folder / case.record.predictions.path}"


def _list_code(case: CaseRun, metric: Metric) -> Iterator[str]:
    """Yield where the code is and what it does: the steps as they run, their parsers, the metric and the interval."""
    protocol = recorded_protocol(case.record.protocol)
    source = registered_datasets().get(case.record.benchmark)
    if source is not None:
        yield describe_code("data set", source.open if isinstance(source, PackagedSample) else type(source))
    yield describe_code("protocol", type(protocol))
    if backend := BUILT_IN.get(case.record.model.backend):
        yield describe_class("model", backend.target)
    for step in protocol.steps:
        yield describe_code("step", step)
    for part in filter(None, case.option("parser_version").split(", ")):
        name = f"eyechart.parsers.{part.split(' ')[0]}"
        if find_spec(name) is not None:
            yield describe_code("parser", import_module(name))
    for function in _functions_of(protocol, metric):
        yield describe_code("metric", function)
    if is_counted(metric.ci_method):
        for function in (Estimate.proportion, clustered_wilson, wilson):
            yield describe_code("value and interval", function)


def _functions_of(protocol: Protocol[Any], metric: Metric) -> Sequence[Callable[..., object]]:
    """Return the functions of a protocol that write the name of a metric; all of them if none does."""
    functions = [*dict.fromkeys(protocol.metrics)]
    named = [one for one in functions if isinstance(one, FunctionType) and metric.name in one.__code__.co_consts]
    return named or functions
