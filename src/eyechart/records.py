"""The JSON record of a case, and of a run with its cases. Values are fractions; readers ignore unknown keys.

>>> wilson = Metric(name="acc1", labels="ImGT", value=0.5, n=4, n_clusters=4, ci=(0.15, 0.85), ci_method="wilson")
>>> decode(encode(wilson), Metric) == wilson
True
"""

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eyechart.errors import ReportError

SCHEMA = 2
PASSED, FAILED = "passed", "failed"
FILE = "records.json"  # in the folder of a run
EMPTY = "empty"  # the setting that says, for each label set, how an image without labels counts
RULE = re.compile(r"([^=]+)=(\w+)(?:, |$)")
ROUNDING = 1e-6  # tolerance of a value beside its interval
FRACTIONS = frozenset((
    *("acc", "acc1", "acc5", "acc1_strict", "mc_acc", "repeated_acc", "tree_acc", "acc_macro"),
    *("e_acc", "c_acc", "l_acc", "precision", "recall", "mean_per_class_recall", "correct_reason"),
    *("oop", "oop_in", "oop_partial", "oop_wrong", "oop_abstain", "oop_mapped", "repeated_oop"),
    *("abstained", "abstention", "yes_rate", "unparsed", "truncated", "case1", "case2", "flagged"),
    *("ece", "cochran_p", "mmd2_p"),
))  # fmt: skip
T = TypeVar("T")
MetricKey = tuple[str, str, str, str, str]  # name, labels, subset, level, prompt


def subset_text(subset: str, level: str = "", prompt: str = "") -> str:
    """Return subset, level and prompt as one text, as the terminal, the gate, JUnit files and the page print them.

    >>> subset_text("A"), subset_text("A", "species"), subset_text("UA", prompt="naive/01")
    ('A', 'A.species', 'UA/naive/01')
    """
    return "/".join(filter(None, (".".join(filter(None, (subset, level))), prompt)))


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A value of a metric with its label set, subset, n and interval; None where it is not defined.

    `subset` names the samples that count: A (all images, or all answerable ones), a category of labels (S, M+, …), a
    set of pairs (ID, OOD-S, …) or a reason. `level` is a level of the taxonomy, such as genus, and `prompt` the level
    of a prompt set, such as naive, or one of its prompts, such as naive/01; both are "" for a metric without one.
    `repeats_ci` is Student's interval of a mean over epochs, for the same images in other epochs. `higher_is_better` is
    None for a metric that the gate does not judge. `title` names its row in the terminal.
    """

    name: str
    labels: str
    subset: str = "A"
    level: str = ""
    prompt: str = ""
    title: str = ""
    value: float | None
    n: int
    n_clusters: int
    ci: tuple[float, float] | None
    ci_method: str
    epochs_ci: tuple[float, float] | None = None
    higher_is_better: bool | None = None

    @property
    def key(self) -> MetricKey:
        """The name, labels, subset, level and prompt, which identify the metric within its case."""
        return self.name, self.labels, self.subset, self.level, self.prompt

    @property
    def subset_text(self) -> str:
        """The subset, level and prompt as one text."""
        return subset_text(self.subset, self.level, self.prompt)


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The model; `name` is the resolved name, such as the dated model behind an alias of a server.

    `alias` is NAME of --eye-model=NAME=SPEC, the name of the model in cases, baselines and reports.
    """

    spec: str
    alias: str = ""
    name: str = ""
    backend: str
    revision: str
    weights_sha256: str
    dtype: str
    device: str = ""

    @property
    def title(self) -> str:
        """Return the alias, or the specification of a model without one."""
        return self.alias or self.spec


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file in the folder of the run."""

    path: str
    sha256: str


class DataRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The data; `labels` has the sha256 of each label set.

    `root` is the data root, a folder as an absolute path, "" for packaged splits; `class_names` is a JSON list.
    """

    fingerprint: str
    n: int
    expected_n: int | None
    labels: Mapping[str, str] = {}
    root: str = ""
    class_names: File | None = None


class OutcomeCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The number of answers of each outcome under the first label set, without images that it excludes.

    `truncated` answers ended at the token limit before they were complete; they count as wrong, like `unparsed` ones.
    """

    correct: int = 0
    wrong: int = 0
    unparsed: int = 0
    error: int = 0
    truncated: int = 0


class SubsetTiming(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of one subset, each request once: their number, how many are new in this run, and their time."""

    answers: int
    fresh: int
    seconds: float


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Requests, tokens, cached prompt tokens and cost in USD of text answers, when they were generated.

    `sets` has the timing of each subset of image–category pairs, where a division has several.
    """

    requests: int
    prompt_tokens: int
    cached_tokens: int
    answer_tokens: int
    cost: float | None = None
    sets: Mapping[str, SubsetTiming] = {}


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """A published value for this model, split and metric."""

    value: float
    source: str
    delta: float | None


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one case.

    `status` is the outcome of its test, passed or failed; `test` is the node id of the test.
    """

    schema: int = SCHEMA
    case: str
    status: str = PASSED
    test: str = ""
    benchmark: str
    split: str
    protocol: str
    variant: Mapping[str, str]
    model: ModelRecord
    data: DataRecord
    limit: int | None
    seed: int
    outcomes: OutcomeCounts
    metrics: tuple[Metric, ...]
    reported: Reported | None = None
    usage: UsageRecord | None = None
    predictions: File | None = None
    artifacts: Mapping[str, File] = {}
    evidence: File | None = None
    notes: tuple[str, ...] = ()
    loads: int = 0
    seconds: float = 0.0
    environment: Mapping[str, str] = {}
    command: str = ""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One session of pytest; `loads` is the number of times that weights of a model were loaded."""

    schema: int = SCHEMA
    eyechart: str
    started: str
    seconds: float
    exit_status: int
    workers: int
    loads: int
    command: str


class Records(msgspec.Struct, frozen=True, kw_only=True):
    """The content of records.json."""

    run: Run
    records: tuple[Record, ...]


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
    """Return the JSON Schema of records.json."""
    return msgspec.json.schema(Records)


class _SchemaVersion(msgspec.Struct):
    schema: int = SCHEMA


class _Versioned(msgspec.Struct):
    run: _SchemaVersion


def read_run(folder: Path) -> Records:
    """Read records.json of a run's folder, or the file itself. Raises ReportError for an invalid file."""
    path = folder if folder.suffix == ".json" else folder / FILE
    try:
        data = path.read_bytes()
        schema = decode(data, _Versioned).run.schema  # first, since a later schema may have other fields
        if schema > SCHEMA:
            raise ReportError(
                f"{path} has schema {schema}; this eyechart reads up to {SCHEMA}. Upgrade eyechart to read it."
            )
        records = decode(data, Records)
    except OSError as error:
        raise ReportError(
            f"No run can be read at {path} ({error.strerror}). Name the folder of a run, such as reports/runs/latest."
        ) from error
    except msgspec.DecodeError as error:
        raise ReportError(
            f"{path} is not a run's records.json: {error}. Run the suite again, or name another."
        ) from error
    for record in records.records:
        if problem := find_invalid_value(record):
            raise ReportError(f"{path} was edited or damaged: {problem}. Restore the file, or run the suite again.")
    return records


def find_invalid_value(record: Record) -> str:
    """Return the first invalid metric of a record, with what was found and expected; "" if all are valid."""
    for metric in record.metrics:
        for problem in _invalid_values(metric):
            title = f"{metric.name} ({metric.labels}, {metric.subset_text})"
            return f"{record.case} ({record.protocol}): {title} has {problem}"
    return ""


def _invalid_values(metric: Metric) -> Iterator[str]:
    """Yield what is invalid about a metric."""
    if metric.n < 0:
        yield f"n = {metric.n}, expected 0 or more"
    for interval, name in ((metric.ci, "an interval"), (metric.epochs_ci, "an interval over repeats")):
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
    elif metric.name in FRACTIONS and not 0 <= value <= 1:
        yield f"the value {value:g}, expected a fraction from 0 to 1"
    elif metric.ci and metric.ci_method == "wilson" and not _is_consistent(metric.ci, value):
        yield f"the value {value:g} outside of its interval from {metric.ci[0]:g} to {metric.ci[1]:g}"


def _is_consistent(interval: tuple[float, float], value: float) -> bool:
    """Return whether a proportion is within its Wilson interval, and the interval within 0 to 1."""
    low, high = interval
    return -ROUNDING <= low <= value + ROUNDING and value - ROUNDING <= high <= 1 + ROUNDING
