"""From kept answers to numbers: every metric of a case, under each label set. No model is asked here."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.out_of_prompt import KINDS
from eyechart.classification.text_predictions import Spoken
from eyechart.data.dataset import ORIGINAL, Dataset
from eyechart.data.labels import LabelSet
from eyechart.errors import ModelError
from eyechart.estimates import Estimate
from eyechart.gate.evidence import TIMES
from eyechart.gate.headlines import LABELLED
from eyechart.inference.arrays import Answers, nothing
from eyechart.metrics.accuracy import accuracy as share
from eyechart.metrics.accuracy import jointly, outcomes, top_k
from eyechart.metrics.categories import categories
from eyechart.metrics.clusters import effective_number
from eyechart.metrics.equivalence import expand, groups
from eyechart.metrics.intervals import Interval, effective_wilson, stratified, t_interval, wilson
from eyechart.metrics.recall import mean_per_class_recall, mean_per_class_recall_draws, single_label
from eyechart.metrics.resampling import drawn, drawn_shares
from eyechart.models.types import Floats
from eyechart.records import Outcomes

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Float64s = NDArray[np.float64]
Drawn = Callable[[], Iterable[Ints]]  # how often each sample is taken, resample by resample
TOP = 5


@dataclass(frozen=True)
class Predictions:
    """A model's answers to a split: scores of shape (n, classes), NaN rows where there is none, and why.

    Answers in words have no scores, a width of 0, and one class an image in `spoken`.

    Rows in `truncated` are those of `unparsed` whose reply ended at the token limit before it answered.

    Rows in `unasked` are no part of the question, as images without a label are for a choice among options.
    """

    keys: tuple[str, ...]
    scores: Floats
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    unparsed: frozenset[int] = frozenset()
    unasked: frozenset[int] = frozenset()
    spoken: Spoken | None = None
    truncated: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()

    @cached_property
    def answered(self) -> Bools:
        """Which rows were asked about and did not end in an error."""
        return ~self.among([*self.errors, *self.unasked])

    @cached_property
    def top(self) -> Ints:
        """The five best classes of each row, best first; -1 where no class was answered, or there are fewer."""
        top = np.full((len(self.keys), TOP), -1, np.int64)
        if self.spoken is not None:
            top[:, 0] = np.where(self.answered, self.spoken.found, -1)
            return top
        read = self.answered & ~self.among(self.unparsed)
        if read.any():
            best = top_k(self.scores[read], min(TOP, self.scores.shape[1]))
            ruled_out = np.isneginf(np.take_along_axis(self.scores[read], best, axis=1))
            top[read, : best.shape[1]] = np.where(ruled_out, -1, best)
        return top

    def among(self, rows: Iterable[int]) -> Bools:
        """The rows as a mask."""
        mask = np.zeros(len(self.keys), bool)
        mask[list(rows)] = True
        return mask


@dataclass(frozen=True)
class Rules:
    """How labels are read: the equivalent pairs, whether they chain, and how categories are told."""

    pairs: Sequence[tuple[int, int]]
    strict_pairs: bool = False
    strict_categories: bool = False


@dataclass(frozen=True)
class Scored:
    """Predictions under one label set: the estimates, and for each image right (1), wrong (0) or unscored (NaN)."""

    labels: LabelSet
    correct: Float64s
    categories: Mapping[str, Bools]
    estimates: tuple[Estimate, ...]

    def outcomes(self, predictions: Predictions) -> Outcomes:
        """Count what became of the images; an answer that no class was read from counts as wrong, and apart."""
        cut = predictions.among(predictions.truncated)
        unread = predictions.among(predictions.unparsed) & ~cut
        return Outcomes(
            correct=int((self.correct == 1).sum()),
            wrong=int(((self.correct == 0) & ~unread & ~cut).sum()),
            unparsed=int(((self.correct == 0) & unread).sum()),
            error=len(predictions.errors),
            truncated=int(((self.correct == 0) & cut).sum()),
        )


def score(
    predictions: Predictions, labels: LabelSet, original: Ints, rules: Rules, classes: int, *, seed: int = 0
) -> Scored:
    """Score under one ground truth: acc1, acc5, mean per-class recall, and acc1 by category.

    Where images without a label are counted, each accuracy comes a second time, over the images with a label. acc5 is
    left out where no image has five ranked classes.
    """
    admissible = expand(labels.labels, rules.pairs, classes, strict=rules.strict_pairs)
    correct, correct5 = (
        outcomes(predictions.top, admissible, labels.annotated, k=k, empty=labels.empty, answered=predictions.answered)
        for k in (1, 5)
    )
    chained = None if rules.strict_categories else groups(rules.pairs, classes)
    masks = categories(original, labels.labels, labels.annotated, chained)
    counted = {"acc1": correct}
    if (predictions.top[:, TOP - 1] >= 0).any():
        counted["acc5"] = correct5
    if predictions.spoken is not None:
        counted["acc1_strict"] = outcomes(
            predictions.spoken.strict[:, None],
            admissible,
            labels.annotated,
            empty=labels.empty,
            answered=predictions.answered,
        )
    estimates = [accuracy(name, labels.name, found) for name, found in counted.items()]
    recall = mean_recall(labels, correct, classes, partial(drawn, len(correct), TIMES, seed))
    estimates.insert(len(counted) - ("acc1_strict" in counted), recall)
    finer = [] if labels.name == ORIGINAL else [category for category in masks if category != "A"]
    masks = {**masks, LABELLED: masks["S"] | masks["M"]}
    if labels.empty != "exclude" and masks["N"].any():
        estimates.extend(
            accuracy(name, labels.name, among(found, masks[LABELLED]), LABELLED) for name, found in counted.items()
        )
    estimates.extend(accuracy("acc1", labels.name, among(correct, masks[category]), category) for category in finer)
    for category in ["A", *finer]:
        estimates.extend(out_of_prompt(predictions, labels.name, correct, masks[category], category))
    return Scored(labels, correct, masks, tuple(estimates))


def out_of_prompt(
    predictions: Predictions, labels: str, correct: Float64s, mask: Bools, category: str
) -> Iterator[Estimate]:
    """The share of answers out of the prompt, and of which kinds they are; once mapped, how many are right."""
    spoken = predictions.spoken
    if spoken is None or spoken.out is None:
        return
    kinds = np.array(spoken.out)[mask & predictions.answered]
    outside = np.where(np.array([bool(kind) for kind in spoken.out]), correct, np.nan)[mask]
    if spoken.mapped:
        yield proportion("oop_mapped", labels, outside, category)
        return
    yield proportion("oop", labels, (kinds != "").astype(np.float64), category)
    for kind in KINDS:
        yield proportion(f"oop_{kind.lower()}", labels, (kinds[kinds != ""] == kind).astype(np.float64), category)


def out_of_prompt_outcomes(predictions: Predictions, mask: Bools) -> Float64s | None:
    """Whether each answer in a mask is out of the prompt (n,), NaN for the others; None where nobody looked."""
    spoken = predictions.spoken
    if spoken is None or spoken.out is None or spoken.mapped:
        return None
    outside = np.array([kind != "" for kind in spoken.out], np.float64)
    return np.where(mask & predictions.answered, outside, np.nan)


def accuracy(name: str, labels: str, correct: Float64s, category: str = "A") -> Estimate:
    """The share of right answers, of outcomes (n,) of 1, 0 and NaN, with Wilson's interval."""
    return replace(proportion(name, labels, correct, category), higher_is_better=True, correct=correct)


def among(outcomes: Float64s, mask: Bools) -> Float64s:
    """The outcomes (n,) of the images of a mask, NaN for the others."""
    return np.where(mask, outcomes, np.nan)


def proportion(name: str, labels: str, values: Float64s, category: str = "A") -> Estimate:
    """The share of ones among values of 1, 0 and NaN, with Wilson's interval; it has no direction."""
    known = values[~np.isnan(values)]
    hits, n = int(known.sum()), len(known)
    return Estimate(
        name=name,
        labels=labels,
        category=category,
        value=share(values) if n else None,
        n=n,
        interval=wilson(hits, n) if n else None,
        method="wilson",
    )


def mean_recall(labels: LabelSet, correct: Float64s, classes: int, samples: Drawn) -> Estimate:
    """Mean per-class recall over the images with exactly one label."""
    of_class = one_label(labels)
    kept = (of_class >= 0) & ~np.isnan(correct)
    n = int(kept.sum())
    value = mean_per_class_recall(correct[kept], of_class[kept], classes) if n else None
    interval = stratified(correct[kept], of_class[kept]) if n else None

    def bootstrap() -> Float64s:
        return mean_per_class_recall_draws(correct, of_class, classes, samples())

    return Estimate(
        name="mean_per_class_recall",
        labels=labels.name,
        category="S",
        value=value,
        n=n,
        interval=interval,
        method="stratified",
        higher_is_better=True,
        bootstrap=bootstrap,
    )


def one_label(labels: LabelSet) -> Ints:
    """The class of each image that has exactly one label, else -1."""
    return np.where(labels.annotated, single_label(labels.labels), -1)


def both(first: Scored, second: Scored) -> tuple[str, Float64s]:
    """Two label sets as one, Im∩Re: its name, and whether each image that both speak of is right under both."""
    return f"{first.labels.name}∩{second.labels.name}", jointly(first.correct, second.correct)


def as_predictions(dataset: Dataset, found: Floats, kept: Answers, variant: dict[str, str]) -> Predictions:
    """Keep to the split's class subset and name the rows without an answer."""
    if nothing(kept):
        found = np.full((len(dataset), dataset.classes), np.nan, np.float32)
    if found.shape[1] != dataset.classes:
        raise ModelError(
            f"The model answers over {found.shape[1]} classes, but {dataset.benchmark}/{dataset.split} has "
            f"{dataset.classes}. Use a model with the split's own vocabulary."
        )
    if dataset.subset:
        allowed = np.zeros(dataset.classes, bool)
        allowed[list(dataset.subset)] = True
        found = np.where(allowed, found, -np.inf).astype(np.float32)
    return Predictions(dataset.keys, found, kept.errors, variant, notes=kept.notes)


@dataclass(frozen=True)
class Repeated:
    """Predictions of R rounds about the same images; `metrics` renames what is averaged: {"acc1": "mc_acc"}."""

    rounds: tuple[Predictions, ...]
    renamed: dict[str, str]

    def averaged(self, scored: Sequence[Scored], seed: int) -> Iterator[Estimate]:
        """The mean over the rounds of each number of one ground truth, with its intervals."""
        for place, first in enumerate(scored[0].estimates):
            if first.name in self.renamed:
                rounds = [each.estimates[place] for each in scored]
                yield mean(rounds, self.renamed[first.name], self.outcomes(first, rounds, scored), seed)

    def outcomes(self, of: Estimate, rounds: Sequence[Estimate], scored: Sequence[Scored]) -> Float64s | None:
        """The outcome of each image in each round (n, R) that a number is the mean of; None where it is no share."""
        known = [
            out_of_prompt_outcomes(found, each.categories[of.category]) if of.name == "oop" else estimate.correct
            for found, each, estimate in zip(self.rounds, scored, rounds, strict=True)
        ]
        made = [outcomes for outcomes in known if outcomes is not None]
        return np.stack(made, axis=1) if len(made) == len(known) else None


def mean(rounds: Sequence[Estimate], name: str, outcomes: Float64s | None, seed: int) -> Estimate:
    """One number over R rounds, with the interval over images and rounds; of one round, its own.

    The rounds of an image are a cluster: they say how well the image is answered, and not how others would be. Beside
    it stands Student's interval of the mean, in which the images are fixed: arXiv 2603.06578, Tables 7, 17 and 19,
    mean ± t(R - 1) s / √R.
    """
    first, values = rounds[0], [each.value for each in rounds if each.value is not None]
    if len(rounds) == 1 or not values:
        return replace(first, name=name)
    value = float(np.mean(values))
    bootstrap = None
    if all(each.correct is not None for each in rounds) and outcomes is not None:
        bootstrap = partial(mean_of_rounds, outcomes, seed)
    return replace(
        first,
        name=name,
        value=value,
        n=min(each.n for each in rounds),  # errors of any round leave images out of it
        interval=by_image(value, outcomes),
        method="clustered wilson",
        correct=None,
        bootstrap=bootstrap,
        epochs_interval=t_interval(values) if len(values) > 1 else None,
    )


def mean_of_rounds(outcomes: Float64s, seed: int) -> Float64s:
    """The mean over rounds of the shares (TIMES,) of resamples of images, of outcomes (n, R)."""
    counted = ~np.isnan(outcomes)
    shares: Float64s = drawn_shares(np.where(counted, outcomes, 0), counted, TIMES, seed)
    return np.asarray(shares.mean(axis=1))


def by_image(value: float, outcomes: Float64s | None) -> Interval | None:
    """Wilson's interval of a mean over outcomes (n, R) of n images, at their effective number; None without any."""
    if outcomes is None or np.isnan(outcomes).all():
        return None
    images = np.repeat(np.arange(len(outcomes)), outcomes.shape[1])
    return effective_wilson(value, effective_number(outcomes.ravel(), images))
