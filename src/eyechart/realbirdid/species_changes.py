"""How much range lists change the two headline numbers of a case, over the same birds."""

from collections.abc import Iterator

import numpy as np

from eyechart.metrics.abstention import CRITERIA
from eyechart.metrics.sweep_changes import information_gain_change, ua_a_change
from eyechart.realbirdid.scoring import Value, number
from eyechart.realbirdid.species import RANGE
from eyechart.realbirdid.species_views import ELIGIBLE, Views
from eyechart.records import Metric

MAIN, *_ = CRITERIA


def range_changes(views: Views, seed: int) -> Iterator[Metric]:
    """The paired changes of IG and UA/A from all species to the listed ones, of the birds that have a list."""
    before, after = views[ELIGIBLE], views[RANGE]
    told, answerable = before.told & after.told, before.seen.answerable
    rows, kinds = np.flatnonzero(told & answerable), ~answerable[told]
    truth = before.seen.species[rows]

    def gain() -> Value:
        one, other = (view.summary.stairs.of(rows) for view in (before, after))
        found = information_gain_change(views.tree, one, other, truth, seed=seed, clusters=before.seen.clusters[rows])
        return found.value, found.interval

    def tradeoff() -> Value:
        one, other = (view.uncertainty(MAIN, 0)[told] for view in (before, after))
        found = ua_a_change(one, other, kinds, seed=seed, clusters=before.seen.clusters[told])
        return found.value, found.interval

    n = len(kinds) if kinds.any() and not kinds.all() else 0
    yield number("ig_change", RANGE, "A", len(rows), gain, "bootstrap")
    yield number("ua_a_change", RANGE, "all", n, tradeoff, "bootstrap")
