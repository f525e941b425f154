"""What the cases of a session share: opened splits, label sets, models and the store of answers.

The fixtures of the pytest plugin and `eyechart.evaluate` both work through a `Session`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Self

from eyechart.data.dataset.blanks import blank_out
from eyechart.data.dataset.dataset import Dataset, LabelSet, SliceVariable
from eyechart.data.dataset.limits import Limit
from eyechart.data.labels.label_files import ImageNames, LabelsOption, align_labels, describe_mismatches, read_labels
from eyechart.data.splits.open_split import list_splits, open_split, unknown_split_message
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import AbsentError, DataError, SpecError
from eyechart.evaluation.evaluate import PUBLISHED_WITH_DUPLICATES, Evaluate, make_label_policy, resolve_class_names
from eyechart.evaluation.settings import Case, Settings
from eyechart.gate.sequential.stop_early import SequentialTest
from eyechart.inference.engines.interface import Engine
from eyechart.inference.runner.runner import Progress, Runner
from eyechart.inference.store.copies import RemoteStore
from eyechart.inference.store.entries import Store, copy_nothing
from eyechart.models.description.description_cache import DescriptionCache
from eyechart.models.description.identity import (
    FOLDER,
    describe,
    find_descriptions,
    model_of,
    read_description,
    write_description,
)
from eyechart.models.pool import ModelPool, reads_answers
from eyechart.models.runtime.device import may_have_gpus
from eyechart.models.runtime.phases import phase
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Identity, Model
from eyechart.models.weights.digests import set_digest_folder
from eyechart.protocol.base import Predictions
from eyechart.protocol.context import Context
from eyechart.protocol.registry import get_protocol
from eyechart.results.glossary import glossary
from eyechart.statistics.accuracy import Empty

SplitName = tuple[str, str]  # benchmark and split
CACHE = f"{FOLDER}/made"  # descriptions of models that were made on this machine, in a store


class Session:
    """Opens each split and its label sets once, and makes each model once; its cases are evaluated one by one.

    It is a context manager: at the end its models are closed.

    `models` and `datasets` are those that the caller holds in memory, by the specification and the name under which
    cases request them. `worker` is the number of this worker and the count of all.

    `on_wait` is called with a message while another process writes to the store. Sessions of several
    threads may share an `engine`. `find_splits` returns the splits that there are, if the caller has listed them.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        worker: tuple[int, int] = (0, 1),
        models: Mapping[ModelSpec, Model] | None = None,
        datasets: Mapping[SplitName, Dataset] | None = None,
        on_wait: Callable[[str], None] = lambda _: None,
        engine: Engine | None = None,
        find_splits: Callable[[], Iterable[SplitRef]] | None = None,
    ) -> None:
        self.settings = settings
        self._engine, self._worker = engine, worker
        self._find_splits = find_splits or partial(list_splits, settings.data, offline=settings.offline)
        self.models = ModelPool(
            offline=settings.offline,
            worker=worker[0],
            in_memory=models or {},
            on_close=self._end_processes,
            make=self.make_described if settings.answer_command else None,
            cache=DescriptionCache(settings.store / CACHE),
        )
        self.remote = (
            RemoteStore(settings.remote, settings.store, settings.offline, on_wait) if settings.remote else None
        )
        copy_entry = self.remote.copy_entry if self.remote else copy_nothing
        self.store = Store(settings.store, on_wait, settings.answer_command, copy_entry)
        self._whole_splits: dict[SplitName, Dataset] = dict(datasets or {})
        self._splits: dict[tuple[str, str, Limit], Dataset] = {}
        self._described: dict[ModelSpec, list[Model]] = {}
        self._attributes: dict[tuple[str, str, Limit], tuple[SliceVariable, ...]] = {}
        self._label_sets: dict[tuple[str, str, tuple[int, ...]], list[LabelSet]] = {}

    def __enter__(self) -> Self:
        """Keep the digests of weight files in the store."""
        set_digest_folder(self.settings.store / "weights")
        return self

    def __exit__(self, *error: object) -> None:
        """Close the models."""
        self.models.close()
        if self._engine:
            self._engine.close()
        set_digest_folder(None)
        _ignore_in_git(self.settings.store)

    def get_engine(self) -> Engine:
        """Return the engine for what is not in the store; it is made when it is first needed."""
        if self._engine is None:
            self._engine = make_engine(self.settings, self._worker)
        return self._engine

    def _end_processes(self, model: Model) -> None:
        if self._engine:
            self._engine.release(model)

    @cached_property
    def _known_splits(self) -> Mapping[str, SplitRef]:
        return {str(ref): ref for ref in self._find_splits()}

    @property
    def _index_cache(self) -> Path:
        return self.settings.store / "index"

    def open_whole_split(self, benchmark: str, split: str) -> Dataset:
        """Return a whole split, validated. Raises AbsentError if it is missing."""
        if (benchmark, split) not in self._whole_splits:
            name = f"{benchmark}/{split}".removeprefix("/")
            ref = self._known_splits.get(name)
            missing = unknown_split_message(name, self._known_splits.values()) if ref is None else ref.missing
            if ref is None or missing:
                raise AbsentError(missing)
            with phase("open"):
                self._whole_splits[benchmark, split] = open_split(
                    ref, cache=self._index_cache, offline=self.settings.offline
                )
        return self._whole_splits[benchmark, split]

    def open_split(self, benchmark: str, split: str, protocol: str = "") -> Dataset:
        """Return the images of a split under the limit of the settings, which a protocol may have its own.

        Raises AbsentError if the split is missing.
        """
        limit = self.settings.for_protocol(protocol).limit
        if (benchmark, split, limit) not in self._splits:
            whole = self.open_whole_split(benchmark, split)
            self._splits[benchmark, split, limit] = whole.subsample(limit, self.settings.seed)
        return self._splits[benchmark, split, limit]

    def _add_attributes(self, dataset: Dataset, limit: Limit) -> Dataset:
        """Return a data set with the attributes of its images as slices; they are measured once for all cases."""
        from eyechart.data.attributes.attribute_slices import add_attributes  # with Pillow, which few sessions need

        name = (dataset.benchmark, dataset.split, limit)
        if name not in self._attributes:
            with phase("open"):
                self._attributes[name] = add_attributes(dataset, self._index_cache).slices
        return replace(dataset, slices=self._attributes[name])

    def load_label_sets(self, dataset: Dataset) -> list[LabelSet]:
        """Return every label set of a split: its own, then those of the settings.

        Raises AbsentError for one that does not fit the split if the settings are strict.
        """
        name = (dataset.benchmark, dataset.split, tuple(dataset.selected))
        if name not in self._label_sets:  # reading a large file takes seconds
            empty = self.settings.empty
            _check_label_names(dataset, [option.name for option in self.settings.labels])
            label_sets = [*dataset.select_label_sets(empty)]
            if self.settings.labels:
                images = ImageNames(dataset.index)
                with phase("open"):
                    label_sets += [_read_label_set(option, dataset, images, empty) for option in self.settings.labels]
            self._label_sets[name] = label_sets
        label_sets = self._label_sets[name]
        if self.settings.strict and (notes := [note for labels in label_sets for note in labels.notes]):
            raise AbsentError(f"{'; '.join(notes)}. Correct the names, or leave out --eye-strict.")
        return label_sets

    def make_described(self, spec: ModelSpec) -> Model:
        """Return a model that is known by its last description in the store."""
        return self.described_models(spec)[0]

    def described_models(self, spec: ModelSpec) -> list[Model]:
        """Return the models with a specification that are known by descriptions in the store, the last one first."""
        if spec not in self._described:
            if self.remote and not self._described:
                self.remote.copy_models()
            descriptions = find_descriptions(self.settings.store, spec, self.settings.answer_command)
            self._described[spec] = [*map(model_of, descriptions)]
        return self._described[spec]

    def is_described(self, spec: ModelSpec) -> bool:
        """Return whether a model of this session is known by its descriptions alone."""
        return bool(self.settings.answer_command) and not (spec in self.models.in_memory or reads_answers(spec))

    def describe_models(self, models: Sequence[Model], answered: bool) -> Identity:
        """Write the descriptions of models into the store, and return the identity of the first one where it answered.

        That of a model that did not answer now is as the store has it: its answers may be from another device.
        """
        identity, *_ = [self.describe_model(model, answered) for model in models]
        return identity

    def describe_model(self, model: Model, answered: bool) -> Identity:
        """Write the description of a model, unless it is one of the caller's or a file; return its identity."""
        spec = model.made_from
        if self.settings.answer_command or spec is None or reads_answers(spec):
            return model.identity
        if self.models.cache:
            self.models.cache.keep(model)
        stored = read_description(self.settings.store, spec, model.identity, model.owner)
        if stored:
            model.late_files |= {*stored.late_files}
        if stored and not answered and model.late_files == {*stored.late_files}:
            return stored.identity
        with suppress(OSError):  # a store that is only read
            write_description(self.settings.store, describe(model))
        return model.remote_identity or model.identity

    def evaluate(
        self, case: Case, run: Path, progress: Progress, test: SequentialTest | None = None
    ) -> Evaluate[Predictions]:
        """Return the function that computes metrics of a case; it makes the model when it is called first.

        With a `test` it asks in blocks until the test decides.
        """
        make_contexts = partial(self.make_contexts, case, progress)
        protocol = get_protocol(case.protocol)
        settings = self.settings.for_protocol(case.protocol)
        return Evaluate(case, settings, protocol, make_contexts, run, self.models.new_weight_loads, test)

    def make_contexts(self, case: Case, progress: Progress, block: int | None = None) -> Iterator[Context]:
        """Yield the context of a case's protocol, with the model in memory; `block` is the limit of a growing case.

        A session that only scores yields one for each model that may have answered, the last one first.
        """
        models = self.described_models(case.model) if self.is_described(case.model) else [self.models[case.model]]
        for model in models:
            yield self.make_context(case, model, progress, block)

    def make_context(self, case: Case, model: Model, progress: Progress, block: int | None = None) -> Context:
        """Return the context of a case's protocol with a model."""
        settings = self.settings.for_protocol(case.protocol)
        dataset = self.open_split(case.benchmark, case.split, case.protocol)
        label_sets = self.load_label_sets(dataset)
        if settings.slices:
            dataset = self._add_attributes(dataset, settings.limit)
        if block:
            dataset = dataset.subsample(block, settings.seed)
            label_sets = [labels.select(dataset.selected) for labels in label_sets]
        if settings.blank:
            dataset = blank_out(dataset, settings.blank)
        names, source = resolve_class_names(dataset, settings.names)
        models = [model]

        def get_model(text: str) -> Model:
            models.append(self.models.get_model(text))
            return models[-1]

        return Context(
            runner=Runner(
                self.store,
                block or settings.limit,
                settings.seed,
                progress,
                self.get_engine,
                in_blocks=block is not None,
            ),
            model=model,
            dataset=dataset,
            raw_names=names,
            names_source=source,
            options=case.options,
            protocol=case.protocol,
            label_sets=label_sets,
            get_model=get_model,
            release_model=self.models.release_model,
            open_split=partial(self.open_split, protocol=case.protocol),
            open_whole_split=self.open_whole_split,
            describe_models=partial(self.describe_models, models),
            spec=str(case.model),
            templates=settings.templates,
            label_policy=make_label_policy(settings, dataset),
            positive=settings.positive,
            cluster=settings.cluster,
            threshold_context=partial(self._threshold_context, case, model, progress, dataset)
            if settings.threshold_from and dataset.classes == 2
            else None,
            duplicate_names=settings.names in PUBLISHED_WITH_DUPLICATES,
        )

    def _threshold_context(self, case: Case, model: Model, progress: Progress, dataset: Dataset) -> Context:
        """Return the context of a case on the split of `--eye-threshold-from`. Raises SpecError for one of no use."""
        name = self.settings.threshold_from
        problem = ""
        if not self.settings.positive:
            problem = "no class is positive. Name it with --eye-positive"
        elif name == case.whole_split:
            problem = "that is the evaluated split. Name another one, or choose other cases with -k"
        if not problem:
            benchmark, _, split = name.rpartition("/")
            there = replace(case, benchmark=benchmark, split=split)
            context = replace(self.make_context(there, model, progress), cluster="")
            if context.dataset.classes == 2 and {*context.dataset.names} == {*dataset.names}:
                return context
            problem = (
                f"its classes are not those of {case.whole_split}, {' and '.join(dataset.names) or 'without names'}. "
                "Name a split of the same two classes"
            )
        raise SpecError(f"--eye-threshold-from is '{name}', and {problem}.")


def make_engine(settings: Settings, worker: tuple[int, int] = (0, 1)) -> Engine:
    """Return the engine for what is not in the store; `worker` is the index of this process and their number.

    Models answer in this process where there is no cluster, no GPU, and no number of processes was chosen.
    """
    if not settings.ray and not settings.devices and not may_have_gpus():
        from eyechart.inference.engines.local import LocalEngine

        return LocalEngine()
    from eyechart.inference.engines.pools import PoolEngine

    if settings.ray:
        from eyechart.inference.engines.ray.cluster_pool import RayOptions, RayPools

        return PoolEngine(RayPools(RayOptions(settings.ray, settings.ray_actors, settings.ray_gpus, settings.offline)))
    from eyechart.inference.engines.processes.process_pool import LocalPools

    return PoolEngine(LocalPools(settings.devices, settings.offline, worker))


def _ignore_in_git(store: Path) -> None:
    """Add a `.gitignore` to a folder of stored answers, so that they do not enter a user's repository."""
    path = store / ".gitignore"
    if store.is_dir() and not path.exists():
        with suppress(OSError):  # a store that is only read
            path.write_text("*\n", encoding="utf-8")


def _check_label_names(dataset: Dataset, names: Sequence[str]) -> None:
    """Raise DataError for the name of a label file that another label set of the split has, or a subset of images."""
    own, subsets = [*dataset.label_sets], glossary().subsets
    for index, name in enumerate(names):
        if name in subsets:
            raise DataError(
                f"--eye-labels={name}=FILE: '{name}' is the name of a subset ({subsets[name].rstrip('.')}), so that a "
                f"metric of '{name}' could be of either. Give the file another name."
            )
        if name in (*own, *names[:index]):
            raise DataError(
                f"--eye-labels={name}=FILE: {dataset.benchmark}/{dataset.split} has a label set '{name}' already, "
                f"{'its own' if name in own else 'from another file'}. Give the file another name."
            )


def _read_label_set(option: LabelsOption, dataset: Dataset, images: ImageNames, empty: Empty | None) -> LabelSet:
    """Return the label set of a file for the selected rows; `empty` is its policy for images without labels."""
    labels = read_labels(option.path, option.format, classes=dataset.classes)
    label_set = align_labels(labels, images, option.name, option.empty or empty or "correct", dataset.rows or None)
    return replace(label_set, notes=describe_mismatches(labels, images))
