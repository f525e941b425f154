"""Sample groups: cases with the same items, which the page shows item by item."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import load_class_names
from eyechart.data.splits.open_split import list_splits
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import EyechartError, VocabularyError
from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.protocol.imported import recorded_protocol
from eyechart.reports.annotation.sheet import open_checked_split
from eyechart.reports.page.previous import (
    PreviousCase,
    PreviousCases,
    SampleChanges,
    sample_changes,
    samples_from_evidence,
)
from eyechart.reports.page.samples import NO_TEXTS, ClassNamer, LabelOutcomes, Samples, class_namer, read_samples
from eyechart.reports.runs import CaseRun, ComparableCases, Runs
from eyechart.statistics.array_types import Floats

_SlicesOfCase = Callable[[CaseRun], Sequence[MetricComparison]]
IMAGE = "image"


@dataclass(frozen=True)
class CaseSamples:
    """One case of a group: its samples, the previous samples of the same items, and the changes of its metrics."""

    case: CaseRun
    protocol_name: str
    samples: Samples
    previous: Samples | None = None
    changes: Mapping[str, SampleChanges] = field(default_factory=dict)

    def without_texts(self) -> "CaseSamples":
        """Return the same with the outcomes of the answers, but not their texts, which take much memory."""
        return replace(
            self, samples=replace(self.samples, raw=NO_TEXTS, kinds=NO_TEXTS, best=(), more=(), answers=NO_TEXTS)
        )


@dataclass(frozen=True)
class SampleGroup:
    """Cases with the same items; `dataset` is None if the images are not available."""

    name: str
    title: str
    cases: tuple[CaseSamples, ...]
    reference: str
    dataset: Dataset | None = None

    @property
    def items(self) -> tuple[tuple[str, str], ...]:
        """Return the images with their questions."""
        return self.cases[0].samples.items

    @cached_property
    def label_sets(self) -> Mapping[str, LabelOutcomes]:
        """Return every label set, taken from the first case that has it; the reference comes first."""
        by_name = {
            name: outcomes for case_samples in self.cases for name, outcomes in case_samples.samples.label_sets.items()
        }
        return {name: by_name[name] for name in sorted(by_name, key=lambda name: name != self.reference)}

    @cached_property
    def picture_index(self) -> Mapping[str, int]:
        """Return the position of each image in the data set by its key."""
        return {key: index for index, key in enumerate(self.dataset.keys)} if self.dataset else {}


@dataclass
class SampleLoader:
    """Opens data sets and reads the samples of cases; `notes` collects what is missing."""

    data: str | None
    store: Path
    notes: list[str] = field(default_factory=list)
    progress: Callable[[str], None] = lambda _: None
    known_splits: dict[str | None, Sequence[SplitRef]] = field(default_factory=dict)  # by root

    def list_splits(self, root: str | None) -> Sequence[SplitRef]:
        """Return the splits of a root, which is surveyed once. Raises DataError for a root that is no folder."""
        if root not in self.known_splits:
            self.known_splits[root] = list_splits(root)
        return self.known_splits[root]

    def load(self, runs: Runs, previous: PreviousCases, slices_of: _SlicesOfCase) -> Iterator[SampleGroup]:
        """Yield every sample group of the runs; `slices_of` returns the slices of a case that changed."""
        names: dict[str, int] = {}
        for group in runs.groups:
            for sample_group in self.load_group(group, previous, slices_of):
                count = names[sample_group.name] = names.get(sample_group.name, 0) + 1
                yield sample_group if count == 1 else with_suffix(sample_group, count)

    def load_group(
        self, group: ComparableCases, previous: PreviousCases, slices_of: _SlicesOfCase
    ) -> Iterator[SampleGroup]:
        """Yield the sample groups of one group of cases: one for all cases with the same items."""
        dataset = self.open_dataset(group)
        class_name, protocols = class_namer(read_names(group, dataset)), group.protocol_names()
        by_items: dict[tuple[tuple[str, str], ...], list[CaseSamples]] = {}
        known: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}
        for case in group.cases:
            self.progress(f"{group.title}: answers of {case.model}")
            if samples := read_samples(case, class_name):
                samples = replace(samples, items=known.setdefault(samples.items, samples.items))  # kept once
                old = previous.get(id(case))
                numbers = sample_changes(old, case, [key for key, _ in samples.items], slices_of(case))
                before = self.load_previous(old, case, samples, class_name)
                by_items.setdefault(samples.items, []).append(
                    CaseSamples(case, protocols[id(case)], samples, before, numbers)
                )
        for case_samples in by_items.values():
            yield _create_sample_group(group, case_samples, dataset)

    def load_previous(
        self, previous: PreviousCase | None, case: CaseRun, samples: Samples, class_name: ClassNamer
    ) -> Samples | None:
        """Return the previous samples of a case if they have the same items."""
        if previous is None:
            return None
        loaded = (
            read_samples(previous, class_name)
            if isinstance(previous, CaseRun)
            else samples_from_evidence(previous, case, samples)
        )
        if loaded is not None and loaded.items == samples.items:
            return loaded
        self.notes.append(f"{case.record.case} ({case.record.protocol}): the previous result has other items.")
        return None

    def knows_images(self, group: ComparableCases) -> bool:
        """Return whether it is known where the images of a group are: the results of other tools do not say it."""
        record = group.cases[0].record
        return recorded_protocol(record.protocol).knows_images or bool(record.data.root) or self.data is not None

    def open_dataset(self, group: ComparableCases) -> Dataset | None:
        """Return the images of a group; None with a note if they cannot be opened, None if no folder is known."""
        if not self.knows_images(group):
            return None
        record = group.cases[0].record
        self.progress(f"{group.title}: indexing images")
        fingerprint, limit, seed = record.data.fingerprint, record.limit, record.seed
        root = record.data.root or None if self.data is None else self.data
        offline = self.data is None  # nothing is downloaded unless it is asked for
        try:
            return open_checked_split(
                group.benchmark,
                self.list_splits(root),
                self.store,
                fingerprint=fingerprint,
                limit=limit,
                seed=seed,
                offline=offline,
            )
        except EyechartError as error:
            self.notes.append(f"{group.title}: no images. {error}")
        return None


def read_names(group: ComparableCases, dataset: Dataset | None) -> Sequence[str]:
    """Return the class names: the data set's own, those of the run, or the cleaned ones of ImageNet."""
    if dataset is not None and dataset.names:
        return dataset.names
    if names := next(filter(None, (case.class_names for case in group.cases)), ()):
        return names
    if (dataset is not None and dataset.classes != 1000) or group.cases[0].record.benchmark != "imagenet":
        return ()
    try:
        return load_class_names("kisel").names
    except VocabularyError:
        return ()


def _create_sample_group(
    group: ComparableCases, case_samples: Sequence[CaseSamples], dataset: Dataset | None
) -> SampleGroup:
    """Return a sample group named after its split, and after its protocol if items are questions."""
    samples = case_samples[0].samples
    label_sets = {name for case_sample in case_samples for name in case_sample.samples.label_sets}
    usual = (recorded_protocol(case_sample.case.record.protocol).reference_labels for case_sample in case_samples)
    defaults = (group.reference if group.labels else "", *usual)
    reference = next((name for name in defaults if name in label_sets), "")
    if samples.unit == IMAGE:
        return SampleGroup(group.benchmark, group.title, tuple(case_samples), reference, dataset)
    protocol = case_samples[0].case.record.protocol
    title = f"{group.title}: {protocol}"
    return SampleGroup(f"{group.benchmark}/{protocol}", title, tuple(case_samples), reference, dataset)


def with_suffix(group: SampleGroup, count: int) -> SampleGroup:
    """Return the group with a number after its name."""
    return SampleGroup(f"{group.name}/{count}", group.title, group.cases, group.reference, group.dataset)


def as_floats(outcomes: LabelOutcomes) -> Floats:
    """Return outcomes as 1, 0 and NaN."""
    values = np.full(len(outcomes.outcomes), np.nan)
    values[outcomes.outcomes <= 1] = outcomes.outcomes[outcomes.outcomes <= 1]
    return values
