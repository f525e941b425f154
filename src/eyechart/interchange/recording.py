"""Write imported cases as a run, with the estimates, evidence and sample tables of the suite's own cases."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from eyechart.data.dataset.dataset import Dataset, Row, SliceVariable
from eyechart.data.dataset.slice_variables import MOST_VALUES
from eyechart.data.index.file_index import whole_file_source
from eyechart.errors import DataError
from eyechart.evaluation.case_result import CaseResult, bootstrap_means, sample_mean
from eyechart.evaluation.settings import Case, Settings
from eyechart.files.folders import run_name
from eyechart.interchange.results import ImportedCase, hash_content
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Identity
from eyechart.protocol.base import Floats, Ints, Predictions, Rows
from eyechart.protocol.imported import imported_protocol
from eyechart.results.estimates import Estimate
from eyechart.results.records import OutcomeCounts, Record, UsageRecord
from eyechart.results.run_folder import RunFolder, read_git_commit
from eyechart.results.sample_table import KEPT, SHARED_COLUMNS, shared_cells
from eyechart.version import __version__

LABELS = "target"  # the label set of every imported metric


@dataclass(frozen=True)
class _ImportedPredictions(Predictions):
    """The answers of an imported case; `fields` are the names of the tool's further fields."""

    keys: tuple[str, ...]
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    case: ImportedCase
    fields: tuple[str, ...]

    @classmethod
    def of(cls, case: ImportedCase) -> "_ImportedPredictions":
        """Return the predictions of a case. A sample without any value whose answers ended in errors is an error."""
        scored = {key for metric in case.metrics for key in metric.values}
        samples = case.samples
        messages = {answer.key: answer.error for answer in case.answers if answer.error}
        errors = {
            index: messages[sample.key]
            for index, sample in enumerate(samples)
            if sample.key in messages and sample.key not in scored
        }
        fields = tuple(dict.fromkeys(name for answer in case.answers for name in answer.kept))
        return cls(tuple(sample.key for sample in samples), errors, dict(case.settings), case, fields)

    def label_hashes(self) -> Mapping[str, str]:
        """Return the name of the targets, without a hash: each sample has its own, so a part of them has it, too."""
        return {LABELS: ""}

    def clusters(self) -> Ints | None:
        """Return the image of each sample (n,), None where no samples share an image."""
        names = [sample.cluster or f"\n{sample.key}" for sample in self.case.samples]
        indices = {name: index for index, name in enumerate(dict.fromkeys(names))}
        return None if len(indices) == len(names) else np.array([indices[name] for name in names], np.int64)

    def primary(self) -> Floats | None:
        """Return the outcome of each sample (n,) under the first metric, None if it is no proportion."""
        values = self.case.values(self.case.metrics[0])
        return values if _is_binary(values) else None

    def count_outcomes(self) -> OutcomeCounts:
        """Return the number of samples of each outcome, 0 correct and wrong if the first metric is no proportion."""
        values = self.primary()
        counts = (0, 0) if values is None else (int((values == 1).sum()), int((values == 0).sum()))
        return OutcomeCounts(correct=counts[0], wrong=counts[1], error=len(self.errors))

    def samples(self) -> Rows:
        """Yield one row per answer, with the value of each metric for its sample and the fields of the tool."""
        epochs, metrics = any(answer.epoch for answer in self.case.answers), self.case.metrics
        primary = metrics[0].values if self.primary() is not None else {}
        yield [
            *SHARED_COLUMNS,
            "response",
            *(("epoch",) if epochs else ()),
            *(f"metric.{metric.name}" for metric in metrics),
            *(f"{KEPT}{name}" for name in self.fields),
        ]
        for answer in self.case.answers:
            yield [
                *shared_cells(
                    key=answer.key,
                    target=answer.target,
                    prediction=answer.prediction,
                    correct=None if answer.error else primary.get(answer.key),
                    error=answer.error,
                ),
                answer.response,
                *((answer.epoch,) if epochs else ()),
                *(metric.values.get(answer.key, "") for metric in metrics),
                *(answer.kept.get(name, "") for name in self.fields),
            ]

    def describe_count(self) -> str:
        """Return the number of samples."""
        return f"{len(self.keys)} samples"

    def usage_record(self) -> UsageRecord | None:
        """Return the requests and tokens that the tool counted."""
        return self.case.usage

    def notes(self) -> Iterator[str]:
        """Yield where the answers come from, and what was left out."""
        digest = sha256(self.case.source.read_bytes()).hexdigest()
        versions = " ".join([self.case.tool, *filter(None, [self.case.libraries.get(self.case.tool)])])
        yield f"imported from {self.case.source.name} (sha256 {digest[:12]}…) of {versions}"
        yield from self.case.notes


def _is_binary(values: Floats) -> bool:
    """Return whether all values (n,) are 1, 0 or NaN."""
    return bool(np.isin(values[~np.isnan(values)], (0, 1)).all())


def estimates(predictions: _ImportedPredictions) -> Iterator[Estimate]:
    """Yield the mean of each metric over samples, with an interval over images.

    A proportion also has a bootstrap, since the same scorer may give partial credit in another run.
    """
    case, clusters, seed = predictions.case, predictions.clusters(), Settings().seed
    groups = np.arange(len(predictions.keys)) if clusters is None else clusters
    for metric in case.metrics:
        values = case.values(metric)
        estimate = sample_mean(metric.name, LABELS, values, clusters, seed)
        bootstrap = partial(bootstrap_means, values, groups, seed)
        yield replace(estimate, higher_is_better=metric.higher_is_better, bootstrap=bootstrap)


def record_cases(cases: Sequence[ImportedCase], out: Path, command: str, slices: Sequence[str] = ()) -> Path:
    """Write cases as a run into a new folder of `out`, and return the folder.

    `slices` are further fields of the tool by which samples are grouped into slices.
    Raises DataError if two cases have one name, or if a case has no such field.
    """
    named: dict[tuple[str, str], ImportedCase] = {}
    for case in cases:
        other = named.setdefault((case.title, case.tool), case)
        if other is not case:
            raise DataError(
                f"{other.source} and {case.source} are both of {case.title}. Expected one file for each benchmark and "
                "model: import one of them alone, or give it another name with --model or --benchmark."
            )
    datasets = [_make_dataset(case, slices) for case in cases]
    folder = RunFolder(out / run_name())
    folder.create()
    records = [_record_case(case, dataset, folder.path, command) for case, dataset in zip(cases, datasets, strict=True)]
    for record in records:
        folder.append(record)
    commit = read_git_commit(Path.cwd())
    folder.finish(records, folder.describe_run(records, command=command, git_commit=commit))
    folder.link_latest()
    return folder.path


def _record_case(case: ImportedCase, dataset: Dataset, folder: Path, command: str) -> Record:
    """Write the files of a case into the folder of a run, and return its record."""
    predictions = _ImportedPredictions.of(case)
    identity = Identity(
        backend=case.tool,
        name=case.model,
        weights_sha256="",
        dtype="",
        device="",
        processor={},
        libraries=case.libraries,
    )
    model = ModelSpec(case.tool, (case.model,), alias=case.alias or case.model)
    named = Case(case.benchmark, case.split, model, case.tool)
    settings = replace(Settings(), limit=case.limit)
    result = CaseResult(named, settings, dataset, identity, imported_protocol(case.tool), predictions, folder)
    result.add([estimates])
    return result.write_record(case.seconds, {"eyechart": __version__}, command)


def _make_dataset(case: ImportedCase, slices: Sequence[str]) -> Dataset:
    """Return the samples of a case as a data set without images."""
    samples = case.samples
    index = tuple(Row(sample.key, sample.key, hash_content([sample.content, sample.target])) for sample in samples)
    variables = tuple(_slice_variable(case, name) for name in slices)
    return Dataset(case.benchmark, case.split, index, whole_file_source(()), 0, slices=variables)


def _slice_variable(case: ImportedCase, name: str) -> SliceVariable:
    """Return a field of the tool as a variable that divides samples into slices.

    Raises DataError for a field that the case does not have, or that has too many values.
    """
    samples = case.samples
    known = dict.fromkeys(field for sample in samples for field in sample.kept)
    if name not in known:
        raise DataError(
            f"{case.source} has no field '{name}'{did_you_mean(name, [*known])} Its fields are: "
            f"{', '.join(known) or 'none'}. Name one of them with --slice."
        )
    texts = [sample.kept.get(name, "") for sample in samples]
    values = tuple(sorted({*texts} - {""}))
    if len(values) > MOST_VALUES:
        raise DataError(
            f"The field '{name}' of {case.source} has {len(values):,} values. Expected at most {MOST_VALUES:,}: name "
            "another field with --slice."
        )
    indices = {value: index for index, value in enumerate(values)}
    return SliceVariable(name, values, np.array([indices.get(text, -1) for text in texts], np.int64))
