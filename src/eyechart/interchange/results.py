"""The form in which every reader returns the results of another tool: answers to samples, and values of its metrics.

file → reader → ImportedCase → `recording.record_cases` → the folder of a run
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import isclose, isfinite, isnan
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.errors import DataError, SpecError
from eyechart.messages.secret_values import SECRET_NAME, hide_secrets
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.spec import parse_alias
from eyechart.results.records import UsageRecord

CLOSE = 1e-6  # the largest difference between a mean of samples and the number that the tool printed
IMAGE_FIELDS = ("image_id", "img_id", "image_path", "image")  # by which data sets name the image of a question
DIGITS = re.compile(r"(\d+)")
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ImportedAnswer:
    """One answer to a sample.

    `key` is the tool's id of the sample, `content` the sha256 of what it asks about, and `cluster` names the image that
    samples share ("": the sample is a cluster of its own). `kept` are all further fields of the tool, as text.
    """

    key: str
    content: str
    epoch: int = 0
    target: str = ""
    prediction: str = ""
    response: str = ""
    error: str = ""
    cluster: str = ""
    kept: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ImportedMetric:
    """A metric of the tool: its value for each sample by key, over all epochs, and the mean that the tool printed.

    A sample without a value does not count. `printed` is None if the tool printed no mean. `higher_is_better` is None
    if the gate must not judge the metric.
    """

    name: str
    values: Mapping[str, float]
    printed: float | None = None
    higher_is_better: bool | None = True

    def contradiction(self) -> str:
        """Return why the mean of the samples is not the number that the tool printed, "" if it is."""
        if self.printed is None or not self.values:
            return ""
        mean = sum(self.values.values()) / len(self.values)
        if isclose(mean, self.printed, rel_tol=CLOSE, abs_tol=CLOSE):
            return ""
        return f"{self.name} is left out: the tool printed {self.printed:.6g}, the mean of its samples is {mean:.6g}"


@dataclass(frozen=True, kw_only=True)
class ImportedCase:
    """The results of one model on one benchmark. Answers are sorted by key, so that every run has the same order.

    `source` is the file, `tool` the name of the tool, which is the protocol of the record. `model` is the tool's name
    of the model, `alias` its name in cases if it has another one. `settings` are those that the answers depend on.
    `limit` is the number of samples if the tool was asked to use a part of them, `expected` the number that it says it
    asked, None if it does not say.
    """

    tool: str
    source: Path
    benchmark: str
    split: str
    model: str
    alias: str = ""
    answers: tuple[ImportedAnswer, ...]
    metrics: tuple[ImportedMetric, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    expected: int | None = None
    seconds: float = 0.0
    usage: UsageRecord | None = None
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name of the case: benchmark, split and model."""
        return f"{self.benchmark}/{self.split}/{self.alias or self.model}"

    @cached_property
    def samples(self) -> tuple[ImportedAnswer, ...]:
        """The first answer to each sample."""
        first: dict[str, ImportedAnswer] = {}
        for answer in self.answers:
            first.setdefault(answer.key, answer)
        return tuple(first.values())

    def values(self, metric: ImportedMetric) -> Floats:
        """Return the value of each sample (samples,), NaN for one that does not count."""
        return np.array([metric.values.get(sample.key, np.nan) for sample in self.samples], np.float64)


def check_case(case: ImportedCase) -> ImportedCase:
    """Return a case with sorted answers and without metrics that are no means of its samples, which notes name.

    Raises DataError if there are no answers, fewer than the tool asked, two of one sample and epoch, or no metric with
    a value for each sample.
    """
    if not case.answers:
        raise DataError(
            f"{case.source} has no samples. Expected an answer to each sample: run the tool again so that it logs them."
        )
    known: set[tuple[str, int]] = set()
    for answer in case.answers:
        if (answer.key, answer.epoch) in known:
            raise DataError(
                f"{case.source} has two answers to the sample '{answer.key}' in epoch {answer.epoch}. Expected one: "
                "remove one of them."
            )
        known.add((answer.key, answer.epoch))
    if case.expected is not None and len(case.samples) < case.expected:
        raise DataError(
            f"{len(case.samples):,} of {case.expected:,} samples are in the file {case.source}. Expected all that "
            "the tool asked: copy the whole file, or run the tool again."
        )
    used = [_finite_metric(metric) for metric in case.metrics]
    notes = [contradiction for metric in used if (contradiction := metric.contradiction())]
    notes += [f"{metric.name} is left out: it has no number for any sample" for metric in used if not metric.values]
    metrics = tuple(metric for metric in used if metric.values and not metric.contradiction())
    if not metrics:
        reason = "".join(f" {note}." for note in (*case.notes, *notes))
        raise DataError(
            f"{case.source} has no metric with a number for each sample.{reason} Expected one whose mean is the "
            "number that the tool prints: choose a metric with a value for each sample, and run the tool again."
        )
    answers = tuple(sorted(case.answers, key=lambda answer: (_natural_order(answer.key), answer.epoch)))
    return replace(case, answers=answers, metrics=metrics, notes=(*case.notes, *notes))


def _finite_metric(metric: ImportedMetric) -> ImportedMetric:
    """Return a metric without the samples whose value is not a number."""
    return replace(metric, values={key: value for key, value in metric.values.items() if isfinite(value)})


def rename_case(case: ImportedCase, model: str | None, benchmark: str | None) -> ImportedCase:
    """Return a case with another name of its model, or of its benchmark and split, if they are given.

    Raises SpecError for a name of another form.
    """
    if benchmark is not None:
        name, _, split = benchmark.rpartition("/")
        if not name or not split or (safe_name(name), safe_name(split)) != (name, split):
            raise SpecError(
                f"--benchmark is '{benchmark}'. Expected a benchmark and a split of letters, digits, '_', '.' and '-', "
                "such as mmmu/validation."
            )
        case = replace(case, benchmark=name, split=split)
    return case if model is None else replace(case, alias=parse_alias(model, "The option --model"))


def set_direction(case: ImportedCase, lower: Collection[str]) -> ImportedCase:
    """Return a case in which lower values of some metrics are better. Raises SpecError for an unknown metric."""
    names = [metric.name for metric in case.metrics]
    if unknown := [name for name in lower if name not in names]:
        raise SpecError(
            f"--lower-is-better: {case.source} has no metric '{unknown[0]}'{did_you_mean(unknown[0], names)} "
            f"Its metrics are: {', '.join(names)}."
        )
    changed = (replace(metric, higher_is_better=False) if metric.name in lower else metric for metric in case.metrics)
    return replace(case, metrics=tuple(changed))


def _natural_order(key: str) -> list[tuple[int, int, str]]:
    """Return what keys are sorted by: numbers within them by value.

    >>> sorted(["s-10", "s-9", "a"], key=_natural_order)
    ['a', 's-9', 's-10']
    """
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in DIGITS.split(key) if part]


def hash_content(content: object) -> str:
    """Return the sha256 of a value of JSON.

    >>> hash_content({"b": 1, "a": [2]}) == hash_content({"a": [2], "b": 1})
    True
    """
    return sha256(msgspec.json.encode(content, order="sorted")).hexdigest()


def as_text(value: Any) -> str:
    """Return a value of JSON as the text of a cell: "" for none, JSON for a list or an object.

    >>> as_text("a"), as_text(None), as_text(["a", 1]), as_text(True)
    ('a', '', '["a",1]', 'true')
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def flat_settings(**groups: Any) -> Iterator[tuple[str, str]]:
    """Yield the settings of objects as (name, text), without those that are not set, and without keys and passwords.

    >>> dict(flat_settings(task_args={"shots": 5, "seed": None, "api_key": "k"}, solver="generate"))
    {'task_args.shots': '5', 'solver': 'generate'}
    >>> dict(flat_settings(model_args="model=a,api_key=k,max_tokens=8"))
    {'model_args': 'model=a,api_key=…,max_tokens=8'}
    >>> dict(flat_settings(args={"headers": {"Authorization": "Bearer k", "n": 1}, "url": "https://me:k@host/v1"}))
    {'args.headers': '{"Authorization":…,"n":1}', 'args.url': 'https://…@host/v1'}
    """
    for name, text in _settings(groups):
        if not SECRET_NAME.search(name):
            yield name, hide_secrets(text)


def _settings(groups: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in groups.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{key}", as_text(item)) for key, item in value.items() if item not in (None, {}, []))
        elif value not in (None, "", {}, []):
            yield name, as_text(value)


def image_of(fields: Mapping[str, Any]) -> str:
    """Return the name of the image that a sample is about, "" if its fields name none.

    >>> image_of({"image_id": 7}), image_of({"image": "a/b.jpg"}), image_of({"image": {"bytes": ""}})
    ('7', 'a/b.jpg', '')
    >>> image_of({"image": "<PIL.Image.Image image mode=RGB size=8x8>"})
    ''
    """
    names = (fields[name] for name in IMAGE_FIELDS if isinstance(fields.get(name), str | int))
    texts = (as_text(name) for name in names if name not in ("", None))
    return next((text for text in texts if not text.startswith("<")), "")


def safe_name(text: str) -> str:
    """Return the name of a benchmark or split, which has no slash and no space.

    >>> safe_name("inspect_evals/mmmu open"), safe_name("")
    ('inspect_evals.mmmu-open', 'all')
    """
    return re.sub(r"[^\w.-]+", "-", text.strip().replace("/", ".")).strip("-.") or "all"


def metric_name(*parts: str) -> str:
    """Return the name of a metric, which has only letters, digits and underscores, as floors expect it.

    >>> metric_name("exact_match", "strict-match"), metric_name("choice", "")
    ('exact_match_strict_match', 'choice')
    """
    return re.sub(r"\W+", "_", "_".join(filter(None, parts)))


def mean_by_key(values: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return the mean over the epochs of each sample; epochs without a number do not count.

    >>> mean_by_key([("a", 1.0), ("a", 0.0), ("b", float("nan"))])
    {'a': 0.5}
    """
    by_key: dict[str, list[float]] = {}
    for key, value in values:
        if not isnan(value):
            by_key.setdefault(key, []).append(value)
    return {key: sum(numbers) / len(numbers) for key, numbers in by_key.items()}
