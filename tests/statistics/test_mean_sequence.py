"""A confidence sequence holds at every look; intervals of a number that was set before do not."""

from typing import Any

import numpy as np
import pytest

from eyechart.statistics.mean_sequence import mean_sequence
from eyechart.statistics.reannotation import prediction_powered_mean


def draw(chance: np.random.Generator, n: int, up: float, down: float) -> tuple[Any, Any]:
    published = (chance.random(n) < 0.8).astype(float)
    changed = chance.random(n)
    return published, np.where(published == 0, changed < up, changed >= down).astype(float)


def missed(ends: Any, value: float) -> bool:
    return bool(((ends[:, 0] > value) | (ends[:, 1] < value)).any())


def simulate(images: int, up: float, down: float, times: int) -> tuple[float, float, float]:
    """How often all of 200 looks hold, the width at the last, and how often all of 10 looks at t intervals hold."""
    chance = np.random.default_rng(images)
    published, new = draw(chance, images, up, down)
    held, width, held_t = 0, 0.0, 0
    for _ in range(times):
        rows = chance.choice(images, 200, replace=False)
        ends = mean_sequence(new[rows], published[rows], images, published.mean(), 150)
        held += not missed(ends, new.mean())
        width += ends[-1, 1] - ends[-1, 0]
        looks = []
        for n in range(20, 201, 20):
            known = np.full(images, np.nan)
            known[rows[:n]] = new[rows[:n]]
            looks.append(prediction_powered_mean(known, published)[1])
        held_t += not missed(np.array(looks), new.mean())
    return held / times, width / times, held_t / times


def test_every_look_holds() -> None:
    held, width, held_t = simulate(1000, 0.3, 0.03, 50)
    assert held >= 0.93
    assert width < 0.12
    assert held_t < 0.85  # why looking at these is refused


@pytest.mark.deep
@pytest.mark.parametrize(("up", "down"), [(0.3, 0.03), (0.05, 0.005)])
@pytest.mark.parametrize("images", [244, 1000, 50_000])
def test_every_look_holds_in_every_cell(images: int, up: float, down: float) -> None:
    held, _, _ = simulate(images, up, down, 600)
    assert held >= 0.93


def test_no_interval_is_wider_than_one_before_it() -> None:
    ends = mean_sequence([1, 0, 1, 1] * 20, [1, 1, 1, 1] * 20, 500, 0.9, 60)
    assert (np.diff(ends[:, 0]) >= 0).all()
    assert (np.diff(ends[:, 1]) <= 0).all()


def test_the_labels_of_all_images_leave_the_mean() -> None:
    new = [1, 0, 1, 1] * 10
    low, high = mean_sequence(new, [1] * 40, 40, 1.0, 40)[-1]
    assert low <= 0.75 <= high
    assert high - low < 0.05


def test_the_proxy_makes_it_shorter() -> None:
    published, new = draw(np.random.default_rng(3), 5000, 0.1, 0.01)
    widths = [
        np.diff(mean_sequence(new[:200], published[:200], 5000, published.mean(), 150, weight=weight)[-1])
        for weight in (0.9, 0.0)
    ]
    assert widths[0] < 0.7 * widths[1]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="'size' parameter of mean_sequence must be a whole number of at least 2"):
        mean_sequence([1, 0], [1, 1], 1, 1.0, 10)
