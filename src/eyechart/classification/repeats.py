"""Rounds of answers to one question, with options redrawn or just asked again: means, with intervals over images."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from eyechart.classification.scoring import Float64s, Predictions, Scored, out_of_prompt_outcomes
from eyechart.gate.evidence import TIMES, Given
from eyechart.metrics.clusters import effective_number
from eyechart.metrics.intervals import Interval, effective_wilson, t_interval
from eyechart.metrics.resampling import drawn_shares
from eyechart.protocol.numbers import metric
from eyechart.records import Metric


@dataclass(frozen=True)
class Repeated:
    """Predictions of R rounds about the same images; `metrics` renames what is averaged: {"acc1": "mc_acc"}."""

    rounds: tuple[Predictions, ...]
    renamed: dict[str, str]

    def averaged(self, scored: Sequence[Scored]) -> Iterator[Metric]:
        """The mean over the rounds of each number of one ground truth, with its intervals."""
        for place, first in enumerate(scored[0].metrics):
            if first.name in self.renamed:
                values = [each.metrics[place] for each in scored]
                yield mean(values, self.renamed[first.name], self.outcomes(first, scored))

    def outcomes(self, of: Metric, scored: Sequence[Scored]) -> Float64s | None:
        """The outcome of each image in each round (n, R) that a number is the mean of; None where it is no share."""
        rounds = [
            out_of_prompt_outcomes(found, each.categories[of.category]) if of.name == "oop" else each.made_of(of)
            for found, each in zip(self.rounds, scored, strict=True)
        ]
        known = [outcomes for outcomes in rounds if outcomes is not None]
        return np.stack(known, axis=1) if len(known) == len(rounds) else None

    def given(self, metric: Metric, scored: Sequence[Scored], seed: int) -> Given:
        """A mean over the rounds with its draws; one round's share with its outcomes."""
        names = {new: old for old, new in self.renamed.items()}
        old = structs.replace(metric, name=names.get(metric.name, metric.name))
        made = [outcomes for each in scored if (outcomes := each.made_of(old)) is not None]
        if len(made) != len(scored) or metric.value is None:
            return Given(metric)
        if len(made) == 1:
            return Given(metric, made[0])
        table = np.stack(made, axis=1)
        asked = ~np.isnan(table)
        draws = drawn_shares(np.where(asked, table, 0), asked, TIMES, seed)
        return Given(metric, draws=draws.mean(axis=1))


def mean(values: Sequence[Metric], name: str, outcomes: Float64s | None) -> Metric:
    """One number over R rounds, with the interval over images and rounds; of one round, its own.

    The rounds of an image are a cluster: they say how well the image is answered, and not how others would be. Beside
    it stands Student's interval of the mean, in which the images are fixed: arXiv 2603.06578, Tables 7, 17 and 19,
    mean ± t(R - 1) s / √R.
    """
    first, numbers = values[0], [value.value for value in values if value.value is not None]
    if len(values) == 1 or not numbers:
        ci = None if first.ci is None else Interval(*first.ci)
        return metric(name, first.labels, first.value, first.n, ci, first.ci_method, first.category)
    value = float(np.mean(numbers))
    fewest = min(each.n for each in values)  # errors of any round leave images out of it
    found = metric(name, first.labels, value, fewest, by_image(value, outcomes), "clustered wilson", first.category)
    student = t_interval(numbers)
    return structs.replace(found, repeats_ci=tuple(student) if len(numbers) > 1 else None)


def by_image(value: float, outcomes: Float64s | None) -> Interval | None:
    """Wilson's interval of a mean over outcomes (n, R) of n images, at their effective number; None without any."""
    if outcomes is None or np.isnan(outcomes).all():
        return None
    images = np.repeat(np.arange(len(outcomes)), outcomes.shape[1])
    return effective_wilson(value, effective_number(outcomes.ravel(), images))
