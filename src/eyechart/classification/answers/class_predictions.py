"""Predictions of classification protocols, their comparison with label sets, and their sample table."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.answers.image_answers import (
    TOP,
    BestClasses,
    TextPredictions,
    format_classes,
    format_outcomes,
    format_scores,
    join_texts,
)
from eyechart.classification.answers.out_of_prompt import out_of_prompt_note
from eyechart.classification.answers.reliability_curves import reliability_rows, threshold_rows
from eyechart.data.dataset.dataset import Dataset, LabelSet
from eyechart.data.labels.equivalences import LabelPolicy
from eyechart.errors import ModelError
from eyechart.evaluation.case_result import make_usage_record
from eyechart.inference.store.arrays import CachedArray, all_failed
from eyechart.models.types import Floats, Usage
from eyechart.protocol.base import Predictions, Rows, truncation_note, with_key
from eyechart.protocol.context import Context
from eyechart.results.records import LABELLED, WHOLE, OutcomeCounts, UsageRecord
from eyechart.results.sample_table import SHARED_COLUMNS
from eyechart.statistics.accuracy import correctness
from eyechart.statistics.categories import FINEST, MULTI_LABEL, NO_LABEL, SINGLE_LABEL, label_categories
from eyechart.statistics.equivalence import equivalence_groups, expand_labels
from eyechart.statistics.intervals import wilson
from eyechart.statistics.recall import per_class_recall, single_label
from eyechart.statistics.softmax import SoftmaxSums, softmax_sums

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Column = Iterable[Any]  # a cell for each image
Float64s = NDArray[np.float64]
NO_SCORES: Floats = np.zeros((0, 0), np.float32)  # of predictions that have others


@dataclass(frozen=True)
class Targets:
    """What predictions are compared with: label sets, the original label of each image (n,), and the policy.

    `names` are the class names of the case, () if the classes have none. `positive` is the class of a split of two
    classes that sensitivity is about, None if none is named. `clusters` (n,) are those of the images, such as patients,
    by a column of slices.csv, None where every image is its own. `tuning` are the predictions of the same model on the
    split that thresholds are chosen on, and `threshold_from` is its name.
    """

    label_sets: tuple[LabelSet, ...] = ()
    original: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    policy: LabelPolicy = field(default_factory=LabelPolicy)
    classes: int = 0
    seed: int = 0
    names: tuple[str, ...] = ()
    positive: int | None = None
    clusters: Ints | None = None
    cluster_column: str = ""
    tuning: "ClassPredictions | None" = field(default=None, repr=False, compare=False)
    threshold_from: str = ""

    @classmethod
    def from_context(cls, context: Context) -> "Targets":
        """Return the targets of a case. Raises VocabularyError for names in another order than the data set's."""
        original = np.array(context.labels, np.int64)
        return cls(
            tuple(context.label_sets),
            original,
            context.label_policy,
            context.dataset.classes,
            context.runner.seed,
            context.names_by_class,
            context.positive_class,
            context.clusters,
            context.cluster,
        )

    @cached_property
    def class_texts(self) -> tuple[str, ...]:
        """The name of each class, with its index if several classes have the name; () if the classes have none."""
        counts = Counter(self.names)
        return tuple(f"{name} ({index})" if counts[name] > 1 else name for index, name in enumerate(self.names))

    def class_text(self, index: int) -> str:
        """Return the name of a class, or its index if the classes have no names."""
        return self.class_texts[index] if self.class_texts else str(index)

    @cached_property
    def variant(self) -> dict[str, str]:
        """The settings of the policy, as the record stores them."""
        empty = ", ".join(f"{labels.name}={labels.empty}" for labels in self.label_sets)
        strict = "strict" if self.policy.strict_categories else "equivalent"
        positive = {} if self.positive is None else {"positive": self.class_text(self.positive)}
        cluster = {"cluster": self.cluster_column} if self.cluster_column else {}
        source = {"threshold_from": self.threshold_from} if self.threshold_from else {}
        return {
            "equivalences": self.policy.source,
            "categories": strict,
            "empty": empty,
            **positive,
            **cluster,
            **source,
        }

    def count_clusters(self, counted: Bools) -> int:
        """Return the number of clusters with an image of a mask (n,)."""
        return int(counted.sum()) if self.clusters is None else len(np.unique(self.clusters[counted]))


class Classification(Predictions):
    """Predicted classes of one or several epochs, with their targets."""

    targets: Targets

    @property
    @abstractmethod
    def epochs(self) -> "tuple[ClassPredictions, ...]":
        """The predictions of each epoch."""

    @abstractmethod
    def name_of(self, metric: str) -> str:
        """Return the name of a metric, "" if it is not computed: over several epochs it is a mean."""

    @cached_property
    def scores_by_labels(self) -> "tuple[tuple[ScoredLabels, ...], ...]":
        """The scores of every epoch under each label set."""
        return tuple(
            tuple(ScoredLabels.score(predictions, labels, self.targets) for predictions in self.epochs)
            for labels in self.targets.label_sets
        )

    def clusters(self) -> Ints | None:
        """Return the cluster of each image (n,), None where every image is its own."""
        return self.targets.clusters

    def label_hashes(self) -> dict[str, str]:
        """Return the sha256 of each label set."""
        return {labels.name: labels.sha256 for labels in self.targets.label_sets}

    def full_variant(self) -> dict[str, str]:
        """Return the options of the protocol and the label policy."""
        return {**self.epochs[0].variant, **self.targets.variant}

    def error_messages(self) -> list[str]:
        """Return the errors of all epochs."""
        return [with_key(epoch.keys[row], error) for epoch in self.epochs for row, error in epoch.errors.items()]

    def describe_count(self) -> str:
        """Return the number of requested answers with its unit."""
        count = sum(len(epoch.keys) - len(epoch.skipped) for epoch in self.epochs)
        return f"{count} {'images' if isinstance(self, ClassPredictions) else 'answers'}"

    def answered_images(self) -> Float64s:
        """Return whether each image was answered in all epochs that requested it."""
        answered = [np.where(epoch.mask(epoch.skipped), np.nan, epoch.answered) for epoch in self.epochs]
        return np.asarray(np.fmin.reduce(answered), np.float64)

    def count_outcomes(self) -> OutcomeCounts:
        """Return the number of answers of each outcome under the first label set, over all epochs."""
        first = self.scores_by_labels[0] if self.scores_by_labels else ()
        counts = [scored.count_outcomes(epoch) for scored, epoch in zip(first, self.epochs, strict=bool(first))]
        names = OutcomeCounts.__struct_fields__
        return OutcomeCounts(**{name: sum(getattr(count, name) for count in counts) for name in names})

    def usage_record(self) -> UsageRecord | None:
        """Return requests, tokens and cost of text answers, None for other answers."""
        texts = [epoch.texts for epoch in self.epochs if epoch.texts is not None]
        if not texts:
            return None
        usage = sum((predictions.usage for predictions in texts), Usage())
        costs = [predictions.cost for predictions in texts if predictions.cost is not None]
        requests = sum(predictions.n_requests for predictions in texts)
        return make_usage_record(requests, usage, sum(costs) if costs else None)

    def notes(self) -> Iterator[str]:
        """Yield the numbers of unparsed and truncated answers, and notes of the engine."""
        cut = sum(len(epoch.truncated) for epoch in self.epochs)
        if unparsed := sum(len(epoch.unparsed) for epoch in self.epochs) - cut:
            yield f"{unparsed} of {self.describe_count()} got an answer that could not be parsed."
        yield from truncation_note(cut, self.describe_count())
        yield from out_of_prompt_note(self.epochs)
        for epoch in self.epochs:
            yield from epoch.rank_notes()
        yield from self.epochs[0].batch_notes

    def data_notes(self) -> Iterator[str]:
        """Yield the notes of the label sets."""
        yield from (str(note) for labels in self.targets.label_sets for note in labels.notes)

    def samples(self) -> Rows:
        """Yield a row per image: the five best classes with their scores, and the outcome under each label set."""
        first, repeated = self.epochs[0], not isinstance(self, ClassPredictions)
        tops = [f"{what}{rank}" for what in ("top", "score") for rank in range(1, TOP + 1)]
        names = [labels.name for labels in self.targets.label_sets]
        truths = [f"{name}.{what}" for name in names for what in ("labels", "category", "correct")]
        words = [*first.texts.columns(), "truncated"] if first.texts else []
        yield [*SHARED_COLUMNS, *(["epoch"] if repeated else []), "label", *tops, *words, *truths]
        for number, epoch in enumerate(self.epochs):
            scored = [by_epoch[number] for by_epoch in self.scores_by_labels]
            columns = _shared_columns(epoch, self.targets, scored)
            columns += [[number] * len(epoch.keys)] if repeated else []
            columns += _further_columns(epoch, self.targets, scored)
            yield from map(list, zip(*columns, strict=True))


@dataclass(frozen=True)
class ClassPredictions(Classification):
    """Predictions of one epoch: scores (n, classes), with NaN in rows without an answer, and the errors.

    Text answers have scores of width 0 and one class per image in `texts`. Replayed answers have scores of width 0 too,
    and `best`. Rows in `truncated` are rows of `unparsed` whose response ended at the token limit before the answer was
    complete. Rows in `skipped` are not evaluated, such as images without a label in multiple choice. Scores are
    `calibrated` if they are logits or log-probabilities, whose softmax is a confidence. Other scores are
    multiplied with `scale` before the softmax, None if this is no probability; `votes` are proportional to
    probabilities.
    """

    keys: tuple[str, ...]
    scores: Floats
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    unparsed: frozenset[int] = frozenset()
    skipped: frozenset[int] = frozenset()
    texts: TextPredictions | None = None
    truncated: frozenset[int] = frozenset()
    batch_notes: tuple[str, ...] = ()
    targets: Targets = Targets()
    calibrated: bool = False
    scale: float | None = None
    votes: bool = False
    best: BestClasses | None = None

    @property
    def epochs(self) -> "tuple[ClassPredictions, ...]":
        """These predictions, the only epoch."""
        return (self,)

    def with_thresholds(self, predict_other: Callable[[], Predictions], source: str) -> Predictions:
        """Return these predictions with those of the split that thresholds are chosen on, if they have scores."""
        if not self.scores.shape[1]:
            return self
        other = cast("ClassPredictions", predict_other())
        return replace(self, targets=replace(self.targets, tuning=other, threshold_from=source))

    def name_of(self, metric: str) -> str:
        """Return the metric's own name."""
        return metric

    @cached_property
    def answered(self) -> Bools:
        """The mask of rows that were requested and did not end in an error."""
        return ~self.mask([*self.errors, *self.skipped])

    @cached_property
    def top(self) -> Ints:
        """The five best classes of each row (n, 5), best first, -1 for none."""
        if self.texts is not None and self.best is None:
            ranked = self.texts.classes[:, None] if self.texts.ranked is None else self.texts.ranked[:, :TOP]
            top = BestClasses.fill(len(self.keys)).classes
            top[:, : ranked.shape[1]] = np.where(self.answered[:, None], np.maximum(ranked, -1), -1)
            return top
        return np.where((self.answered & ~self.mask(self.unparsed))[:, None], self.best_classes.classes, -1)

    @cached_property
    def ranks(self) -> Ints:
        """The number of classes, or of names in text, that each answer ranks (n,), at most five."""
        names = self.texts.ranks if self.texts is not None and self.best is None else None
        return np.asarray((self.top >= 0).sum(axis=1) if names is None else names * self.answered)

    @cached_property
    def has_top5(self) -> bool:
        """Whether five classes are ranked: by scores, by a protocol that asks for it, or by some answer of a file."""
        if self.texts is not None and self.best is None:
            return self.texts.ranked is not None and self.targets.classes >= TOP
        most = self.ranks.max(initial=0)
        return bool(most == TOP or (most > 1 and not self.scores.shape[1] and self.targets.classes >= TOP))

    def rank_notes(self) -> Iterator[str]:
        """Yield what a reader of `acc5` needs to know of ranked answers that are fewer than five."""
        named = self.ranks[self.ranks > 0]
        fewer = int((named < TOP).sum())
        if fewer and self.has_top5:
            yield f"{fewer:,} of {len(named):,} answers have fewer than five ranks: acc5 counts those that are there."
        elif fewer and self.best is not None and named.max() == 1 and self.targets.classes >= TOP:
            yield f"{fewer:,} of {len(named):,} answers name one class: acc5 needs several ranked classes."

    @cached_property
    def best_classes(self) -> BestClasses:
        """The five best classes by score; none for text answers."""
        if self.best is not None:
            return self.best
        return BestClasses.of_scores(self.scores) if self.scores.shape[1] else BestClasses.fill(len(self.keys))

    @cached_property
    def confidences(self) -> Float64s | None:
        """The probability of each image's best class (n,), None if scores are not logits."""
        return self.softmax_sums.top if self.calibrated and self.scores.shape[1] else None

    @cached_property
    def softmax_sums(self) -> SoftmaxSums:
        """The sums of the softmax of each row of `logits`, or of the scores if these are no logits."""
        return softmax_sums(self.scores if self.logits is None else self.logits)

    @cached_property
    def logits(self) -> Floats | None:
        """The logits (n, classes) of the predicted probabilities, None if scores are no probabilities."""
        if self.calibrated:
            return self.scores if self.scores.shape[1] else None
        if self.votes:
            with np.errstate(divide="ignore"):
                logits: Floats = np.log(np.maximum(self.scores, 0))  # a class without votes has -inf
            return logits
        return None if self.scale is None else self.scores * np.float32(self.scale)

    def mask(self, rows: Iterable[int]) -> Bools:
        """Return rows as a mask (n,)."""
        mask = np.zeros(len(self.keys), bool)
        mask[list(rows)] = True
        return mask

    def files(self) -> dict[str, Rows]:
        """Return the recall of every class, and for logits the calibration of confidences."""
        scored = [by_epoch[0] for by_epoch in self.scores_by_labels]
        tables: dict[str, Rows] = {"recall": _recall_rows(scored, self.targets.classes)}
        if self.calibrated:
            correct = {scored_labels.labels.name: scored_labels.correct for scored_labels in scored}
            sure = self.softmax_sums.top
            tables |= {"reliability": reliability_rows(sure, correct), "thresholds": threshold_rows(sure, correct)}
        return tables


@dataclass(frozen=True)
class EpochPredictions(Classification):
    """Predictions of several epochs of the same images; `renamed` names the averaged metrics: {"acc1": "mc_acc"}."""

    by_epoch: tuple[ClassPredictions, ...]
    renamed: Mapping[str, str]
    targets: Targets = Targets()

    @property
    def epochs(self) -> tuple[ClassPredictions, ...]:
        """The epochs."""
        return self.by_epoch

    @property
    def keys(self) -> tuple[str, ...]:  # type: ignore[override]
        """The keys of the images."""
        return self.by_epoch[0].keys

    def name_of(self, metric: str) -> str:
        """Return the name of the mean over epochs, "" for a metric that is not averaged."""
        return self.renamed.get(metric, "")


@dataclass(frozen=True)
class ScoredLabels:
    """Predictions under one label set: for each image (n,) 1 if correct, 0 if wrong, NaN if not scored.

    `admissible` (n, L) are the labels with their equivalent classes, padded with -1. `correct5` is about the five best
    classes, or the ranked answers that there are, and `strict` about the strict parser; each is None if not available.
    `categories` are masks of images, from "all" to the finest, and `reported` those with their own metrics.
    `groups` (classes,) are the equivalence groups by which labels count as one, None if they do not.
    """

    labels: LabelSet
    admissible: Ints
    correct: Float64s
    correct5: Float64s | None
    strict: Float64s | None
    categories: Mapping[str, Bools]
    reported: tuple[str, ...]
    groups: Ints | None

    @classmethod
    def score(cls, predictions: ClassPredictions, labels: LabelSet, targets: Targets) -> "ScoredLabels":
        """Return the scores of predictions under a label set."""
        policy, classes, top = targets.policy, targets.classes, predictions.top
        admissible = expand_labels(labels.labels, policy.pairs, classes, strict=policy.strict_pairs)

        def scored(top: Ints, k: int = 1) -> Float64s:
            answered = predictions.answered
            return correctness(top, admissible, labels.annotated, k=k, empty=labels.empty, answered=answered)

        chained = None if policy.strict_categories else equivalence_groups(policy.pairs, classes)
        masks = label_categories(targets.original, labels.labels, labels.annotated, chained)
        finer = () if labels.original else tuple(name for name in masks if name != WHOLE)
        return cls(
            labels=labels,
            admissible=admissible,
            correct=scored(top),
            correct5=scored(top, TOP) if predictions.has_top5 else None,
            strict=None if predictions.texts is None else scored(predictions.texts.strict_classes[:, None]),
            categories={**masks, LABELLED: masks[SINGLE_LABEL] | masks[MULTI_LABEL]},
            reported=finer,
            groups=chained,
        )

    @cached_property
    def single_labels(self) -> Ints:
        """The class of each image (n,) with a single label, the smallest of equivalent ones, -1 for other images."""
        return np.where(self.labels.annotated, single_label(self.labels.labels, self.groups), -1)

    @property
    def counts_empty(self) -> bool:
        """Whether images without a label count, as correct or as wrong, and there are any."""
        return self.labels.empty != "exclude" and bool(self.categories[NO_LABEL].any())

    @cached_property
    def finest_categories(self) -> list[str]:
        """The finest category of each image, "" for one that the label set does not annotate."""
        codes = np.select([self.categories[name] for name in FINEST], range(len(FINEST)), -1)
        finest: list[str] = np.array([*FINEST, ""], object)[codes].tolist()  # the same text objects for all images
        return finest

    def count_outcomes(self, predictions: ClassPredictions) -> OutcomeCounts:
        """Return the number of images of each outcome; unparsed and truncated answers are counted separately."""
        cut = predictions.mask(predictions.truncated)
        unparsed = predictions.mask(predictions.unparsed) & ~cut
        return OutcomeCounts(
            correct=int((self.correct == 1).sum()),
            wrong=int(((self.correct == 0) & ~unparsed & ~cut).sum()),
            unparsed=int(((self.correct == 0) & unparsed).sum()),
            error=len(predictions.errors),
            truncated=int(((self.correct == 0) & cut).sum()),
        )


def make_predictions(
    dataset: Dataset, scores: Floats, kept: CachedArray, variant: Mapping[str, str]
) -> ClassPredictions:
    """Return predictions of scores (n, classes) within the class subset. Raises ModelError for another width."""
    if all_failed(kept):
        scores = np.full((len(dataset), dataset.classes), np.nan, np.float32)
    if scores.shape[1] != dataset.classes:
        raise ModelError(
            f"The model answers over {scores.shape[1]} classes, but {dataset.benchmark}/{dataset.split} has "
            f"{dataset.classes}. Use a model with the split's own vocabulary."
        )
    if dataset.subset:
        allowed = np.zeros(dataset.classes, bool)
        allowed[list(dataset.subset)] = True
        scores = np.where(allowed, scores, -np.inf).astype(np.float32)
    return ClassPredictions(dataset.keys, scores, kept.errors, variant, batch_notes=kept.notes)


def _shared_columns(epoch: ClassPredictions, targets: Targets, scored: Sequence[ScoredLabels]) -> list[Column]:
    """Return the shared columns of one epoch (`sample_table.SHARED_COLUMNS`), under the first label set."""
    blank, first = [""] * len(epoch.keys), scored[0] if scored else None
    errors = [epoch.errors.get(row, "") for row in range(len(epoch.keys))]
    return [
        epoch.keys,
        join_texts(first.labels.labels, targets.class_text, "; ") if first else blank,
        format_classes(epoch.top[:, 0], targets.class_text),
        format_outcomes(first.correct) if first else blank,
        first.finest_categories if first and first.reported else blank,
        errors,
    ]


def _further_columns(epoch: ClassPredictions, targets: Targets, scored: Sequence[ScoredLabels]) -> list[Column]:
    """Return the further columns of one epoch: label, best classes and their scores, words, and each label set."""
    words: list[Column] = [*epoch.texts.columns().values()] if epoch.texts else []
    if epoch.texts:
        words.append([str(int(cut)) for cut in epoch.mask(epoch.truncated).tolist()])
    ranked = np.full_like(epoch.top, -1) if epoch.texts else epoch.top  # words have no scores
    return [
        format_classes(targets.original),
        *(format_classes(epoch.top[:, rank]) for rank in range(TOP)),
        *(format_scores(epoch.best_classes.scores[:, rank], ranked[:, rank]) for rank in range(TOP)),
        *words,
        *(column for scored_labels in scored for column in _label_columns(scored_labels)),
    ]


def _label_columns(scored: ScoredLabels) -> Iterator[Column]:
    """Yield the columns of a label set, a cell per image: labels, finest category, and 1, 0 or nothing."""
    yield join_texts(scored.labels.labels, str, ";")
    yield scored.finest_categories
    yield format_outcomes(scored.correct)


def _recall_rows(scored: Iterable[ScoredLabels], classes: int) -> Rows:
    """Yield every class under each label set: images with that one label, recall and interval."""
    yield ["labels", "class", "n", "recall", "ci_low", "ci_high"]
    for scored_labels in scored:
        recall = per_class_recall(scored_labels.correct, scored_labels.single_labels, classes)
        for index in np.flatnonzero(recall.counts).tolist():
            value, n = float(recall.values[index]), int(recall.counts[index])
            low, high = wilson(round(value * n), n)
            yield [scored_labels.labels.name, index, n, f"{value:.6f}", f"{low:.6f}", f"{high:.6f}"]
