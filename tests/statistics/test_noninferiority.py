"""The upper limit of a loss: against the score test on a grid, its coverage, and the samples that a margin needs."""

from functools import cache
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from eyechart.statistics.noninferiority import loss_upper_limit, samples_for_margin

COUNTS = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(1, 200)).map(lambda c: (*c[:2], sum(c)))


def is_rejected(lost: int, gained: int, n: int, loss: float, alpha: float) -> bool:
    """Tango's test of a loss, its restricted likelihood maximised by search: the loss is surely smaller than this."""

    def unlikely(q: float) -> float:
        shares = (q + loss, q, 1 - 2 * q - loss)
        return -sum(
            count * np.log(max(p, 1e-300)) for count, p in zip((lost, gained, n - lost - gained), shares, strict=True)
        )

    q = minimize_scalar(unlikely, bounds=(0, (1 - loss) / 2), method="bounded", options={"xatol": 1e-12}).x
    variance = n * (2 * q + loss * (1 - loss))
    return bool(variance > 0 and (lost - gained - n * loss) / sqrt(variance) < norm.ppf(alpha))


@given(COUNTS, st.sampled_from([0.01, 0.05, 0.2]))
def test_the_limit_is_where_the_score_test_begins_to_reject(counts: tuple[int, int, int], alpha: float) -> None:
    limit = loss_upper_limit(*counts, alpha)
    assert (counts[0] - counts[1]) / counts[2] <= limit <= 1
    if limit < 0.99:
        assert is_rejected(*counts, limit + 2e-3, alpha)
    if limit - 2e-3 > (counts[0] - counts[1]) / counts[2] and limit > 4e-3:
        assert not is_rejected(*counts, limit - 2e-3, alpha)


@given(COUNTS, st.sampled_from([0.01, 0.05]))
def test_more_losses_fewer_gains_and_a_stricter_level_raise_it(counts: tuple[int, int, int], alpha: float) -> None:
    lost, gained, n = counts
    limit = loss_upper_limit(lost, gained, n, alpha)
    assert loss_upper_limit(lost, gained, n, alpha / 2) >= limit
    if lost + gained < n:
        assert loss_upper_limit(lost + 1, gained, n, alpha) >= limit
        assert loss_upper_limit(lost, gained + 1, n, alpha) <= limit + 1 / n
    assert loss_upper_limit(10 * lost, 10 * gained, 10 * n, alpha) <= limit + 1e-9


@pytest.mark.deep
@pytest.mark.parametrize("n", [10, 140])
@pytest.mark.parametrize("changed", [0.01, 0.2])
@pytest.mark.parametrize("lost_more", [0.0, 0.5, 1.0])
def test_it_covers_the_true_loss(n: int, changed: float, lost_more: float) -> None:
    loss, times = changed * lost_more, 20_000
    limit = cache(lambda lost, gained: loss_upper_limit(lost, gained, n, 0.01))
    shares = [(changed + loss) / 2, (changed - loss) / 2, 1 - changed]
    drawn = np.random.default_rng(n).multinomial(n, shares, times)[:, :2].tolist()
    covered = sum(limit(*counts) >= loss for counts in drawn) / times
    assert covered >= 0.987


@pytest.mark.parametrize("changed", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("margin", [0.01, 0.03])
def test_so_many_samples_show_that_the_loss_is_below_the_margin(changed: float, margin: float) -> None:
    n = samples_for_margin(changed, margin, 0.05)
    chance = np.random.default_rng(1)
    drawn = chance.multinomial(n, [changed / 2, changed / 2, 1 - changed], 400)[:, :2].tolist()
    shown = np.mean([loss_upper_limit(*counts, n, 0.05) < margin for counts in drawn])
    assert shown >= (1 if changed == 0 else 0.75)
    assert samples_for_margin(changed, margin, 0.05) <= samples_for_margin(changed + 0.01, margin, 0.05)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [((-1, 0, 10, 0.05), "'lost'"), ((6, 5, 10, 0.05), "'n'"), ((0, 0, 10, 0.51), "'alpha'")],
)
def test_bad_arguments_have_a_sentence(arguments: tuple[float, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"The {sentence} parameter of loss_upper_limit must be"):
        loss_upper_limit(*arguments)


@pytest.mark.parametrize(("arguments", "name"), [((2, 0.1, 0.05), "discordance"), ((0.1, 0, 0.05), "margin")])
def test_bad_arguments_of_the_number_of_samples(arguments: tuple[float, ...], name: str) -> None:
    with pytest.raises(ValueError, match=f"The '{name}' parameter of samples_for_margin must be"):
        samples_for_margin(*arguments)
