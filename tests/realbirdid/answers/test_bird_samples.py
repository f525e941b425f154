"""The sample tables of birds by number: the shared columns, and what is right in them."""

from typing import Any

import pytest


@pytest.mark.parametrize("protocol", ["species", "flat_list"])
def test_birds_have_the_shared_columns(make_bird_world: Any, sample_table: Any, protocol: str) -> None:
    world = make_bird_world()
    table = sample_table(protocol, world.found(world.comparing(), protocol, broken=frozenset({1, 15})))
    assert {row["subset"] for row in table} == {"answerable", "unanswerable"}
    assert [row["key"] for row in table if row["error"]] == ["s01", "s15"]
    for row in table:
        assert (row["target"], row["subset"]) == (
            (row["species"], "answerable") if row["species"] else (row["genus"], "unanswerable")
        )
        assert row["correct"] == ("" if row["error"] else str(int(row["prediction"] == row["target"])))
