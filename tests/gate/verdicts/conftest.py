"""Verdicts on shares, for tests of what is decided and of what is said."""

from typing import Any

import pytest
from msgspec.structs import replace

from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.verdicts.decide import Rule, Verdict, decide
from tests.gate.verdicts.changed_shares import OTHER, POINT


@pytest.fixture
def judged(make: Any, share: Any) -> Any:
    """The verdicts on shares of two runs by their names, whose weights differ."""

    def judged(
        before: dict[str, Any], after: dict[str, Any], rule: Rule = POINT, weights: str = OTHER
    ) -> list[Verdict]:
        now = replace(make(share(**after)), weights_sha256=weights)
        return decide([*compare_metrics(make(share(**before)), now)], rule)

    return judged
