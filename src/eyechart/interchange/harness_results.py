"""Results of lm-evaluation-harness and of lmms-eval, which descends from it, that were written with `--log_samples`.

A file of samples has a line for each document and filter, the file of results beside it the numbers of all tasks.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import DataError
from eyechart.interchange.json_files import parse_json, read_file, read_lines
from eyechart.interchange.results import (
    ImportedAnswer,
    ImportedCase,
    ImportedMetric,
    as_text,
    check_case,
    flat_settings,
    hash_content,
    image_of,
    mean_by_key,
    metric_name,
    safe_name,
)

NO_FILTER = "none"
UNKNOWN = ("N/A", "unknown@unknown")  # versions
MULTIPLE_CHOICE = "multiple_choice"
LIKELIHOODS = (MULTIPLE_CHOICE, "loglikelihood")
OWN_FIELDS = frozenset((
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash"),
    *("target_hash", "input"),
))  # fmt: skip
ADDRESS = re.compile(r"(<[\w.]+[^<>]*) at 0x[0-9A-Fa-f]+>")
Line = Mapping[str, Any]


@dataclass(frozen=True)
class _Harness:
    """A tool with its names of files; `samples` and `results` have DATE and TASK where these are."""

    tool: str
    samples: str
    results: str
    date: str

    @property
    def expected(self) -> str:
        """The end of a sentence about a file that is missing or damaged."""
        return f"Expected the files that {self.tool} writes with --log_samples: {self.samples} and {self.results}."

    def parse_name(self, pattern: str, name: str) -> re.Match[str] | None:
        """Return the task and date in the name of a file."""
        groups = re.escape(pattern).replace("TASK", "(?P<task>.+)").replace("DATE", f"(?P<date>{self.date})")
        return re.fullmatch(groups, name)


LM_EVAL = _Harness("lm_eval", "samples_TASK_DATE.jsonl", "results_DATE.json", r"\d{4}-\d\d-\d\dT[\d.-]+")
LMMS_EVAL = _Harness("lmms_eval", "DATE_samples_TASK.jsonl", "DATE_results.json", r"\d{8}_\d{6}")


class Results(msgspec.Struct, kw_only=True):
    """The results of all tasks of an evaluation, by task."""

    results: dict[str, dict[str, Any]]
    configs: dict[str, dict[str, Any]] = {}
    higher_is_better: dict[str, dict[str, bool | None]] = {}
    counts: dict[str, dict[str, int]] = msgspec.field(name="n-samples", default={})
    shots: dict[str, Any] = msgspec.field(name="n-shot", default={})
    config: dict[str, Any] = {}
    model_name: str | None = None
    lm_eval_version: str | None = None
    lmms_eval_version: str | None = None
    transformers_version: str | None = None
    system_instruction: str | None = None
    chat_template_sha: str | None = None
    total_evaluation_time_seconds: float | None = None


def read_harness(harness: _Harness, paths: Sequence[Path]) -> Iterator[ImportedCase]:
    """Yield the results of each task in files of samples; a file of results stands for all samples of its date.

    Raises DataError if a file is missing or damaged, or if it has no number for each sample.
    """
    for file in dict.fromkeys(file for path in paths for file in _samples_files(harness, path)):
        yield read_samples(harness, file)


def _samples_files(harness: _Harness, path: Path) -> list[Path]:
    """Return the files of samples that a path stands for."""
    if harness.parse_name(harness.samples, path.name):
        return [path]
    match = harness.parse_name(harness.results, path.name)
    if match is None:
        raise DataError(f"{path.name} is no name of a file of {harness.tool}. {harness.expected}")
    pattern = harness.samples.replace("TASK", "*").replace("DATE", match["date"])
    files = sorted(path.parent.glob(pattern))
    if not files:
        raise DataError(
            f"{path} has no {pattern} beside it. {harness.expected} Run {harness.tool} again with --log_samples."
        )
    return files


def read_samples(harness: _Harness, path: Path) -> ImportedCase:
    """Return the results in a file of samples."""
    match = harness.parse_name(harness.samples, path.name)
    assert match is not None
    name, beside = match["task"], path.with_name(harness.results.replace("DATE", match["date"]))
    expected = harness.expected
    results = parse_json(read_file(beside, expected), Results, str(beside), expected)
    if name not in results.results:
        raise DataError(
            f"{beside} has results of {', '.join(results.results) or 'no task'}. Expected '{name}', as in the name of "
            f"{path.name}: restore the name of the file."
        )
    lines = [check_line(line, location, expected) for location, line in read_lines(path, expected)]
    notes: list[str] = []
    metrics = tuple(read_metrics(name, results, lines, notes))
    counts = results.counts.get(name, {})
    effective = counts.get("effective")
    config = results.configs.get(name, {})
    return check_case(
        ImportedCase(
            tool=harness.tool,
            source=path,
            benchmark=safe_name(name),
            split=safe_name(as_text(config.get("test_split") or config.get("validation_split"))),
            model=results.model_name or as_text(results.config.get("model")),
            answers=tuple(read_answers(lines, config.get("output_type", ""), metric_fields(results.results[name]))),
            metrics=metrics,
            settings=dict(
                flat_settings(
                    version=task_version(config),
                    shots=results.shots.get(name),
                    output_type=config.get("output_type"),
                    doc_to_text=_prompt_template(config),
                    generation=config.get("generation_kwargs"),
                    gen_kwargs=results.config.get("gen_kwargs"),
                    model_args=results.config.get("model_args"),
                    system_instruction=results.system_instruction,
                    chat_template_sha=results.chat_template_sha,
                )
            ),
            libraries=_read_versions(results),
            expected=effective,
            limit=effective if effective != counts.get("original") else None,
            seconds=results.total_evaluation_time_seconds or 0.0 if len(results.results) == 1 else 0.0,
            notes=tuple(notes),
        )
    )  # fmt: skip


def task_version(config: Mapping[str, Any]) -> str:
    """Return the version of a task, which lm_eval has in an object and lmms_eval in a list of objects."""
    metadata = config.get("metadata")
    first = metadata[0] if isinstance(metadata, list) and metadata else metadata
    return as_text(first.get("version")) if isinstance(first, Mapping) else ""


def _prompt_template(config: Mapping[str, Any]) -> str:
    """Return the template of the prompt, "" for a function, whose text has an address that changes with each run."""
    template = as_text(config.get("doc_to_text"))
    return "" if template.startswith("<function") else template


def _read_versions(results: Results) -> dict[str, str]:
    """Return the versions of the tool and of its library."""
    names = ("lm_eval", "lmms_eval", "transformers")
    versions = {name: getattr(results, f"{name}_version") for name in names}
    return {name: version for name, version in versions.items() if version not in (None, *UNKNOWN)}


def check_line(line: Line, location: str, expected: str) -> Line:
    """Return a line, which has the fields that identify its sample. Raises DataError."""
    if missing := [name for name in ("doc_id", "target", "filtered_resps") if name not in line]:
        raise DataError(f"{location}: there is no field {', '.join(missing)}. {expected}")
    return line


def read_metrics(name: str, results: Results, lines: Sequence[Line], notes: list[str]) -> Iterator[ImportedMetric]:
    """Yield the metrics of a task that have a number for each document; `notes` gets those that have none."""
    directions = results.higher_is_better.get(name, {})
    for key, printed in results.results[name].items():
        metric, comma, filter_name = key.partition(",")
        if not comma or "_stderr" in metric or isinstance(printed, str):
            continue
        own = [line for line in lines if line.get("filter", NO_FILTER) == filter_name and metric in line]
        numbers = [(as_text(line["doc_id"]), to_number(line[metric])) for line in own]
        unique = metric_name(metric, "" if filter_name == NO_FILTER else filter_name)
        known = [(key, value) for key, value in numbers if value is not None]
        if not known or len(known) < len(numbers):
            notes.append(f"{unique} is left out: it has no number for each sample")
            continue
        if not isinstance(printed, int | float):
            notes.append(f"{unique} is left out: the tool printed no number for it")
            continue
        yield ImportedMetric(
            name=unique,
            values=mean_by_key(known),
            printed=float(printed),
            higher_is_better=directions.get(metric, True) is not False,
        )


def to_number(value: Any) -> float | None:
    """Return the value of a metric for a sample, None if it is no number; an object of lmms_eval may have a score.

    >>> to_number(True), to_number({"question_id": 1, "score": 0.5}), to_number([0, 1])
    (1.0, 0.5, None)
    """
    number = value.get("score") if isinstance(value, Mapping) else value
    return float(number) if isinstance(number, int | float) else None


def read_answers(lines: Sequence[Line], output_type: str, metrics: Collection[str]) -> Iterator[ImportedAnswer]:
    """Yield an answer for each document: that of the first filter; those of other filters are kept.

    `metrics` are the names of fields that are values of metrics. The hash of the document that the tool writes is not
    used, since lmms_eval has the same one for all documents; it writes no documents, so that the id stands for them.
    """
    by_document: dict[str, list[Line]] = {}
    for line in lines:
        by_document.setdefault(as_text(line["doc_id"]), []).append(line)
    for key, own in by_document.items():
        first = own[0]
        document = _without_addresses(first.get("doc"))
        doc: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
        others = {line["filter"]: as_text(read_answer(line, output_type)) for line in own[1:] if "filter" in line}
        yield ImportedAnswer(
            key=key,
            content=hash_content(document),
            target=as_text(first["target"]),
            prediction=read_answer(first, output_type),
            response=_read_response(first, output_type),
            cluster=image_of(doc),
            kept={f"doc.{field}": as_text(value) for field, value in doc.items()}
            | {f"filter.{name}": text for name, text in others.items()}
            | {field: as_text(value) for field, value in first.items() if field not in {*OWN_FIELDS, *metrics}}
            | dict(_metric_details(first, metrics)),
        )


def _without_addresses(value: Any) -> Any:
    """Return a value of JSON without the addresses in the texts of Python objects, which differ in each process.

    >>> _without_addresses({"image": "<PIL.Image.Image image mode=RGB size=8x8 at 0x7F00>", "question": "at 0x7F?"})
    {'image': '<PIL.Image.Image image mode=RGB size=8x8>', 'question': 'at 0x7F?'}
    """
    if isinstance(value, Mapping):
        return {name: _without_addresses(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_without_addresses(part) for part in value]
    return ADDRESS.sub(r"\1>", value) if isinstance(value, str) else value


def _metric_details(line: Line, metrics: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield what an object that is the value of a metric has beside its score, such as a category."""
    for metric in metrics:
        if isinstance(line.get(metric), Mapping):
            yield from ((f"{metric}.{name}", as_text(value)) for name, value in line[metric].items() if name != "score")


def metric_fields(numbers: Mapping[str, Any]) -> set[str]:
    """Return the fields of a line that are values of metrics, from the keys METRIC,FILTER of the results.

    >>> metric_fields({"acc,none": 0.5, "alias": "a"})
    {'acc'}
    """
    return {key.partition(",")[0] for key in numbers if "," in key}


def read_answer(line: Line, output_type: str) -> str:
    """Return the answer that a filter read: the number of the most probable choice, or a text."""
    texts = line["filtered_resps"]
    if output_type in LIKELIHOODS:
        return str(_best_choice(texts)) if output_type == MULTIPLE_CHOICE and texts else ""
    first = texts[0] if isinstance(texts, list) and texts else texts
    return as_text(first[0] if isinstance(first, list) and len(first) == 1 else first)


def _best_choice(scores: Sequence[Any]) -> int:
    """Return the number of the choice with the highest log-probability, which lm_eval writes as texts.

    >>> _best_choice([["-9.0", "False"], ["-1.0", "False"]])
    1
    """
    values = [float(score[0]) if isinstance(score, list) else float("-inf") for score in scores]
    return max(range(len(values)), key=values.__getitem__)


def _read_response(line: Line, output_type: str) -> str:
    """Return what the model said: the text of the most probable choice, or the response before the filter."""
    if output_type == MULTIPLE_CHOICE:
        arguments = line.get("arguments")
        chosen = arguments.get(f"gen_args_{read_answer(line, output_type)}") if isinstance(arguments, Mapping) else None
        return as_text(chosen.get("arg_1")).strip() if isinstance(chosen, Mapping) else ""
    response = line.get("resps", line["filtered_resps"])  # lmms_eval leaves out equal ones
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    return "" if output_type in LIKELIHOODS else as_text(response)
