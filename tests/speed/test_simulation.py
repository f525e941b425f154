"""The table of docs/cluster.md is what the simulation gives, and the simulation agrees with simple cases."""

from pathlib import Path

import pytest

from tests.speed.simulation import GPUS, Work, rows, simulate

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_in_the_documentation_is_that_of_the_simulation() -> None:
    lines = (ROOT / "docs/cluster.md").read_text(encoding="utf-8").partition("<!-- table: simulation -->")[2]
    table = [line for line in lines.partition("<!-- end of table -->")[0].splitlines() if line.startswith("|")]
    assert table[2:] == [f"| {' | '.join(row)} |" for row in rows()]


@pytest.mark.parametrize("count", GPUS)
def test_a_driver_that_costs_nothing_uses_all_gpus(count: int) -> None:
    """There are as many work units for each GPU."""
    efficiency, busy, losses = simulate(Work("free", 1.0, 0.0, 4 * count), count)
    assert (efficiency, busy, losses) == (pytest.approx(1.0), 0.0, 0)


def test_a_driver_that_is_the_limit_is_always_busy() -> None:
    """It takes as long as the work units take in the driver."""
    work = Work("dear", 0.1, 0.05, 1_000)
    efficiency, busy, _ = simulate(work, 64)
    assert busy > 0.98
    assert efficiency == pytest.approx(work.work_unit / 64 / work.driver, rel=0.05)
