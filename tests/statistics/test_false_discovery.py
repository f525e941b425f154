"""Tests of `eyechart.statistics.false_discovery`."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from eyechart.statistics.false_discovery import benjamini_hochberg


def test_adjusted_p_values_are_those_of_scipy() -> None:
    p = np.random.default_rng(1).random(50) ** 3
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p))
