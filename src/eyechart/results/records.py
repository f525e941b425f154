"""The JSON records of cases and of a run. docs/records.md lists every field, and docs/records.schema.json its type.

Values are fractions; readers ignore unknown keys.

>>> accuracy = Metric("acc1", "original", "all", value=0.5, n=4, n_clusters=4, ci=(0.15, 0.85), ci_method="wilson")
>>> decode(encode(accuracy), Metric) == accuracy
True
"""

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from eyechart.errors import ReportError
from eyechart.files.text_files import HEAD, describe_content, utf8_bytes
from eyechart.results.metric_definitions import SHARE, fixed_range

SCHEMA = 3
PASSED, FAILED = "passed", "failed"
RECORDS_FILE, LINES = "records.json", "records.jsonl"  # in the folder of a run; one that was killed has the second
UNFINISHED = "{} has no records.json: the run was killed or is not finished. Run it again; its answers are stored."
WHOLE = "all"  # the subset of all samples of a case
LABELLED = "labelled"  # that of the images with at least one label
ANSWERABLE, UNANSWERABLE = "answerable", "unanswerable"  # those of RealBirdID
EMPTY = "empty"  # the setting that says, for each label set, how an image without labels counts
RULE = re.compile(r"([^=]+)=(\w+)(?:, |$)")
ROUNDING = 1e-6  # tolerance of a value beside its interval
T = TypeVar("T")


def subset_text(subset: str, level: str = "", prompt: str = "") -> str:
    """Return subset, level and prompt as one text, as the terminal, the gate, JUnit files and the page print them.

    >>> subset_text("all"), subset_text("answerable", "species"), subset_text("unanswerable", prompt="naive/01")
    ('all', 'answerable.species', 'unanswerable/naive/01')
    """
    return "/".join(filter(None, (".".join(filter(None, (subset, level))), prompt)))


def among_text(labels: str, subset: str) -> str:
    """Return label set and subset, as they stand behind a metric's name; the subset of all samples is not named.

    Args:
        labels: The label set, "" without one.
        subset: The subset with its level and prompt, as `subset_text` returns it.

    >>> among_text("original", "all"), among_text("original", "single_label"), among_text("", "ID")
    ('original', 'original, single_label', 'ID')
    """
    return ", ".join(filter(None, (labels, "" if subset == WHOLE else subset)))


def full_name(name: str, labels: str, subset: str) -> str:
    """Return a metric's name with its label set and subset; see `among_text`.

    >>> full_name("acc1", "original", "all"), full_name("acc1", "original", "single_label")
    ('acc1 (original)', 'acc1 (original, single_label)')
    """
    among = among_text(labels, subset)
    return f"{name} ({among})" if among else name


def doc(text: str) -> msgspec.Meta:
    """Return the description of a field, for the JSON Schema and docs/records.md."""
    return msgspec.Meta(description=text)


class MetricKey(msgspec.Struct, frozen=True):
    """What identifies a value within its case; each structure that describes a value begins with these fields."""

    name: Annotated[str, doc("Name of the metric, such as acc1.")]
    labels: Annotated[str, doc("Label set that answers are compared with, such as original (of ImageNet: ImGT).")]
    subset: Annotated[
        str,
        doc(
            "Samples that the value is over: all; labelled (with at least one label); a category of labels "
            "(single_label, single_label_original, single_label_other, multi_label, …, no_label); of RealBirdID "
            "answerable, unanswerable or a reason to abstain; of OODBench a set of pairs (ID, OOD-S, …); "
            '"" if none is meant.'
        ),
    ]
    level: Annotated[str, doc('Level of the taxonomy, such as genus; "" without one.')] = ""
    prompt: Annotated[
        str, doc('Level of a prompt set, such as naive, or one of its prompts, such as naive/01; "" without one.')
    ] = ""

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """The name, labels, subset, level and prompt, which are also the first arguments of each structure."""
        return self.name, self.labels, self.subset, self.level, self.prompt

    @property
    def subset_text(self) -> str:
        """The subset, level and prompt as one text."""
        return subset_text(self.subset, self.level, self.prompt)

    @property
    def printed_key(self) -> tuple[str, str, str]:
        """The name, labels and `subset_text`: the three columns that tables print."""
        return self.name, self.labels, self.subset_text

    @property
    def full_name(self) -> str:
        """The name with labels and subset, such as `acc1 (original, single_label)`."""
        return full_name(*self.printed_key)


class Metric(MetricKey, frozen=True, kw_only=True):
    """One value of a metric. Name, labels, subset, level and prompt identify it within its case."""

    title: Annotated[str, doc('Title of its row in the terminal, "" for a value that is not shown.')] = ""
    value: Annotated[float | None, doc("The value; accuracies and shares are fractions. null: not defined.")]
    n: Annotated[int, doc("Number of samples that count, at least 1: images, pairs or answers.")]
    n_clusters: Annotated[int, doc("Number of independent sampling units of these samples: images or observations.")]
    ci: Annotated[tuple[float, float] | None, doc("95 % confidence interval, null without one.")]
    ci_method: Annotated[str, doc("Method of the interval: wilson, clustered wilson, bootstrap, student, …")]
    epochs_ci: Annotated[
        tuple[float, float] | None,
        doc("Student's 95 % interval of a mean over epochs, of the same images in other epochs; null for one epoch."),
    ] = None
    higher_is_better: Annotated[bool | None, doc("Direction; null for a metric that the gate does not judge.")] = None


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The model."""

    spec: Annotated[str, doc("Specification, as --eye-model takes it.")]
    alias: Annotated[str, doc("NAME of --eye-model=NAME=SPEC, the name in cases, baselines and reports.")] = ""
    name: Annotated[str, doc("Resolved name, such as the dated model behind an alias of a server.")] = ""
    backend: Annotated[str, doc("Backend: open_clip, hf, vllm, …")]
    revision: Annotated[str, doc('Revision of the weights on their hub, "" if unknown.')]
    weights_sha256: Annotated[str, doc('sha256 of the weights, "" for a model behind an interface.')]
    dtype: Annotated[str, doc("Number format of the computation, such as float32.")]
    device: Annotated[str, doc('Device of the model: cpu, cuda, cuda:1; "" for a server.')] = ""
    device_name: Annotated[str, doc('Name of the GPU or CPU, such as NVIDIA H200; "" if unknown.')] = ""

    @property
    def title(self) -> str:
        """Return the alias, or the specification of a model without one."""
        return self.alias or self.spec


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file in the folder of the run."""

    path: Annotated[str, doc("Path, relative to the folder of the run.")]
    sha256: Annotated[str, doc("sha256 of its content.")]


class DataRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The images and labels."""

    fingerprint: Annotated[str, doc("sha256 of the keys and images of the case.")]
    n: Annotated[int, doc("Number of images of the case.")]
    expected_n: Annotated[int | None, doc("Number of images that the split should have, null if unknown.")]
    labels: Annotated[Mapping[str, str], doc("sha256 of each label set by its name.")] = {}
    root: Annotated[str, doc('Data root, an absolute path or the address of a hub; "" for packaged splits.')] = ""
    class_names: Annotated[
        File | None,
        doc("JSON list of class names: the split's own, else those of the prompts; null without names."),
    ] = None
    provenance: Annotated[str, doc("Where labels and class names are from, in a few words.")] = ""


class OutcomeCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The number of answers of each outcome under the primary label set, without images that it excludes."""

    correct: Annotated[int, doc("Correct answers.")] = 0
    wrong: Annotated[int, doc("Wrong answers.")] = 0
    unparsed: Annotated[int, doc("Answers that could not be parsed; they count as wrong.")] = 0
    error: Annotated[int, doc("Requests that ended in an error; no metric counts them.")] = 0
    truncated: Annotated[int, doc("Answers cut off at the token limit; they count as wrong.")] = 0
    refused: Annotated[
        int,
        doc("Errors that are refusals of the model or of a content filter, as a server reports them."),
    ] = 0


class SubsetTiming(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of one set of pairs, each request once."""

    answers: Annotated[int, doc("Number of answers.")]
    fresh: Annotated[int, doc("Answers that the store did not hold before this run.")]
    seconds: Annotated[float, doc("Time to generate all of them, when they were generated.")]


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Requests, tokens and cost of text answers, as when they were generated; stored answers count too."""

    requests: Annotated[int, doc("Number of requests.")]
    prompt_tokens: Annotated[int, doc("Prompt tokens, with cached ones.")]
    cached_tokens: Annotated[int, doc("Prompt tokens that were read from a prefix cache.")]
    answer_tokens: Annotated[int, doc("Generated tokens, with those of thinking.")]
    thinking_tokens: Annotated[int, doc("Generated tokens before the answer, where the server counts them.")] = 0
    max_tokens: Annotated[int, doc("Most tokens that a request allowed for its answer, 0 if there was no limit.")] = 0
    cost: Annotated[float | None, doc("Cost in USD, null if no prices are known.")] = None
    sets: Annotated[Mapping[str, SubsetTiming], doc("Timing of each set of pairs of a division.")] = {}


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """A published value for this model, split and metric."""

    value: Annotated[float, doc("The published value, a fraction.")]
    source: Annotated[str, doc("Where it is published.")]
    delta: Annotated[float | None, doc("Value of this run minus the published one, null without a value.")]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one case: a benchmark split, a model, a protocol and its options."""

    schema: Annotated[int, doc("Version of this format.")] = SCHEMA
    case: Annotated[str, doc("Name of the case: BENCHMARK/SPLIT/MODEL, with options that are not the default.")]
    status: Annotated[str, doc("Outcome of its test: passed or failed.")] = PASSED
    test: Annotated[str, doc("Node id of its test.")] = ""
    benchmark: Annotated[str, doc("Benchmark, such as imagenet.")]
    split: Annotated[str, doc("Split, such as val.")]
    protocol: Annotated[str, doc("Protocol, such as zero_shot.")]
    variant: Annotated[Mapping[str, str], doc("Options, prompts and parsers that the metrics depend on.")]
    model: Annotated[ModelRecord, doc("The model.")]
    data: Annotated[DataRecord, doc("The images and labels.")]
    limit: Annotated[int | str | None, doc("Value of --eye-limit: a number, or N/class; null for all images.")]
    seed: Annotated[int, doc("Value of --eye-seed.")]
    outcomes: Annotated[OutcomeCounts, doc("Number of answers of each outcome.")]
    metrics: Annotated[tuple[Metric, ...], doc("Metrics of the protocol, then those of the test, then `answered`.")]
    reported: Annotated[Reported | None, doc("Published value, null if none is known.")] = None
    usage: Annotated[UsageRecord | None, doc("Requests and tokens, null for a model without text requests.")] = None
    predictions: Annotated[File | None, doc("Sample table, a csv file; docs/samples.md describes its columns.")] = None
    artifacts: Annotated[Mapping[str, File], doc("Further csv files by name, such as curves.")] = {}
    evidence: Annotated[File | None, doc("Outcomes of samples and resampled values, to compare runs.")] = None
    store_entries: Annotated[
        tuple[str, ...],
        doc("Digests of the entries of the store that hold the answers; the folder of ABC… is AB/ABC…."),
    ] = ()
    notes: Annotated[tuple[str, ...], doc("What a reader of the metrics needs to know about answers and data.")] = ()
    loads: Annotated[int, doc("How often weights of a model were loaded for this case.")] = 0
    seconds: Annotated[float, doc("Duration of the test.")] = 0.0
    environment: Annotated[
        Mapping[str, str], doc("Platform, and versions of Python, eyechart, numpy and the model's libraries.")
    ] = {}
    command: Annotated[str, doc("Command line of the session.")] = ""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One session of pytest."""

    schema: Annotated[int, doc("Version of this format.")] = SCHEMA
    eyechart: Annotated[str, doc("Version of eyechart.")]
    started: Annotated[str, doc("Start, in UTC, as ISO 8601.")]
    seconds: Annotated[float, doc("Duration of the session.")]
    exit_status: Annotated[int, doc("Exit status of pytest.")]
    workers: Annotated[int, doc("Number of workers of pytest-xdist, 0 without it.")]
    loads: Annotated[int, doc("How often weights of a model were loaded.")]
    command: Annotated[str, doc("Command line of the session.")]
    git_commit: Annotated[
        str,
        doc('Commit of the git repository of the project, with -dirty if files are changed; "" outside of one.'),
    ] = ""


class Records(msgspec.Struct, frozen=True, kw_only=True):
    """The content of records.json. A line of records.jsonl is one `Record`, written when its case ends."""

    run: Annotated[Run, doc("The session.")]
    records: Annotated[tuple[Record, ...], doc("One record for each case, sorted by case and protocol.")]


def encode(value: Any) -> bytes:
    """Return a value as indented JSON with sorted keys."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"))


def decode(data: bytes, kind: type[T]) -> T:
    """Return JSON as one of the structures above."""
    return msgspec.json.decode(data, type=kind)


def to_plain(record: Record) -> dict[str, Any]:
    """Return a record as built-in Python values, which a pytest report can carry."""
    value: dict[str, Any] = msgspec.to_builtins(record)
    return value


def from_plain(value: Mapping[str, Any]) -> Record:
    """Return the record of built-in values from `to_plain`."""
    return msgspec.convert(value, Record)


def empty_label_rules(variant: Mapping[str, str]) -> dict[str, str]:
    """Return how an image without labels counts under each label set, from the settings of a record.

    >>> empty_label_rules({"empty": "ImGT=exclude, ReaL, corrected=correct"})
    {'ImGT': 'exclude', 'ReaL, corrected': 'correct'}
    """
    return dict(RULE.findall(variant.get(EMPTY, "")))


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of records.json, which docs/records.schema.json holds."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "records.json of eyechart"}
    return {**dialect, **msgspec.json.schema(Records)}


class _SchemaVersion(msgspec.Struct):
    schema: int = SCHEMA


class _Versioned(msgspec.Struct):
    run: _SchemaVersion


def find_run(folder: Path) -> Path | None:
    """Return a run in a folder of runs, `latest` if it is there; None if the folder has none."""
    runs = {file.parent.name: file.parent for file in sorted(folder.glob(f"*/{RECORDS_FILE}"))}
    return runs.get("latest") or next(reversed(runs.values()), None)


def read_run(folder: Path) -> Records:
    """Read records.json of a run's folder, or the file itself. Raises ReportError for an invalid file."""
    path = folder if folder.suffix == ".json" else folder / RECORDS_FILE
    try:
        data = utf8_bytes(path.read_bytes())
        if why := describe_content(data[:HEAD]) if data else "":
            raise ReportError(f"{path} {why}. Or run the suite again.")
        schema = decode(data, _Versioned).run.schema  # first, since a later schema may have other fields
        if schema != SCHEMA:
            remedy = "Upgrade eyechart to read it." if schema > SCHEMA else "Run the suite again."
            raise ReportError(f"{path} has schema {schema}; this eyechart reads schema {SCHEMA}. {remedy}")
        records = decode(data, Records)
    except OSError as error:
        if (path.parent / LINES).is_file():
            raise ReportError(UNFINISHED.format(path.parent)) from error
        example = find_run(path.parent) or Path("reports/runs/latest")
        raise ReportError(
            f"No run can be read at {path} ({error.strerror}). Name the folder of a run, such as {example}."
        ) from error
    except msgspec.DecodeError as error:
        raise ReportError(
            f"{path} is not a run's records.json: {error}. Run the suite again, or name another."
        ) from error
    for record in records.records:
        for metric in record.metrics:
            for problem in _invalid_values(metric):
                title = f"{record.case} ({record.protocol}): {metric.full_name}"
                raise ReportError(
                    f"{path} was edited or damaged: {title} has {problem}. Restore the file, or run the suite again."
                )
    return records


def _invalid_values(metric: Metric) -> Iterator[str]:
    """Yield what is invalid about a metric."""
    if metric.n < 0:
        yield f"n = {metric.n}, expected 0 or more"
    for interval, name in ((metric.ci, "an interval"), (metric.epochs_ci, "an interval over epochs")):
        if interval is None:
            continue
        if not interval[0] <= interval[1]:
            yield f"{name} from {interval[0]:g} to {interval[1]:g}, expected a lower end and a higher one"
    if metric.value is not None:
        yield from _out_of_range(metric, metric.value)


def _out_of_range(metric: Metric, value: float) -> Iterator[str]:
    """Yield that a value is outside the range of its metric."""
    if not isfinite(value):
        yield f"the value {value:g}, expected a finite number"
    elif (limits := fixed_range(metric.name)) and not limits[0] <= value <= limits[1]:
        expected = "a fraction from 0 to 1" if limits == SHARE else f"a number from {limits[0]:g} to {limits[1]:g}"
        yield f"the value {value:g}, expected {expected}, the range of its definition"
    elif metric.ci and metric.ci_method == "wilson" and not _is_consistent(metric.ci, value):
        yield f"the value {value:g} outside of its interval from {metric.ci[0]:g} to {metric.ci[1]:g}"


def _is_consistent(interval: tuple[float, float], value: float) -> bool:
    """Return whether a proportion is within its Wilson interval, and the interval within 0 to 1."""
    low, high = interval
    return -ROUNDING <= low <= value + ROUNDING and value - ROUNDING <= high <= 1 + ROUNDING
