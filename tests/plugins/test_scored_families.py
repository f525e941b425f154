"""A model with layers of sliding attention: cases that need log-probabilities are asked, as all others are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep


def test_a_case_that_needs_scores_is_asked_of_a_model_with_sliding_attention(
    world: Any, tiny_chat: Callable[[str], Path]
) -> None:
    cases = "toybox/sample-cutouts and (test_posterior or test_mcq)"
    output = world.installed(cases, f"--eye-model=hf[{tiny_chat('gemma3')}]", "--eye-limit=2", "-rs")
    assert "2 passed" in output
    assert sorted(record["protocol"] for record in world.records) == ["mcq", "posterior"]
