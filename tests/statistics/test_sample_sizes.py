"""Numbers of samples: the power of the tests against all outcomes of few samples, and the search and the simulation."""

from math import comb
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.statistics.noninferiority import loss_upper_limit, margin_power, samples_for_margin
from eyechart.statistics.sample_sizes import samples_for_power, sequential_samples
from eyechart.statistics.significance import loss_power, mcnemar_p, minimum_detectable_loss


def over_all_outcomes(n: int, discordance: float, loss: float, decides: Any) -> float:
    """The probability of the numbers of lost and gained samples that decide."""
    losing, gaining = (discordance + loss) / 2, (discordance - loss) / 2
    total = 0.0
    for lost in range(n + 1):
        for gained in range(n + 1 - lost):
            chance = losing**lost * gaining**gained * (1 - discordance) ** (n - lost - gained)
            total += comb(n, lost) * comb(n - lost, gained) * chance if decides(lost, gained) else 0
    return total


@given(st.integers(1, 14), st.sampled_from([0.1, 0.4, 1.0]), st.sampled_from([0.0, 0.5, 1.0]))
def test_the_power_to_find_a_loss_is_that_over_all_outcomes(n: int, discordance: float, share: float) -> None:
    loss = discordance * share
    expected = over_all_outcomes(n, discordance, loss, lambda a, b: a > b and mcnemar_p([a], [b])[0] <= 0.2)
    assert loss_power(n, discordance, loss, 0.2) == pytest.approx(expected, abs=1e-8)


@given(st.integers(1, 14), st.sampled_from([0.0, 0.1, 0.4, 1.0]), st.sampled_from([0.1, 0.3, 0.6]))
def test_the_power_to_exclude_a_margin_is_that_over_all_outcomes(n: int, discordance: float, margin: float) -> None:
    expected = over_all_outcomes(n, discordance, 0.0, lambda a, b: loss_upper_limit(a, b, n, 0.1) < margin)
    assert margin_power(n, discordance, margin, 0.1) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("discordance", [0.02, 0.05, 0.1])
def test_the_samples_of_the_exact_power_are_nearly_those_of_its_normal_limit(discordance: float) -> None:
    """The limit is at most 4 % above."""
    needed = samples_for_power(lambda n: margin_power(n, discordance, 0.01, 0.05))
    assert needed is not None
    assert 1 <= samples_for_margin(discordance, 0.01, 0.05) / needed < 1.04


def test_the_loss_that_is_found_with_the_power_is_the_detectable_one() -> None:
    loss = minimum_detectable_loss(800, 0.1, 0.01)
    assert loss_power(800, 0.1, loss, 0.01) == pytest.approx(0.8)


def test_the_power_holds_with_more_samples_as_well() -> None:
    """The power of few samples is a saw: 6 losses of 6 are found at 0.05, and 6 of 7 are not."""
    needed = samples_for_power(lambda n: loss_power(n, 0.3, 0.2, 0.05))
    assert needed is not None
    assert all(loss_power(n, 0.3, 0.2, 0.05) >= 0.79 for n in range(needed, needed + 10))
    assert loss_power(int(0.9 * needed), 0.3, 0.2, 0.05) < 0.8


def test_what_no_number_of_samples_shows_has_none() -> None:
    assert samples_for_power(lambda n: min(0.5, n)) is None


def test_a_sequential_test_stops_at_one_of_its_looks_and_earlier_for_a_larger_loss() -> None:
    looks = range(100, 10_001, 100)
    small, large = (sequential_samples(looks, 0.1, loss, 0.01) for loss in (0.03, 0.08))
    assert large[0] < small[0] < 10_000
    assert large[0] % 100 == 0
    assert small[1] > 0.95
    assert sequential_samples(looks, 0.1, 0.0, 0.01)[1] < 0.03  # what is found without a loss is a false alarm
    assert sequential_samples(looks, 0.1, 0.0, 0.01, margin=0.03)[1] == 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: loss_power(10, 0.1, 0.2, 0.05), r"'loss' parameter of loss_power must be in \[0, 0.1\]. Got 0.2"),
        (lambda: margin_power(10, 1.5, 0.2, 0.05), "'discordance' parameter of margin_power"),
        (lambda: samples_for_power(float, 1.0), "'target' parameter of samples_for_power"),
        (lambda: sequential_samples([100, 100], 0.1, 0.0, 0.05), "'looks' parameter of sequential_samples"),
    ],
)
def test_wrong_arguments_are_refused(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()
