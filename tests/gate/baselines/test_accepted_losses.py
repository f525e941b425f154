"""Losses that are accepted one by one fail a case when they add up."""

import json
import re
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HELD, UPDATE, ALPHA, REGRESSION = "--eye-baseline=kept", "--eye-update-baseline", "--eye-alpha=0.05", 10


def test_accepted_losses_add_up_to_a_failure_and_then_start_again(held: Any) -> None:
    for wrong in (3, 5):
        held.answer(wrong=wrong)
        assert "have lost" not in held.ran(HELD, UPDATE)
    held.answer(wrong=9)
    said = held.ran(HELD, ALPHA, "--eye-verdicts=v.json", code=REGRESSION)
    summary = "regression of replay[path=a.csv] on imagenet over accepted versions: 9 images lost and 0 gained"
    assert f"eyechart: gate: {summary}" in said
    verdicts = json.loads((held.world.folder / "v.json").read_bytes())
    assert verdicts["verdict"] == "regression"
    assert verdicts["sentence"].startswith(summary)
    assert verdicts["drifts"][0].startswith(summary)
    assert "is worse than the baseline" not in said
    total = r"together have lost: 9 images lost and 0 gained over 3 versions \(e-value \d+\)"
    assert re.search(rf"replay\[path=a.csv\] on imagenet: the accepted baselines and this session {total}", said)
    assert "the alarm is at an e-value of 20" in said
    held.answer(wrong=18)
    said = held.ran(HELD, UPDATE)
    assert "its versions together have lost: 18 images lost and 0 gained over 3 versions" in said
    assert "have lost" not in held.ran(HELD, ALPHA)
