"""docs/families.md has every family that tools/families makes a checkpoint of."""

import family_table
from families import FAMILIES

ROWS = family_table.read_rows(family_table.PAGE.read_text(encoding="utf-8"))


def test_the_table_has_every_family_once() -> None:
    assert [row.family for row in ROWS] == [*FAMILIES]
    assert all(row.same_tokens and row.exact for row in ROWS)
    assert all(0 < row.difference < family_table.BOUND for row in ROWS)


def test_families_run_every_protocol_by_both_engines() -> None:
    short_context = ["instructblip"]
    assert [row.family for row in ROWS if row.protocols != family_table.COUNT] == short_context
    alike = [
        row.family for row in ROWS if row.vllm and row.vllm.same_tokens and row.vllm.difference < family_table.BOUND
    ]
    assert len(alike) >= 6


def test_the_table_is_read_as_it_is_written() -> None:
    lines = "\n".join(family_table.write_table(ROWS))
    assert family_table.read_rows(lines) == ROWS
    assert lines in family_table.PAGE.read_text(encoding="utf-8")
