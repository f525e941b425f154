"""The table of costs in docs/cluster.md is computed from the paces."""

from pathlib import Path

import pytest

from tests.speed.money import Pace, rows

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_in_the_documentation_is_computed_from_the_paces() -> None:
    lines = (ROOT / "docs/cluster.md").read_text(encoding="utf-8").partition("<!-- table: money -->")[2]
    table = [line for line in lines.partition("<!-- end of table -->")[0].splitlines() if line.startswith("|")]
    assert table[2:] == [f"| {' | '.join(row)} |" for row in rows()]


def test_hours_are_those_of_answers_and_of_scores() -> None:
    """30 models answer 120,000 images in 3,600 s, and a processor scores 3.6 million in 382 s."""
    assert Pace("one", "here", 1.0, 1_000).hours(120_000) == pytest.approx((3_600 + 3_600_000 * 5.3 / 50_000) / 3_600)
