"""The results in logs of inspect_ai.

A log has a header (the evaluation, its results), its samples, and reductions: the value of each scorer for each sample
over all epochs, from which inspect_ai computes its metrics.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from eyechart.errors import DataError
from eyechart.interchange.inspect_format import VERSION, Evaluation, Log, PrintedScore, Sample, Stats, Value, read_log
from eyechart.interchange.results import (
    ImportedAnswer,
    ImportedCase,
    ImportedMetric,
    as_text,
    check_case,
    flat_settings,
    hash_content,
    mean_by_key,
    metric_name,
    safe_name,
)
from eyechart.results.records import UsageRecord

TOOL = "inspect_ai"
MEANS = ("accuracy", "mean")  # the metrics that are means of samples
WORDS: Mapping[str, float] = {"C": 1, "I": 0, "P": 0.5, "N": 0}
LOWER_WORDS: Mapping[str, float] = {"yes": 1, "true": 1, "no": 0, "false": 0}
OWN_FIELDS = ("total_time", "working_time", "turn_count", "limit", "uuid")


def read_inspect_log(path: Path) -> ImportedCase:
    """Return the results in a log of inspect_ai. Raises DataError if it is damaged, unfinished or without samples."""
    log = read_log(path)
    if log.version != VERSION:
        raise DataError(
            f"{path} has version {log.version} of the log format. Expected version {VERSION}: convert it with "
            "`inspect log convert` of a present inspect_ai."
        )
    if log.results is None or not log.samples:
        reason = f" ({log.error.message})" if log.error else ""
        missing = "results" if log.results is None else "samples"
        raise DataError(
            f"{path} has no {missing}; its status is '{log.status}'{reason}. Expected a finished evaluation with its "
            "samples: run it to its end with `inspect eval-retry`, and with log_samples."
        )
    evaluation = log.eval
    notes = [f"the evaluation has the status '{log.status}'"] if log.status != "success" else []
    metrics = tuple(read_metrics(log, notes))
    return check_case(
        ImportedCase(
            tool=TOOL,
            source=path,
            benchmark=safe_name(evaluation.name),
            split=safe_name(evaluation.dataset.name or ""),
            model=evaluation.model,
            answers=tuple(read_answer(sample) for sample in log.samples),
            metrics=metrics,
            settings=dict(
                flat_settings(
                    task_version=evaluation.task_version,
                    task_args=evaluation.task_args,
                    solver=evaluation.solver,
                    solver_args=evaluation.solver_args,
                    model_args=evaluation.model_args,
                    generate=evaluation.model_generate_config,
                    epochs=evaluation.config.epochs,
                )
            ),
            libraries=evaluation.packages,
            limit=_used_part(evaluation, log.samples),
            seconds=_duration(log.stats),
            usage=_read_usage(log.samples),
            notes=tuple(notes),
        )
    )


def read_answer(sample: Sample) -> ImportedAnswer:
    """Return a sample in one epoch as an answer: the first one that a scorer read, else the whole response."""
    scores = (sample.scores or {}).values()
    answers = [score.answer for score in scores if score.answer is not None]
    own = {name: as_text(getattr(sample, name)) for name in OWN_FIELDS}
    return ImportedAnswer(
        key=str(sample.id),
        content=hash_content([_without_ids(sample.input), sample.choices]),
        epoch=sample.epoch - 1,
        target="; ".join(map(as_text, sample.target)) if isinstance(sample.target, list) else as_text(sample.target),
        prediction=answers[0] if answers else sample.output.text,
        response=sample.output.text,
        error=sample.error.message or "error" if sample.error else "",
        cluster=" ".join(images(sample.input)),
        kept={f"metadata.{name}": as_text(value) for name, value in sample.metadata.items()}
        | {name: text for name, text in own.items() if text},
    )


def _without_ids(content: Any) -> Any:
    """Return the input of a sample without the random ids of its messages."""
    if isinstance(content, list):
        return [_without_ids(part) for part in content]
    if isinstance(content, Mapping):
        return {name: _without_ids(part) for name, part in content.items() if name != "id"}
    return content


def images(content: Any) -> Iterator[str]:
    """Yield the images of an input: attachments, which are named by their hash, addresses or paths."""
    if isinstance(content, list):
        for part in content:
            yield from images(part)
    elif isinstance(content, Mapping):
        if content.get("type") == "image":
            image = as_text(content.get("image"))
            yield hash_content(image) if image.startswith("data:") else image
        elif "content" in content:
            yield from images(content["content"])


def read_metrics(log: Log, notes: list[str]) -> Iterator[ImportedMetric]:
    """Yield the metrics that are means over samples, in the order of the results; `notes` gets what is left out."""
    printed = log.results.scores if log.results else []
    names = [metric_name(score.name, _reducer_suffix(score.reducer)) for score in printed]
    for score, name in zip(printed, names, strict=True):
        values, words = _sample_values(log, score)
        if words:
            notes.append(f"{name} is left out: its values are no numbers, such as {words[0]!r}")
            continue
        means = [metric.value for mean, metric in score.metrics.items() if mean in MEANS]
        if other := [mean for mean in score.metrics if mean not in (*MEANS, "stderr")]:
            notes.append(f"of {name}, {', '.join(other)} of the tool is not imported, since it is no mean")
        if not means:
            notes.append(f"{name} is left out: the tool printed neither its accuracy nor its mean")
            continue
        unique = name if names.count(name) == 1 else metric_name(score.scorer, name)
        yield ImportedMetric(name=unique, values=values, printed=means[0])


def _reducer_suffix(reducer: str | None) -> str:
    """Return the name of a reducer of epochs, "" for the mean."""
    return "" if reducer in (None, "mean") else str(reducer)


def _sample_values(log: Log, score: PrintedScore) -> tuple[dict[str, float], list[str]]:
    """Return the value of each sample that a printed score has, and the values that are no numbers."""
    for reduction in log.reductions or ():
        if (reduction.scorer, reduction.reducer) == (score.scorer, score.reducer):
            return to_numbers(((str(item.sample_id), item.value) for item in reduction.samples), score.name)
    pairs = (
        (str(sample.id), sample.scores[score.scorer].value)
        for sample in log.samples or ()
        if sample.scores and score.scorer in sample.scores and not sample.error
    )
    return to_numbers(pairs, score.name)


def to_numbers(pairs: Iterable[tuple[str, Value]], name: str) -> tuple[dict[str, float], list[str]]:
    """Return the mean value of each sample, and the values that are no numbers; `name` selects a value of several.

    >>> to_numbers([("a", "C"), ("a", "I"), ("b", {"x": True})], "x")
    ({'a': 0.5, 'b': 1.0}, [])
    """
    numbers: list[tuple[str, float]] = []
    words: list[str] = []
    for key, value in pairs:
        single = value.get(name) if isinstance(value, Mapping) else value
        number = to_number(single)
        if number is None:
            words += [as_text(single)] if single is not None else []
        else:
            numbers.append((key, number))
    return mean_by_key(numbers), words


def to_number(value: Value) -> float | None:
    """Return a value as inspect_ai's metrics count it, None for one that is no number.

    >>> to_number("C"), to_number("P"), to_number(True), to_number("no"), to_number("7"), to_number("cat")
    (1, 0.5, 1.0, 0, 7.0, None)
    """
    if isinstance(value, bool | int | float):
        return float(value)
    if not isinstance(value, str):
        return None
    if value in WORDS or value.lower() in LOWER_WORDS:
        return WORDS.get(value, LOWER_WORDS.get(value.lower()))
    try:
        return float(value)
    except ValueError:
        return None


def _used_part(evaluation: Evaluation, samples: Sequence[Sample]) -> int | None:
    """Return the number of samples if options or an interruption left some out, None if all were evaluated."""
    number = len({sample.id for sample in samples})
    is_part = evaluation.config.limit is not None or evaluation.config.sample_id is not None
    return number if is_part or number < (evaluation.dataset.samples or 0) else None


def _duration(stats: Stats) -> float:
    """Return the seconds from start to end, 0 if they are not known."""
    try:
        ends = [datetime.fromisoformat(text) for text in (stats.started_at, stats.completed_at)]
    except ValueError:
        return 0.0
    return (ends[1] - ends[0]).total_seconds()


def _read_usage(samples: Iterable[Sample]) -> UsageRecord | None:
    """Return the tokens of all samples, None if none were counted; a sample is one request."""
    usages = [usage for sample in samples for usage in sample.model_usage.values()]

    def total(name: str) -> int:
        return sum(int(usage.get(name) or 0) for usage in usages)

    costs = [float(usage["total_cost"]) for usage in usages if usage.get("total_cost") is not None]
    return (
        UsageRecord(
            requests=len(usages),
            prompt_tokens=total("input_tokens"),
            cached_tokens=total("input_tokens_cache_read"),
            answer_tokens=total("output_tokens"),
            thinking_tokens=total("reasoning_tokens"),
            cost=sum(costs) if costs else None,
        )
        if usages
        else None
    )
