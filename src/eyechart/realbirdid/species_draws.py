"""What a case of species is compared by: every bird's outcome, and the numbers of resamples of the same birds."""

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from eyechart.gate.pairing import Draw, Key
from eyechart.metrics.abstention import ua_a_draws
from eyechart.metrics.calibration import calibration_error_draws
from eyechart.metrics.information_gain import information_gain_draws
from eyechart.metrics.selective import auc_draws
from eyechart.realbirdid.scoring import Outcomes, drawn_birds, harmonic_draw
from eyechart.realbirdid.species_scoring import MAIN, stopped
from eyechart.realbirdid.species_views import View, Views


def species_outcomes(views: Views, seed: int) -> Mapping[Key, Outcomes]:
    """Each share's outcomes of all birds (n,), NaN for a bird that it is not about."""
    found: dict[Key, Outcomes] = {}
    for view in views.every:
        right, answerable = stopped(view, seed), view.seen.answerable
        for category, mask in (("A", answerable), ("UA", ~answerable)):
            found["tree_acc", view.labels, category] = np.where(mask, right, np.nan)
        for name, place, mask in view.sets():
            found["acc", view.labels, name] = among(mask, view, place)
    return found


def species_draws(views: Views, seed: int) -> Mapping[Key, Draw]:
    """How the other numbers are drawn."""
    found: dict[Key, Draw] = {}
    for view in views.every:
        found.update(whole_draws(view, views, seed))
        for name, place, mask in view.sets():
            found.update({(what, view.labels, name): draw for what, draw in set_draws(view, place, mask, seed)})
    return found


def species_units(views: Views) -> Mapping[Key, int]:
    """Of how many observations the images are that the drawn numbers are about."""
    found: dict[Key, int] = {}
    for view in views.every:
        clusters, answerable = view.seen.clusters, view.seen.answerable
        whole = {("ig", "A"): answerable, ("ua_a", "all"): view.told, ("tree_hm", "all"): view.told}
        for (what, name), mask in whole.items():
            found[what, view.labels, name] = len(np.unique(clusters[mask & view.told]))
        for name, _, mask in view.sets():
            for what in ("auc", "aurc", "auc_macro", "ece"):
                found[what, view.labels, name] = len(np.unique(clusters[mask]))
    return found


def whole_draws(view: View, views: Views, seed: int) -> Iterator[tuple[Key, Draw]]:
    """Of numbers of both sets, and of the gain."""
    without = ~view.seen.answerable

    def gain() -> Outcomes:
        truth = np.where(view.told & ~without, view.seen.species, -1)
        return information_gain_draws(views.tree, view.summary.stairs, truth, drawn_birds(view.seen, seed))

    def unsure() -> Outcomes:
        found = np.where(view.told, view.uncertainty(MAIN, 0), np.nan)
        return ua_a_draws(found, without, drawn_birds(view.seen, seed))

    yield ("ig", view.labels, "A"), gain
    yield ("ua_a", view.labels, "all"), unsure
    yield ("tree_hm", view.labels, "all"), harmonic_draw(stopped(view, seed), view.seen, seed)


def set_draws(view: View, place: int, mask: NDArray[np.bool_], seed: int) -> Iterator[tuple[str, Draw]]:
    """Of numbers of one level."""
    right, sure, said = among(mask, view, place), -view.uncertainty(MAIN, place), view.summary.levels[place].probability

    @cache
    def area() -> Outcomes:
        return auc_draws(sure, right, drawn_birds(view.seen, seed))

    def macro() -> Outcomes:
        samples, truth = drawn_birds(view.seen, seed), view.truths[place]
        return auc_draws(sure, right, samples, classes=truth, average="macro")

    def error() -> Outcomes:
        return calibration_error_draws(said, right, drawn_birds(view.seen, seed))

    yield "auc", area
    yield "aurc", lambda: 1 - area()
    yield "auc_macro", macro
    yield "ece", error


def among(mask: NDArray[np.bool_], view: View, place: int) -> Outcomes:
    """Whether the best of a level is right (n,), NaN outside of a set."""
    return np.where(mask, view.correct[place], np.nan)
