"""The result of a case, and how it is written: a record, the sample table, evidence, and further files."""

import re
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, cast

import msgspec
import numpy as np

from eyechart.data.dataset.blanks import BLANK
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.registry import is_folder
from eyechart.errors import ReportError
from eyechart.evaluation.settings import Case, Settings
from eyechart.files.atomic import csv_lines, read_checked, write_atomic, write_checked, write_lines
from eyechart.inference.store.responses import AnswerCounts
from eyechart.models.runtime.device import device_name, keep_freed_memory
from eyechart.models.types import Identity, Usage
from eyechart.protocol.base import Floats, Ints, Metric, P, Protocol, Rows
from eyechart.protocol.options import flag
from eyechart.protocol.prompts import TEXTS, Prompt
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import RESAMPLES, Evidence, collect_evidence, digest, pack_array, pack_clusters
from eyechart.results.headlines import ANSWERED, ASKED
from eyechart.results.logit_files import write_logits
from eyechart.results.metric_definitions import direction_of, fixed_range
from eyechart.results.records import (
    DataRecord,
    File,
    ModelRecord,
    OutcomeCounts,
    Record,
    SubsetTiming,
    UsageRecord,
    encode,
)
from eyechart.results.run_folder import evidence_folder
from eyechart.results.sample_table import check_rows
from eyechart.results.shared_samples import write_samples
from eyechart.results.slices import own_variables, slice_estimates, slice_variables, write_slices
from eyechart.statistics.clusters import clustered_t_interval, clustered_wilson
from eyechart.statistics.draws_cache import use_results
from eyechart.statistics.resampling import unit_bootstrap_shares

RESULTS = "results"  # a folder of a store
REFUSAL = re.compile(r"(^|: )(refusal|content filter): ")  # in the reason of an answer without a text


class CaseResult(Generic[P]):
    """The predictions and estimates of a case, which it writes into the folder of a run."""

    def __init__(
        self,
        case: Case,
        settings: Settings,
        dataset: Dataset,
        identity: Identity,
        protocol: Protocol[P],
        predictions: P,
        run: Path,
    ) -> None:
        self.case, self.settings, self.dataset, self.identity = case, settings, dataset, identity
        self.protocol, self.predictions, self.run = protocol, predictions, run
        self.computed: list[tuple[Metric[P], tuple[Estimate, ...]]] = []
        self.loads = 0
        self.stop = ""  # why not all images were asked
        self.note = ""
        self.class_names: tuple[str, ...] = ()  # of prompts, for a split without names of its own
        self.prompts: tuple[Prompt, ...] = ()  # whose texts eyechart does not have
        self.store_entries: tuple[str, ...] = ()
        self.max_tokens = 0
        self.answer_counts = AnswerCounts()
        self.results: StoredResults | None = None  # of resampling, cached

    @property
    def estimates(self) -> list[Estimate]:
        """The estimates of all metrics that were added, in order."""
        return [estimate for _, estimates in self.computed for estimate in estimates]

    def add(self, metrics: Iterable[Metric[P]]) -> tuple[Estimate, ...]:
        """Return the estimates of metrics; each metric is computed from the predictions and added once."""
        keep_freed_memory()  # metrics and resamples allocate an array of all images again and again
        with use_results(self.results):
            return tuple(estimate for metric in metrics for estimate in self.compute(metric))

    def compute(self, metric: Metric[P]) -> tuple[Estimate, ...]:
        """Return the estimates of a metric, computed at its first call.

        Raises ReportError if another metric has an estimate of the same name, labels, subset, level and prompt.
        """
        for known, estimates in self.computed:
            if known is metric or (isinstance(known, Hashable) and known == metric):
                return estimates
        values = metric(self.predictions)
        new = (self.mean_estimate(metric, values),) if isinstance(values, np.ndarray) else self._check(metric, values)
        for known, estimates in self.computed:
            for shared in {estimate.key for estimate in estimates} & {estimate.key for estimate in new}:
                raise ReportError(
                    f"Two metrics of the case {self.case} ({self.case.protocol}), {metric_name(known)} and "
                    f"{metric_name(metric)}, both have the estimate {' '.join(filter(None, shared))}. Rename one: give "
                    "the estimate, or the function that returns values, another name."
                )
        for estimate in new:
            self._check_range(estimate)
        self.computed.append((metric, new))
        return new

    def _check(self, metric: Metric[P], values: object) -> tuple[Estimate, ...]:
        """Return estimates that a metric returned. Raises ReportError for anything else."""
        estimates = tuple(values) if isinstance(values, Iterable) else (values,)
        others = [type(value).__name__ for value in estimates if not isinstance(value, Estimate)]
        if others:
            raise ReportError(
                f"The metric {metric_name(metric)} returned {', '.join(dict.fromkeys(others))}. Expected an array of "
                f"shape ({len(self.predictions.keys)},), one value for each image, or estimates."
            )
        return cast("tuple[Estimate, ...]", estimates)

    def _check_range(self, estimate: Estimate) -> None:
        """Refuse a value beyond the range that the metric's package defines, before it is written."""
        limits = fixed_range(estimate.name)
        if limits and estimate.value is not None and not limits[0] <= estimate.value <= limits[1]:
            raise ReportError(
                f"The metric '{estimate.name}' of the case {self.case} ({self.case.protocol}) has the value "
                f"{estimate.value:g}, and its definition has the range from {limits[0]:g} to {limits[1]:g}. Correct "
                "the metric, or the range in its MetricDefinition (entry point eyechart.metrics)."
            )

    def mean_estimate(self, metric: Metric[P], values: Floats) -> Estimate:
        """Return the mean of a metric's values per image (n,), NaN for an image that does not count; higher is better.

        Raises ReportError for another shape.
        """
        name, images = metric_name(metric), len(self.predictions.keys)
        if values.shape != (images,):
            raise ReportError(
                f"The metric {name} returned values of shape {values.shape}. "
                f"Expected ({images},), one for each image, or estimates."
            )
        labels = next(iter(self.predictions.label_hashes()), "")
        return sample_mean(name, labels, values, self.predictions.clusters(), self.settings.seed)

    def notes(self) -> tuple[str, ...]:
        """Return notes for readers of the metrics: errors, unparsed answers, facts about the data."""
        case, split = f"{self.case} ({self.case.protocol})", f"{self.case.benchmark}/{self.case.split}"
        errors, total = len(self.predictions.error_messages()), self.predictions.describe_count()
        failed = f"{case}: {errors} of {total} ended in an error and are left out of every score."
        return (
            *((failed,) if errors else ()),
            *((f"{case}: {self.stop}",) if self.stop else ()),
            *((f"{self.case.model}: {self.note}",) if self.note else ()),
            *(f"{case}: {note}" for note in (*self.predictions.notes(), *self.silence_notes(), *self.cluster_notes())),
            *(f"{split}: {note}" for note in (*self.dataset.notes, *self.predictions.data_notes())),
        )

    def silence_notes(self) -> Iterator[str]:
        """Yield a note if answers are empty, or reasoning without content, which nothing is read from."""
        counts = self.answer_counts
        if counts.empty:
            yield (
                f"{counts.empty:,} of {counts.responses:,} answers are empty. See to the server or the chat template "
                "of the model."
            )
        if counts.silent:
            more = flag(self.case.protocol, "max_tokens", "…")
            yield (
                f"{counts.silent:,} of {counts.responses:,} answers have reasoning but no content, "
                f"{counts.truncated:,} of them at the token limit of {self.max_tokens:,}. Raise {more}, or see to the "
                "server: one that separates reasoning, such as LM Studio or vLLM with --reasoning-parser, may take a "
                "whole answer for reasoning."
            )

    def cluster_notes(self) -> Iterator[str]:
        """Yield a note if the case ignores the column of clusters, as protocols besides image classification do."""
        column = self.settings.cluster
        if column and "cluster" not in self.predictions.full_variant():
            yield (
                f"--eye-cluster={column} has no effect here: intervals and tests of this case do not count its values; "
                "only protocols of image classification do."
            )

    def count_outcomes(self) -> OutcomeCounts:
        """Return the number of answers of each outcome; refusals are errors, and counted alone besides."""
        outcomes = self.predictions.count_outcomes()
        refusals = sum(bool(REFUSAL.search(message)) for message in self.predictions.error_messages())
        return msgspec.structs.replace(outcomes, refused=min(refusals, outcomes.error))

    def write_record(self, seconds: float, environment: Mapping[str, str], command: str) -> Record:
        """Write the files of the case and return its record; estimates without samples are left out."""
        estimates = [estimate for estimate in (*self.estimates, self.answered_estimate()) if estimate.n]
        environment = {**environment, "numpy": np.__version__, **self.identity.libraries}
        evidence = self.make_evidence(estimates, environment)
        metrics = tuple(
            replace(estimate, n_clusters=item.sampling_units).metric
            for estimate, item in zip(estimates, evidence.metrics, strict=True)
        )
        own = slice_estimates(estimates, own_variables(self.dataset), self.predictions.clusters())
        metrics += tuple(estimate.metric for estimate in own if estimate.n)
        if self.results:
            self.results.save()
        settings, slug, whole = self.settings, self.case.slug, self.settings.limit is None
        return Record(
            case=str(self.case),
            benchmark=self.case.benchmark,
            split=self.case.split,
            protocol=self.case.protocol,
            variant=self.variant() | ({"test": self.case.test} if self.case.test else {}),
            model=self.model_record(),
            data=self.data_record(),
            limit=settings.limit,
            seed=settings.seed,
            outcomes=self.count_outcomes(),
            metrics=metrics,
            reported=self.protocol.reported(self.case.whole_split, self.case.model, metrics) if whole else None,
            usage=self.usage_record(),
            predictions=self.write_csv(
                f"predictions/{slug}.csv", check_rows(self.protocol.name, self.predictions.samples())
            ),
            artifacts={name: self.write_csv(f"{name}/{slug}.csv", rows) for name, rows in self.list_files().items()},
            evidence=self.write_evidence(evidence),
            store_entries=self.store_entries,
            notes=self.notes(),
            loads=self.loads,
            seconds=seconds,
            environment=environment,
            command=command,
        )

    def list_files(self) -> dict[str, Rows]:
        """Return the further tables of the case by name: those of its predictions, and texts of prompts."""
        rows = [["name", "sha256", "text"], *([prompt.name, prompt.sha256, prompt.text] for prompt in self.prompts)]
        return ({TEXTS: iter(rows)} if self.prompts else {}) | self.predictions.files()

    def answered_estimate(self) -> Estimate:
        """Return the proportion of requested images without an error, with Wilson's interval."""
        labels = next(iter(self.predictions.label_hashes()), "")
        outcomes, clusters = self.predictions.answered_images(), self.predictions.clusters()
        return Estimate.proportion(ANSWERED, outcomes, clusters, labels=labels, subset=ASKED)

    def model_record(self) -> ModelRecord:
        """Return the record of the model."""
        identity = self.identity
        return ModelRecord(
            spec=str(self.case.model),
            alias=self.case.model.alias,
            name=identity.name,
            backend=identity.backend,
            revision=identity.revision,
            weights_sha256=identity.weights_sha256,
            dtype=identity.dtype,
            device=identity.device,
            device_name=device_name(identity.device),
        )

    def usage_record(self) -> UsageRecord | None:
        """Return the record of requests and tokens, None for answers without requests."""
        usage = self.predictions.usage_record()
        return usage and msgspec.structs.replace(usage, max_tokens=self.max_tokens)

    def data_record(self) -> DataRecord:
        """Return the record of the data."""
        dataset = self.dataset
        return DataRecord(
            fingerprint=dataset.fingerprint,
            n=len(dataset),
            expected_n=dataset.expected,
            labels=dict(self.predictions.label_hashes()),
            root=_absolute_root(self.settings.data),
            class_names=self.write_class_names(),
            provenance=dataset.provenance,
        )

    def variant(self) -> dict[str, str]:
        """Return all settings that the metrics depend on, besides model and data, with all options of the case."""
        blank = {BLANK: self.settings.blank} if self.settings.blank else {}
        return {**self.case.options, **self.predictions.full_variant(), **blank}

    def write_class_names(self) -> File | None:
        """Write the class names, once for all cases of a split with the same ones; None without names."""
        names = self.class_names or tuple(self.dataset.names)
        if not names:
            return None
        content = encode(names)
        name = re.sub(r"[^A-Za-z0-9_.=-]", "-", f"{self.case.benchmark}-{self.case.split}")[:100]
        return self.write_file(f"class_names/{name}-{sha256(content).hexdigest()[:8]}.json", content)

    def make_evidence(self, estimates: Sequence[Estimate], environment: Mapping[str, str]) -> Evidence:
        """Return the evidence by which the estimates can be compared with another run."""
        clusters = self.predictions.clusters()
        if clusters is not None and len(np.unique(clusters)) == len(clusters):
            clusters = None
        with use_results(self.results):
            metrics, arrays = collect_evidence(estimates, clusters)
        dataset = self.dataset
        hashes = dataset.sample_hashes.astype("<u8").tobytes()
        name, logits = digest(hashes), self.predictions.logits
        return Evidence(
            case=str(self.case),
            protocol=self.case.protocol,
            model=self.case.model.name,
            weights_sha256=self.identity.weights_sha256,
            fingerprint=self.dataset.fingerprint,
            label_hashes=dict(self.predictions.label_hashes()),
            variant=self.variant(),
            limit=self.settings.limit,
            seed=self.settings.seed,
            samples=len(self.dataset),
            keys=self.dataset.keys,
            environment={  # what can change answers of the same weights
                **environment,
                "dtype": self.identity.dtype,
                "device": self.identity.device,
                "processor": sha256(encode(self.identity.processor)).hexdigest(),
            },
            metrics=metrics,
            arrays={**arrays, name: pack_array(hashes)},
            sample_hashes=name,
            sequential=self.settings.sequential or msgspec.UNSET,
            slices=write_slices(slice_variables(dataset, self.class_names), evidence_folder(self.run)),
            clusters=msgspec.UNSET if clusters is None else digest(pack_clusters(clusters)),
            logits=msgspec.UNSET if logits is None else write_logits(self.settings.store, logits) or msgspec.UNSET,
        )

    def write_evidence(self, evidence: Evidence) -> File:
        """Write the evidence, and once for all cases of the split what identifies its samples."""
        evidence = write_samples(evidence, evidence_folder(self.run))
        return self.write_file(f"evidence/{self.case.slug}.json", encode(evidence))

    def write_csv(self, path: str, rows: Rows) -> File:
        """Write rows as a csv file into the folder of the run, as they come, and return its path and sha256."""
        (self.run / path).parent.mkdir(parents=True, exist_ok=True)
        return File(path=path, sha256=write_lines(self.run / path, csv_lines(rows)))

    def write_file(self, path: str, content: bytes) -> File:
        """Write a file into the folder of the run, and return its path and sha256."""
        (self.run / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.run / path, content)
        return File(path=path, sha256=sha256(content).hexdigest())


def metric_name(metric: Metric[Any]) -> str:
    """Return the name of a metric: that of its function, or of the class of an object that is called.

    >>> metric_name(max), metric_name(partial(max, 1))
    ('max', 'partial')
    """
    return str(getattr(metric, "__name__", type(metric).__name__))


def sample_mean(name: str, labels: str, values: Floats, clusters: Ints | None, seed: int) -> Estimate:
    """Return the mean of values (n,), NaN for samples that do not count, with an interval over clusters (n,).

    The interval is Wilson's for values of 1 and 0, else Student's.

    >>> estimate = sample_mean("match", "original", np.array([1.0, 0.0, np.nan, 1.0]), None, seed=42)
    >>> round(estimate.value, 3), estimate.n, estimate.method
    (0.667, 3, 'wilson')
    """
    groups = np.arange(len(values)) if clusters is None else clusters
    known = ~np.isnan(values)
    n, binary = int(known.sum()), bool(np.isin(values[known], (0, 1)).all())
    n_clusters = len(np.unique(groups[known]))
    interval = clustered_wilson if binary else clustered_t_interval
    return Estimate(
        name=name,
        labels=labels,
        title=name,
        value=float(values[known].mean()) if n else None,
        n=n,
        interval=interval(values[known], groups[known]) if n else None,
        method=f"{'' if n_clusters == n else 'clustered '}{'wilson' if binary else 'student'}",
        higher_is_better=direction_of(name, otherwise=True),
        correct=values if binary else None,
        bootstrap=None if binary else partial(bootstrap_means, values, groups, seed),
        n_clusters=n_clusters,
    )


def bootstrap_means(values: Floats, clusters: Ints, seed: int) -> Floats:
    """Return means (`RESAMPLES`,) of resamples of whole clusters (n,) of values (n,), NaN for one that does not count.

    Cases with the same clusters and seed have the same resamples.
    """
    known = ~np.isnan(values)
    return unit_bootstrap_shares(np.where(known, values, 0), known, RESAMPLES, seed, clusters=clusters)


def make_usage_record(
    requests: int, usage: Usage, cost: float | None, sets: Mapping[str, SubsetTiming] | None = None
) -> UsageRecord:
    """Return the record of requests, tokens, cost in USD (None if unknown) and timing by subset.

    >>> make_usage_record(2, Usage(prompt=100, cached=20, answer=8), None).prompt_tokens
    100
    """
    return UsageRecord(
        requests=requests,
        prompt_tokens=usage.prompt,
        cached_tokens=usage.cached,
        answer_tokens=usage.answer,
        thinking_tokens=usage.thinking,
        cost=cost,
        sets=sets or {},
    )


def _absolute_root(root: str | None) -> str:
    """Return the data root as an absolute path, hub address or URL, "" if there is none.

    >>> _absolute_root("hub:org/name"), _absolute_root(None), _absolute_root("/data/../data")
    ('hub:org/name', '', '/data/../data')
    """
    return str(Path(root).absolute()) if root and is_folder(root) else root or ""


class StoredResults:
    """The results of a case by the hash of their inputs (see `statistics.draws_cache`), read from a file.

    A file that cannot be read, or is damaged, counts as one without results. `save` writes those that were used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stored = _read_results(path)
        self._used: dict[str, Floats] = {}

    def get(self, key: str, /) -> Floats | None:
        """Return a result, None if it is not there."""
        if key not in self._used and key in self._stored:
            self._used[key] = self._stored[key]
        return self._used.get(key)

    def __setitem__(self, key: str, value: Floats, /) -> None:
        """Add a result."""
        self._used[key] = value

    def save(self) -> None:
        """Write the results that were used, if the file has others; a store that is only read is left unchanged."""
        if self._used.keys() == self._stored.keys():
            return
        plain = {key: (value.shape, np.ascontiguousarray(value).tobytes()) for key, value in self._used.items()}
        body = zlib.compress(msgspec.msgpack.encode(plain), 1)
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_checked(self.path, body)


def results_path(store: Path, *names: object) -> Path:
    """Return the path of the results of a case that these names and numbers identify.

    >>> results_path(Path("store"), "imagenet/val", 42).parent.as_posix()
    'store/results'
    """
    return store / RESULTS / f"{sha256(msgspec.json.encode(names)).hexdigest()[:32]}.bin"


def _read_results(path: Path) -> dict[str, Floats]:
    """Return the results of a file, none if it is missing or its checksum does not match."""
    try:
        body = zlib.decompress(read_checked(path))
        plain = msgspec.msgpack.decode(body, type=dict[str, tuple[tuple[int, ...], bytes]])
        return {key: np.frombuffer(data).reshape(shape) for key, (shape, data) in plain.items()}
    except (OSError, ValueError, zlib.error):
        return {}
