"""Load runs and group their records into cases that can be compared."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from eyechart.data.dataset.dataset import original_name
from eyechart.data.dataset.limits import describe_limit
from eyechart.errors import ReportError, SpecError
from eyechart.gate.baselines.stored_cases import case_evidence
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.spec import parse_spec
from eyechart.protocol.imported import recorded_protocol
from eyechart.protocol.options import AUTO
from eyechart.results.evidence import Evidence
from eyechart.results.failed_tests import status_suffix
from eyechart.results.frames import read_samples
from eyechart.results.metric_definitions import define, main_metrics
from eyechart.results.records import EMPTY, WHOLE, Metric, Record, Run, empty_label_rules, read_run
from eyechart.results.run_files import read_verified
from eyechart.results.run_folder import run_folder
from eyechart.results.run_names import run_names

if TYPE_CHECKING:
    import pandas as pd

LABEL_RULES = ("equivalences", "categories")
# As the published tables have them: answers in words first, then prompts, then classifiers that saw the labels.
T = TypeVar("T")


class EmptyTableError(ReportError):
    """Raised if the runs have no rows for a table; the message says which command makes them."""


@dataclass(frozen=True)
class CaseRun:
    """One record, the folder of its files, and the notes that loading added."""

    record: Record
    folder: Path
    extra_notes: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """Return the model's name: its alias, Mill's spelling for open_clip, or the specification."""
        return self.record.model.alias or model_name(self.record.model.spec)

    @property
    def label_rules(self) -> tuple[str, ...]:
        """Return the values of the options that decide how labels are scored."""
        return tuple(self.record.variant.get(rule, "") for rule in LABEL_RULES)

    @property
    def prompt_settings(self) -> str:
        """Return the options that decide the prompts and the parsing of answers."""
        return self.prompt_settings_without(())

    def prompt_settings_without(self, without: Collection[str]) -> str:
        """Return the prompt settings except the options that a table compares."""
        excluded = {*LABEL_RULES, EMPTY, *without}
        if self.record.variant.get("max_tokens") == AUTO:
            excluded.add("max_tokens")  # how long answers may be is no setting of the prompt unless it was chosen
        settings = {name: value for name, value in sorted(self.record.variant.items()) if name not in excluded}
        return ", ".join(f"{name} {value}" for name, value in settings.items())

    def option(self, name: str, default: str = "") -> str:
        """Return the value of one of the protocol's options."""
        return self.record.variant.get(name, default)

    @property
    def epochs(self) -> str:
        """Return how often each image was asked about, "1" for once."""
        return self.option("epochs", "1")

    @property
    def class_names(self) -> tuple[str, ...]:
        """Return the class names of the split that the run stored, by class; () if it stored none.

        Raises ReportError if the file was changed since the run.
        """
        file = self.record.data.class_names
        if file is None:
            return ()
        path = self.folder / file.path
        try:
            return msgspec.json.decode(read_verified(path, self.folder, file), type=tuple[str, ...])
        except msgspec.DecodeError as error:
            raise ReportError(f"{path} is no list of class names ({error}). Run the case again.") from error

    @property
    def empty_label_rules(self) -> dict[str, str]:
        """Return how an image without labels is scored, by label set."""
        return empty_label_rules(self.record.variant)

    @property
    def label_sets(self) -> dict[str, tuple[str, str]]:
        """Return the sha256 of each label set and its rule for images without labels."""
        return {
            name: (self.record.data.labels.get(name, ""), self.empty_label_rules.get(name, "")) for name in self.labels
        }

    @cached_property
    def evidence(self) -> Evidence:
        """The stored evidence, read once; if none is stored, evidence with the values of the metrics only."""
        return case_evidence(self.record, self.folder)

    @cached_property
    def accuracy_name(self) -> str:
        """Return the name of the main metric, of single answers or a mean over epochs; "" if there is none."""
        names = {metric.name for metric in self.record.metrics}
        return next((name for name in main_metrics() if name in names), "")

    @property
    def has_single_answers(self) -> bool:
        """Return whether its accuracy is of single answers, not a mean over epochs."""
        return not define(self.accuracy_name).over_epochs

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return the names of the label sets in the order they were scored."""
        return tuple(
            dict.fromkeys(metric.labels for metric in self.record.metrics if metric.name == self.accuracy_name)
        )

    def samples(self, columns: Sequence[str] = (), file: str = "") -> "pd.DataFrame":
        """Return the answers of the case; see `results.frames.samples_frame`. Columns that were read once are kept."""
        if not columns:
            return read_samples(self, (), file)
        known = self._files.get(file)
        missing = [name for name in columns if known is None or name not in known]
        frame = read_samples(self, missing, file) if missing else None
        both = [part for part in (known, frame) if part is not None]
        self._files[file] = both[0] if len(both) == 1 else both[0].join(both[1])
        return self._files[file][[*columns]]

    def compute(self, function: "Callable[[CaseRun], T]") -> T:
        """Return the result of a function of the case, computed once."""
        if function not in self._results:
            self._results[function] = function(self)
        result: T = self._results[function]
        return result

    @cached_property
    def _results(self) -> "dict[Callable[[CaseRun], Any], Any]":
        return {}

    @cached_property
    def _files(self) -> "dict[str, pd.DataFrame]":
        return {}

    @property
    def comparison_key(self) -> tuple[str, ...]:
        """Return what identifies the case and its variant: data, prompt settings, and label rules."""
        record = self.record
        return (record.case, record.protocol, record.data.fingerprint, self.prompt_settings, *self.label_rules)

    def replaces(self, other: "CaseRun") -> bool:
        """Return whether the other record is of the same case and variant; additional label sets do not matter."""
        return self.comparison_key == other.comparison_key and _agree_on_shared_keys(
            self.empty_label_rules, other.empty_label_rules
        )

    def is_comparable(self, other: "CaseRun") -> bool:
        """Return whether both may be rows of one table: same images, and equal label sets where they share a name."""
        record, other_record = self.record, other.record
        same_images = (record.benchmark, record.split, record.data.fingerprint) == (
            other_record.benchmark,
            other_record.split,
            other_record.data.fingerprint,
        )
        return (
            same_images
            and self.label_rules == other.label_rules
            and _agree_on_shared_keys(self.label_sets, other.label_sets)
        )

    def metric(self, name: str, labels: str, subset: str = WHOLE) -> Metric | None:
        """Return one metric of the record, or None; `subset` is its `subset_text`."""
        key = (name, labels, subset)
        matches = (m for m in self.record.metrics if m.printed_key == key)
        return next(matches, None)


@dataclass(frozen=True)
class ComparableCases:
    """Cases with the same images and label rules: the rows of one table."""

    cases: tuple[CaseRun, ...]
    number: int = 1
    extra_notes: tuple[str, ...] = ()

    @property
    def benchmark(self) -> str:
        """Return the benchmark and split, such as `imagenet/val`."""
        record = self.cases[0].record
        return f"{record.benchmark}/{record.split}"

    @property
    def size(self) -> int:
        """Return the number of images."""
        return self.cases[0].record.data.n

    @property
    def title(self) -> str:
        """Return the benchmark, and the limit and seed if only a part was used."""
        record = self.cases[0].record
        limited = (
            "" if record.limit is None else f", a random sample of {describe_limit(record.limit)} (seed {record.seed})"
        )
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.benchmark}{limited}{again}"

    @property
    def reference(self) -> str:
        """Return the label set that others are compared with: the original labels, if there are any."""
        names = self.labels
        original = next((original_name(case.record.benchmark) for case in self.cases), "")
        return original if original in names or not names else names[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """Return every label set under which a case was scored."""
        return tuple(dict.fromkeys(name for case in self.cases for name in case.labels))

    @property
    def other_labels(self) -> tuple[str, ...]:
        """Return every label set except the reference."""
        return tuple(name for name in self.labels if name != self.reference)

    def scored_under(self, *labels: str) -> tuple[CaseRun, ...]:
        """Return the cases with single answers that were scored under all of these label sets."""
        return tuple(case for case in self.cases if case.has_single_answers and {*labels} <= {*case.labels})

    def with_protocols(self, *protocols: str) -> "ComparableCases":
        """Return only the cases of some protocols."""
        return self.select([case for case in self.cases if case.record.protocol in protocols])

    def select(self, cases: Iterable[CaseRun], *notes: str) -> "ComparableCases":
        """Return some of the cases, with notes about the selection."""
        return replace(self, cases=tuple(cases), extra_notes=(*self.extra_notes, *notes))

    def protocol_names(self, without: Collection[str] = ()) -> Mapping[int, str]:
        """Return the column Protocol by the id of each case; a letter distinguishes prompt settings of one protocol."""
        settings: dict[str, list[str]] = {}
        for case in self.cases:
            known = settings.setdefault(case.record.protocol, [])
            if case.prompt_settings_without(without) not in known:
                known.append(case.prompt_settings_without(without))
        return {
            id(e): protocol_name(e, settings[e.record.protocol], without) + status_suffix(e.record) for e in self.cases
        }

    def model_names(self, without: Collection[str] = ()) -> Mapping[int, str]:
        """Return the column Model of a table without a column Protocol; the protocol is added if there are several."""
        protocols = self.protocol_names(without)
        several = len({*protocols.values()}) > 1
        return {id(e): f"{e.model}, {protocols[id(e)]}" if several else e.model for e in self.cases}

    def protocol_settings(self, without: Collection[str] = ()) -> Mapping[str, str]:
        """Return the prompt settings by the name in the column Protocol."""
        names = self.protocol_names(without)
        return {names[id(e)]: e.prompt_settings_without(without) or "no prompts" for e in self.cases}

    def notes(self, without: Collection[str] = ()) -> tuple[str, ...]:
        """Return the notes on images, protocols, prompt settings, label rules and label sets."""
        settings = [f"{name}: {text}." for name, text in self.protocol_settings(without).items()]
        rules = [f"{name} {value}" for name, value in zip(LABEL_RULES, self.cases[0].label_rules, strict=True) if value]
        fingerprint = self.cases[0].record.data.fingerprint
        images = "; ".join([f"{self.title}: {self.size:,} images, fingerprint {fingerprint[:12]}", *rules])
        label_sets = (
            f"Label sets, and images without labels: {self.label_set_note()}."
            if self.labels
            else self.annotation_note()
        )
        return (*self.extra_notes, f"{images}.", *settings, label_sets, *collect_notes(self.cases))

    def annotation_note(self) -> str:
        """Return the note on divisions, annotations and observations, with the start of their sha256."""
        names = dict.fromkeys(
            f"{name} {sha[:12]}".rstrip() for case in self.cases for name, sha in case.record.data.labels.items()
        )
        return f"Divisions, annotations and observations: {'; '.join(names)}."

    def label_set_note(self) -> str:
        """Return each label set with the start of its sha256 and its rule for images without labels."""
        label_sets = {name: entry_value for case in self.cases for name, entry_value in case.label_sets.items()}
        return "; ".join(f"{name} {sha[:12]} {rule}".strip() for name, (sha, rule) in label_sets.items())


@dataclass(frozen=True)
class Runs:
    """The cases of all runs, later runs replacing earlier ones, with options of the command line.

    `annotations` are the answer files of annotators, `references` the models that others are compared with.
    """

    groups: tuple[ComparableCases, ...]
    sessions: tuple[tuple[Path, Run], ...]
    annotations: tuple[Path, ...] = ()
    references: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes of all records."""
        return collect_notes(self.cases)

    def describe(self) -> str:
        """Return which protocols and label sets the runs have: `zero_shot under original`."""

        def describe_case(case: CaseRun) -> str:
            name = case.record.protocol if case.epochs == "1" else f"{case.record.protocol} in {case.epochs} epochs"
            return f"{name} under {', '.join(case.labels)}" if case.labels else name

        return "; ".join(dict.fromkeys(map(describe_case, self.cases)))

    @property
    def cases(self) -> Iterator[CaseRun]:
        """Yield all cases, group by group."""
        return (case for group in self.groups for case in group.cases)

    def select_labels(self, labels: str | None) -> tuple[tuple[ComparableCases, tuple[str, ...]], ...]:
        """Return each group with the label sets to make tables of: the named one, or all but the original labels."""
        known = dict.fromkeys(name for group in self.groups for name in group.labels)
        if labels is not None and labels not in known:
            raise ReportError(
                f"No record was scored under the label set '{labels}'{did_you_mean(labels, [*known])} "
                f"There are: {', '.join(known)}. Make it with: pytest --eye-labels={labels}=FILE"
            )
        selected = ((group, group.other_labels if labels is None else (labels,)) for group in self.groups)
        return tuple(
            (group, names)
            for group, known_names in selected
            if (names := tuple(n for n in known_names if n in group.labels))
        )

    def iter_labels(self, labels: str | None) -> Iterator[tuple[ComparableCases, str]]:
        """Yield (group, label set) as `select_labels`; a group that has only the original labels comes with these."""
        selected = {id(group): names for group, names in self.select_labels(labels)}
        for group in self.groups:
            reference = () if labels else (group.reference,) * bool(group.labels)
            yield from ((group, name) for name in selected.get(id(group), reference))


def collect_notes(cases: Iterable[CaseRun]) -> tuple[str, ...]:
    """Return the notes of some cases, each sentence once."""
    return tuple(dict.fromkeys(note for case in cases for note in (*case.extra_notes, *case.record.notes)))


def load(paths: Sequence[Path]) -> Runs:
    """Read runs; if two records have the same case, protocol and variant, keep that of the later run and add a note."""
    cases_by_key: dict[tuple[str, ...], dict[int, CaseRun]] = {}  # by number, since thousands are not compared in pairs
    read = [(run_folder(path), read_run(path)) for path in paths]
    runs = tuple((folder, records.run) for folder, records in read)
    numbers = count()
    for (folder, records), name in zip(read, run_names(runs), strict=True):
        for record in records.records:
            case = CaseRun(record, folder)
            same = cases_by_key.setdefault(case.comparison_key, {})
            if replaced := [number for number, other in same.items() if case.replaces(other)]:
                note = f"{record.case} ({record.protocol}): the record of {name} replaces that of an earlier run."
                case = replace(case, extra_notes=(note,))
            for number in replaced:
                del same[number]
            same[next(numbers)] = case
    cases = [
        case
        for _, case in sorted(chain.from_iterable(same.items() for same in cases_by_key.values()), key=itemgetter(0))
    ]
    if not cases:
        (folder, run), command = runs[-1], "eyechart run"
        raise ReportError(
            f"{folder} has no record: no case of that session recorded a metric (exit status {run.exit_status}). "
            f"Read the output of the session, or run the suite: {command}"
        )
    check_unique_names(cases)
    return Runs(_group_cases(cases), runs)


def check_unique_names(cases: Iterable[CaseRun]) -> None:
    """Raise ReportError if two models have one name, the same case and the same prompt settings."""
    specs: dict[tuple[str, ...], str] = {}
    for case in cases:
        record, spec = case.record, case.record.model.title
        key = (case.model, record.benchmark, record.split, record.protocol, case.prompt_settings)
        if specs.setdefault(key, spec) != spec:
            raise ReportError(
                f"{record.case}: two models have the name {case.model}, {specs[key]} and {spec}. Give them different "
                "names, or leave out one of the runs."
            )


def _group_cases(cases: Iterable[CaseRun]) -> tuple[ComparableCases, ...]:
    """Group the cases that can be compared, each group in the order of the published tables."""
    by_split: dict[tuple[str, str], list[list[CaseRun]]] = {}
    for case in sorted(cases, key=lambda case: (case.record.benchmark, case.record.split)):
        own = by_split.setdefault((case.record.benchmark, case.record.split), [])
        home = next((group for group in own if all(map(case.is_comparable, group))), None)
        if home is None:
            own.append([case])
        else:
            home.append(case)
    groups = chain.from_iterable(by_split.values())
    comparable = [ComparableCases(tuple(sorted(group, key=sort_key))) for group in groups]
    titles = [group.title for group in comparable]
    return tuple(
        replace(group, number=titles[: index + 1].count(group.title)) for index, group in enumerate(comparable)
    )


def _agree_on_shared_keys(first: Mapping[str, object], second: Mapping[str, object]) -> bool:
    """Return whether two mappings have equal values for the keys that both have."""
    return all(first[name] == second[name] for name in first.keys() & second.keys())


def sort_key(case: CaseRun) -> tuple[int, float, str]:
    """Return the sort key of a case: family of protocols, accuracy, name."""
    metric = case.metric(case.accuracy_name, case.labels[0]) if case.labels else None
    accuracy = metric.value if metric and metric.value is not None else -1.0
    protocol = recorded_protocol(case.record.protocol)
    return 0 if protocol.answers_in_text else protocol.order, accuracy, case.model


def protocol_name(case: CaseRun, wordings: Sequence[str], without: Collection[str]) -> str:
    """Return the name of a protocol, with a letter if one table has several prompt settings of it."""
    index = wordings.index(case.prompt_settings_without(without))
    letter = chr(ord("a") + index) if index < 26 else str(index)
    name = short_protocol_name(case.record.protocol)
    return f"{name} ({letter})" if len(wordings) > 1 else name


def short_protocol_name(name: str) -> str:
    """Return what published tables call a protocol, its name if they do not have it."""
    return recorded_protocol(name).short_name or name


def model_name(spec: str) -> str:
    """Return Mill's id for open_clip models, the name of a replay, or the specification."""
    try:
        model = parse_spec(spec)
    except SpecError:
        return spec
    if model.backend == "replay" and "name" in model.options:
        return model.options["name"]
    if model.backend != "open_clip" or len(model.arguments) != 1:
        return spec
    options = [f"{name}={value}" for name, value in sorted(model.options.items()) if name != "pretrained"]
    name = "/".join(filter(None, (model.arguments[0], model.options.get("pretrained", ""))))
    return f"{name}[{','.join(options)}]" if options else name
