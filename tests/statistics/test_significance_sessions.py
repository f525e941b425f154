"""Simulated sessions: those without a change pass, a point lost is caught, and what can be found is found."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.statistics.significance import bootstrap_change, holm, mcnemar_p, minimum_detectable_loss

pytestmark = pytest.mark.deep

METRICS, ALPHA = 200, 0.01


def within(rate: float, times: int) -> float:
    """Three and a half standard errors of a simulated rate."""
    return 3.5 * math.sqrt(rate * (1 - rate) / times)


# What can be found


def exact_power(n: int, discordance: float, loss: float, alpha: float) -> float:
    """By adding up every table that three kinds of samples can make."""
    up, down = (max(discordance, loss) - loss) / 2, (max(discordance, loss) + loss) / 2
    tables = [(lost, gained) for lost in range(n + 1) for gained in range(min(lost, n - lost + 1))]
    lost, gained = np.array(tables).T
    ways = np.array([math.comb(n, a) * math.comb(n - a, b) for a, b in tables], float)
    chances = ways * down**lost * up**gained * (1 - up - down) ** (n - lost - gained)
    return float(chances[mcnemar_p(lost, gained) <= alpha].sum())


@given(st.integers(8, 40), st.floats(0, 0.9), st.sampled_from([0.01, 0.05, 1 / 16, 0.2]), st.floats(0.3, 0.95))
def test_the_loss_has_the_power_that_was_asked_for(n, discordance, alpha, power) -> None:
    loss = minimum_detectable_loss(n, discordance, alpha, power)
    assert exact_power(n, discordance, loss, alpha) == pytest.approx(power, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "discordance", "alpha"), [(50_000, 0.05, 5e-5), (50_000, 0, 5e-5), (1000, 0.1, 0.01), (60, 0.02, 0.001)]
)
def test_simulated_losses_are_found_as_often_as_was_asked_for(n, discordance, alpha) -> None:
    loss = minimum_detectable_loss(n, discordance, alpha)
    changed = max(discordance, loss)
    shares = [(changed + loss) / 2, (changed - loss) / 2, 1 - changed]
    lost, gained, _ = np.random.default_rng(5).multinomial(n, shares, 20_000).T
    found = (mcnemar_p(lost, gained) <= alpha) & (lost > gained)
    assert found.mean() == pytest.approx(0.8, abs=within(0.8, 20_000))


def test_more_samples_and_a_quieter_change_show_smaller_losses() -> None:
    by_n = [minimum_detectable_loss(n, 0.05, 5e-5) for n in (20, 100, 1000, 50_000, 10**6)]
    by_noise = [minimum_detectable_loss(5000, share, 5e-5) for share in (0, 0.01, 0.05, 0.2, 1)]
    assert by_n == sorted(by_n, reverse=True)
    assert by_noise == sorted(by_noise)
    assert by_n[-2] < 0.01  # the point at n = 50,000 and 5 % discordance


def test_too_few_samples_can_show_no_loss() -> None:
    assert np.isnan([minimum_detectable_loss(n, 0.5, 0.01) for n in (0, 1, 7)]).all()
    assert minimum_detectable_loss(8, 0.5, 0.01, 0.999) < 1


# Sessions


def failed(p: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Sessions (a row each) in which a metric, adjusted among the row's, lost significantly."""
    return np.array([((holm(row) <= ALPHA) & worse).any() for row, worse in zip(p, loss, strict=True)])


def quiet(random: np.random.Generator, sessions: int, metrics: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers lost and gained of metrics that did not change, over 50 to 50,000 samples of 0.5 to 20 per cent."""
    n, share = (np.exp(random.uniform(*np.log(ends), metrics)) for ends in ((50, 50_000), (0.005, 0.2)))
    changed = random.binomial(n.astype(int), share, (sessions, metrics))
    lost = random.binomial(changed, 0.5)
    return lost, changed - lost


@pytest.mark.parametrize("alike", [1, 10], ids=["independent", "tens-of-the-same"])
def test_sessions_without_a_change_fail_in_at_most_one_per_cent(alike) -> None:
    sessions = 3000
    counts = quiet(np.random.default_rng(1), sessions, METRICS // alike)
    lost, gained = (np.repeat(each, alike, axis=1) for each in counts)
    p = mcnemar_p(lost.ravel(), gained.ravel()).reshape(sessions, METRICS)
    assert failed(p, p < 2).mean() <= ALPHA + within(ALPHA, sessions)  # either way
    assert failed(p, lost > gained).mean() <= ALPHA / 2 + within(ALPHA / 2, sessions)  # as the gate counts
    assert ((p <= ALPHA) & (lost > gained)).any(axis=1).mean() > 0.04  # without Holm's adjustment


def test_a_point_lost_among_two_hundred_metrics_is_caught() -> None:
    sessions, random = 1000, np.random.default_rng(2)
    lost, gained = quiet(random, sessions, METRICS)
    lost[:, 7], gained[:, 7], _ = random.multinomial(50_000, [0.03, 0.02, 0.95], sessions).T
    p = mcnemar_p(lost.ravel(), gained.ravel()).reshape(sessions, METRICS)
    caught = np.array([holm(row)[7] <= ALPHA for row in p]) & (lost[:, 7] > gained[:, 7])
    assert caught.mean() >= 0.99


def f1(cells: np.ndarray, run: int) -> np.ndarray:
    """F1 of the first or second run, from counts of (expected, first says, second says), the eight cells in order."""
    table = np.moveaxis(cells.reshape(*cells.shape[:-1], 2, 2, 2), -2 + run, -1).sum(axis=-2)
    hits = 2.0 * table[..., 1, 1]
    return hits / (hits + table[..., 0, 1] + table[..., 1, 0])


def spread(cells: np.ndarray) -> np.ndarray:
    """The jackknife's standard error of the change of F1: each of the eight cells with one sample less."""
    n = cells.sum(axis=-1, keepdims=True)
    less = cells[..., None, :] - np.eye(8)
    change = np.where(cells > 0, f1(less, 1) - f1(less, 0), 0)
    mean = (cells * change).sum(axis=-1, keepdims=True) / n
    return np.sqrt(((n - 1) / n * cells * (change - mean) ** 2).sum(axis=-1))


def test_sessions_of_drawn_metrics_without_a_change_fail_in_at_most_one_per_cent() -> None:
    sessions, random, shares = 500, np.random.default_rng(3), np.array([40, 3, 3, 4, 4, 3, 3, 40]) / 100
    n = np.exp(random.uniform(np.log(50), np.log(20_000), METRICS)).astype(int)
    cells = random.multinomial(n, shares, (sessions, METRICS))
    delta, p = f1(cells, 1) - f1(cells, 0), np.ones((sessions, METRICS))
    for index in np.argwhere(np.abs(delta) > 2.8 * spread(cells)):  # p of the others is far above ALPHA / METRICS
        before, after = (f1(cells[*index], run) for run in (0, 1))
        draws = random.multinomial(n[index[1]], cells[*index] / n[index[1]], 1000)
        p[*index] = bootstrap_change(before, after, f1(draws, 0), f1(draws, 1), int(n[index[1]])).p
    assert 0.001 < (p < 0.003).mean() < 0.003 + within(0.003, p.size)
    assert failed(p, p < 2).mean() <= ALPHA + within(ALPHA, sessions)


@pytest.mark.parametrize("heavy", [False, True], ids=["normal", "rarely-changed"])
@pytest.mark.parametrize("n", [12, 40])
def test_few_units_do_not_reject_too_often(n, heavy) -> None:
    metrics, random = 2000, np.random.default_rng(4)
    changes = random.normal(size=(metrics, n)) * (random.random((metrics, n)) < (0.2 if heavy else 1))
    draws = changes @ random.multinomial(n, np.ones(n) / n, 300).T / n
    p = np.array(
        [bootstrap_change(0, row.mean(), np.zeros(300), taken, n).p for row, taken in zip(changes, draws, strict=True)]
    )
    assert [(p <= alpha).mean() <= alpha + within(alpha, metrics) for alpha in (0.05, 0.01, 0.001)] == [True] * 3
