"""Outcomes of 2,000 samples, half of them right, before and after some changed."""

import numpy as np

from eyechart.gate.verdicts.decide import Rule
from eyechart.statistics.noninferiority import samples_for_margin

RIGHT, OTHER = [1, 0] * 1000, "1" * 64
POINT = Rule(margin=0.01)
MORE = samples_for_margin(102 / 2002, 0.01, 0.01) - 2000  # samples that exclude the margin after 100 of 2,000 changed


def changed(lost: int, gained: int = 0, n: int = 2000) -> list[int]:
    """Outcomes of which so many differ from `RIGHT`."""
    outcomes = np.array(RIGHT[:n])
    outcomes[: 2 * lost : 2] = 0
    outcomes[1 : 2 * gained : 2] = 1
    return outcomes.tolist()
