"""A model that gives no log-probabilities: what needs them is skipped with the reason, the rest is asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def test_a_case_that_needs_scores_is_skipped_with_the_reason(world: Any, tiny_chat: Callable[[str], Path]) -> None:
    cases = "toybox/sample-cutouts and (test_posterior or test_mcq)"
    said = world.installed(cases, f"--eye-model=hf[{tiny_chat('gemma3')}]", "--eye-limit=2", "-rs")
    assert "1 passed, 1 skipped" in said
    assert "gemma3 has layers of sliding_attention; hf gives log-probabilities for full causal attention" in said
    assert [record["protocol"] for record in world.records] == ["mcq"]
