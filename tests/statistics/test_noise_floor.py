"""Flip rates and noise floors: known counts, clusters, and the power that they state, in simulated comparisons."""

import numpy as np
import pytest

from eyechart.statistics.clusters import clustered_mcnemar
from eyechart.statistics.intervals import wilson
from eyechart.statistics.noise_floor import detectable_beside_noise, flip_rate, noise_floor
from eyechart.statistics.noninferiority import loss_upper_limit, samples_for_margin, smallest_margin
from eyechart.statistics.significance import mcnemar_p, minimum_detectable_loss

ALPHA, TIMES = 0.01, 4000


def test_a_flip_is_a_changed_prediction_and_the_interval_is_wilsons() -> None:
    flips = flip_rate(["a", "b", "", "d"] * 25, ["a", "c", "", "d"] + ["a", "b", "", "d"] * 24, range(100))
    assert (flips.changed, flips.n, flips.rate) == (1, 100, 0.01)
    assert flips.ci == wilson(1, 100)


def test_flips_of_one_image_count_as_one_in_the_interval() -> None:
    clusters = np.repeat(np.arange(40), 10)
    before, after = np.zeros(400, int), (clusters < 2).astype(int)
    assert flip_rate(before, after, clusters).ci == pytest.approx(wilson(2, 40))


def test_lost_gained_and_uncounted_outcomes() -> None:
    nan = float("nan")
    floor = noise_floor([1, 1, 1, 0, 0, nan, 1, nan], [1, 0, 0, 1, 0, 1, nan, nan], range(8), ALPHA)
    assert (floor.lost, floor.gained, floor.n) == (2, 1, 5)
    assert floor.discordance == wilson(3, 5)
    assert np.isnan(floor.detectable)  # of 5 samples, none has a p of at most 0.01
    assert noise_floor([nan], [nan], [0], ALPHA).n == 0


def test_without_noise_the_floor_is_that_of_the_test_alone() -> None:
    floor = noise_floor([1] * 177, [1] * 177, range(177), ALPHA)
    assert floor.detectable == pytest.approx(minimum_detectable_loss(177, 0.0, ALPHA), abs=1e-6)
    assert floor.detectable_ci.low == floor.detectable < floor.detectable_ci.high
    clusters = np.repeat(np.arange(59), 3)
    assert noise_floor([1] * 177, [1] * 177, clusters, ALPHA).detectable == pytest.approx(
        minimum_detectable_loss(59, 0.0, ALPHA), abs=1e-6
    )


@pytest.mark.parametrize(("n", "noise"), [(123, 0.05), (1000, 0.0), (1000, 0.02), (5000, 0.1)])
def test_a_loss_at_the_floor_is_detected_beside_the_noise_with_the_stated_power(n: int, noise: float) -> None:
    chance = np.random.default_rng(0)
    for loss, power in ((detectable_beside_noise(n, noise, ALPHA), 0.8), (0.0, 0.005)):
        shares = [noise / 2 + loss, noise / 2, 1 - noise - loss]
        lost, gained, _ = chance.multinomial(n, shares, size=TIMES).T
        regressions = float(((mcnemar_p(lost, gained) <= ALPHA) & (lost > gained)).mean())
        assert regressions == pytest.approx(power, abs=0.02) if loss else regressions <= power + 0.004


@pytest.mark.parametrize(("n", "noise"), [(200, 0.05), (1000, 0.02), (5000, 0.1)])
def test_the_excludable_loss_is_excluded_with_the_stated_power(n: int, noise: float) -> None:
    margin, chance = smallest_margin(n, noise, ALPHA), np.random.default_rng(1)
    counts = chance.multinomial(n, [noise / 2, noise / 2, 1 - noise], size=400)
    excluded = np.mean([loss_upper_limit(lost, gained, n, ALPHA) < margin for lost, gained, _ in counts])
    assert excluded == pytest.approx(0.8, abs=0.06)
    assert samples_for_margin(noise, margin, ALPHA) == pytest.approx(n, abs=1)


def test_clustered_noise_has_the_floor_of_a_clustered_test() -> None:
    """Whole observations of three photographs change: the sign-flip test finds a loss at the floor about as stated."""
    chance, clusters = np.random.default_rng(2), np.repeat(np.arange(300), 3)
    steps = chance.choice([-1, 1, 0], 300, p=[0.03, 0.03, 0.94]).repeat(3)
    floor = noise_floor(steps <= 0, steps >= 0, clusters, ALPHA)
    plain = noise_floor(steps <= 0, steps >= 0, np.arange(900), ALPHA)
    assert floor.detectable > 1.5 * plain.detectable
    noise = (floor.lost + floor.gained) / floor.n
    shares = [noise / 2 + floor.detectable, noise / 2, 1 - noise - floor.detectable]
    drawn = chance.choice([-1, 1, 0], (400, 300), p=shares).repeat(3, axis=1)
    tests = [clustered_mcnemar((row <= 0).astype(float), (row >= 0).astype(float), clusters) for row in drawn]
    assert np.mean([test.p <= ALPHA and test.lost > test.gained for test in tests]) == pytest.approx(0.8, abs=0.08)


def test_wrong_arguments_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="'after' parameter of flip_rate"):
        flip_rate([1, 2], [1], [0, 1])
    with pytest.raises(ValueError, match=r"'n' parameter of smallest_margin must be above 0\. Got 0"):
        smallest_margin(0, 0.1, ALPHA)
    with pytest.raises(ValueError, match="'noise' parameter of detectable_beside_noise"):
        detectable_beside_noise(10, 1.5, ALPHA)
    assert np.isnan(detectable_beside_noise(5, 0.1, ALPHA))
