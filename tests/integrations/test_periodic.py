"""Evaluations of a training loop: settings that cannot be meant are refused."""

import pytest

from eyechart.errors import SpecError
from eyechart.integrations.periodic import PeriodicEvaluation

pytestmark = pytest.mark.deep


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(SpecError, match=r"every is 0\. Expected a number of steps from 1 up"):
        PeriodicEvaluation("toybox/sample", every=0)
    with pytest.raises(SpecError, match=r"compare_with is 'last'\. Expected first or best"):
        PeriodicEvaluation("toybox/sample", every=1, compare_with="last")
