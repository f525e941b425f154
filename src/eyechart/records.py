"""The JSON record of one case, and the run that holds many. Values are fractions; readers ignore unknown keys.

>>> wilson = Metric(name="acc1", labels="ImGT", value=0.5, n=4, ci=(0.15, 0.85), ci_method="wilson")
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

SCHEMA = 1
PASSED, FAILED = "passed", "failed"
FILE = "records.json"  # in a run's folder
EMPTY = "empty"  # the choice that says, of each ground truth, what an image without labels counts as
RULE = re.compile(r"([^=]+)=(\w+)(?:, |$)")
ROUNDING = 1e-6  # of a value beside its interval
FRACTIONS = frozenset((
    *("acc", "acc1", "acc5", "acc1_strict", "mc_acc", "repeated_acc", "tree_acc", "acc_macro"),
    *("e_acc", "c_acc", "l_acc", "precision", "recall", "mean_per_class_recall", "correct_reason"),
    *("oop", "oop_in", "oop_partial", "oop_wrong", "oop_abstain", "oop_mapped", "repeated_oop"),
    *("abstained", "abstention", "yes_rate", "unparsed", "truncated", "case1", "case2", "flagged"),
    *("ece", "cochran_p", "mmd2_p"),
))  # fmt: skip
T = TypeVar("T")


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One number: under which labels, over which category of images, how many, and how sure. None: not defined.

    `repeats_ci` is Student's interval of a mean over repeats, which other repeats of the same images would vary in.
    `higher_is_better` is None for a number that the gate does not judge. `title` names its row in the terminal.
    """

    name: str
    labels: str
    category: str = "A"
    title: str = ""
    value: float | None
    n: int
    ci: tuple[float, float] | None
    ci_method: str
    repeats_ci: tuple[float, float] | None = None
    higher_is_better: bool | None = None


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Who answered; `name` is what it resolved to, such as the dated model behind a server's alias.

    `alias` is NAME of --eye-model=NAME=SPEC, by which cases, baselines and reports call the model.
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
    """A file of the run's folder."""

    path: str
    sha256: str


class DataRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked about; `labels` holds the sha256 of each ground truth.

    `root` is the data root, a folder as an absolute path, "" for packaged splits; `class_names` a JSON list.
    """

    fingerprint: str
    n: int
    expected_n: int | None
    labels: Mapping[str, str] = {}
    root: str = ""
    class_names: File | None = None


class OutcomeCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes under the case's first label set; they add up to n less what that set does not speak of.

    `truncated` are replies that ended at the token limit before they answered; they count as wrong, as `unparsed` do.
    """

    correct: int = 0
    wrong: int = 0
    unparsed: int = 0
    error: int = 0
    truncated: int = 0


class SubsetTiming(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of one set, each question once: how many, how many asked in this run, and how long these took."""

    answers: int
    fresh: int
    seconds: float


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What answers in words took when they were made: requests, tokens, how many of the prompt's a cache held, USD.

    `sets` has the sets of image–category pairs, where a division has several.
    """

    requests: int
    prompt_tokens: int
    cached_tokens: int
    answer_tokens: int
    cost: float | None = None
    sets: Mapping[str, SubsetTiming] = {}


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody else published for this model, split and metric."""

    value: float
    source: str
    delta: float | None


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one case has to say.

    `status` says how its test ended, passed or failed; `test` is the test's node id.
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
    served: UsageRecord | None = None
    predictions: File | None = None
    artifacts: Mapping[str, File] = {}
    evidence: File | None = None
    notes: tuple[str, ...] = ()
    loads: int = 0
    seconds: float = 0.0
    environment: Mapping[str, str] = {}
    command: str = ""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One session of pytest; `loads` counts how often a model's weights were read."""

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
    """Write as indented JSON with sorted keys."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"))


def decode(data: bytes, kind: type[T]) -> T:
    """Read JSON as one of the structures above."""
    return msgspec.json.decode(data, type=kind)


def to_plain(record: Record) -> dict[str, Any]:
    """The record as plain Python values, fit to travel on a pytest report."""
    value: dict[str, Any] = msgspec.to_builtins(record)
    return value


def from_plain(value: Mapping[str, Any]) -> Record:
    """Read what `plain` made."""
    return msgspec.convert(value, Record)


def empty_label_rules(variant: Mapping[str, str]) -> dict[str, str]:
    """What an image without labels counts as under each ground truth, by a record's choices.

    >>> empties({"empty": "ImGT=exclude, ReaL, corrected=correct"})
    {'ImGT': 'exclude', 'ReaL, corrected': 'correct'}
    """
    return dict(RULE.findall(variant.get(EMPTY, "")))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of records.json."""
    return msgspec.json.schema(Records)


class _SchemaVersion(msgspec.Struct):
    schema: int = SCHEMA


class _Versioned(msgspec.Struct):
    run: _SchemaVersion


def read_run(folder: Path) -> Records:
    """Read the records.json of a run's folder, or the file itself; raises ReportError for impossible values."""
    path = folder if folder.suffix == ".json" else folder / FILE
    try:
        data = path.read_bytes()
        found = decode(data, _Versioned).run.schema  # before the rest, which a later schema may have changed
        if found > SCHEMA:
            raise ReportError(
                f"{path} has schema {found}; this eyechart reads up to {SCHEMA}. Upgrade eyechart to read it."
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
        if impossible := find_impossible_value(record):
            raise ReportError(f"{path} was edited or damaged: {impossible}. Restore the file, or run the suite again.")
    return records


def find_impossible_value(record: Record) -> str:
    """Return the first number of a record that cannot be, with what was found and expected; "" where all can be."""
    for metric in record.metrics:
        for what in _impossible(metric):
            title = f"{metric.name} ({metric.labels}, {metric.category})"
            return f"{record.case} ({record.protocol}): {title} has {what}"
    return ""


def _impossible(metric: Metric) -> Iterator[str]:
    """Give what is impossible about one number."""
    if metric.n < 0:
        yield f"n = {metric.n}, expected 0 or more"
    for interval, which in ((metric.ci, "an interval"), (metric.repeats_ci, "an interval over repeats")):
        if interval is None:
            continue
        if not interval[0] <= interval[1]:
            yield f"{which} from {interval[0]:g} to {interval[1]:g}, expected a lower end and a higher one"
    if metric.value is not None:
        yield from _outside(metric, metric.value)


def _outside(metric: Metric, value: float) -> Iterator[str]:
    """Give that a value is outside of the range of its metric."""
    if not isfinite(value):
        yield f"the value {value:g}, expected a finite number"
    elif metric.name in FRACTIONS and not 0 <= value <= 1:
        yield f"the value {value:g}, expected a fraction from 0 to 1"
    elif metric.ci and metric.ci_method == "wilson" and not _holds(metric.ci, value):
        yield f"the value {value:g} outside of its interval from {metric.ci[0]:g} to {metric.ci[1]:g}"


def _holds(interval: tuple[float, float], value: float) -> bool:
    """Return whether a share and its Wilson interval can be: the share lies within it, and it within 0 to 1."""
    low, high = interval
    return -ROUNDING <= low <= value + ROUNDING and value - ROUNDING <= high <= 1 + ROUNDING
