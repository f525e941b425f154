"""Rounds of answers to one question, with options redrawn or just asked again: means with Student's interval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from eyechart.gate.evidence import TIMES, Given
from eyechart.metrics.intervals import Interval, t_interval
from eyechart.metrics.resampling import drawn_shares
from eyechart.records import Metric
from eyechart.scoring import Predictions, Scored, metric


@dataclass(frozen=True)
class Repeated:
    """Predictions of R rounds about the same images; `metrics` renames what is averaged: {"acc1": "mc_acc"}."""

    rounds: tuple[Predictions, ...]
    renamed: dict[str, str]

    def averaged(self, scored: Sequence[Scored]) -> Iterator[Metric]:
        """The mean over the rounds of each number of one ground truth, with its interval."""
        for place, first in enumerate(scored[0].metrics):
            if first.name in self.renamed:
                yield mean([each.metrics[place] for each in scored], self.renamed[first.name])

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


def mean(values: Sequence[Metric], name: str) -> Metric:
    """One number over R rounds: Student's interval of the mean, or that of the one round.

    Source: arXiv 2603.06578, Tables 7, 17 and 19: mean ± t(R - 1) s / √R.
    """
    first, numbers = values[0], [value.value for value in values if value.value is not None]
    if len(values) == 1 or not numbers:
        ci = None if first.ci is None else Interval(*first.ci)
        return metric(name, first.labels, first.value, first.n, ci, first.ci_method, first.category)
    ci = t_interval(numbers) if len(numbers) > 1 else None
    fewest = min(value.n for value in values)  # errors of any round leave images out of it
    return metric(name, first.labels, float(np.mean(numbers)), fewest, ci, "t", first.category)
