"""`--eye-shard=K/N`: jobs that divide the cases, each with a store of its own, and what they have together."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.cli import main
from eyechart.plugins.shard import _Shard


@given(st.integers(0, 200), st.integers(1, 40))
def test_every_test_is_in_one_shard(total: int, count: int) -> None:
    shards = [[*_Shard(number, count).indices(total)] for number in range(1, count + 1)]
    assert [index for shard in shards for index in shard] == [*range(total)]
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_the_merged_stores_of_shards_have_all_answers(world: Any, serial: Any) -> None:
    """Three jobs answer the four cases, and a model is in one or two of them."""
    for number in (1, 2, 3):
        said = world.passes(f"--eye-shard={number}/3", f"--eye-store=store-{number}", "--eye-answer").stdout.str()
        assert f"shard {number}/3 has {2 if number == 3 else 1} of 4 tests" in said
    stores = [str(world.folder / f"store-{number}") for number in (3, 1, 2)]
    assert main(["store", "merge", str(world.folder / ".eyechart" / "store"), *stores]) == 0
    asked = world.asked
    world.passes()
    assert world.asked == asked == serial.asked
    assert world.records == serial.records
    assert world.store == serial.store


def test_workers_of_a_shard_run_its_cases_alone(world: Any) -> None:
    world.passes("--eye-shard=2/2", "-n", "2")
    assert [record["model"]["name"] for record in world.records] == ["tinyclass", "tinyclass"]


def test_the_order_of_the_tests_does_not_matter(world: Any) -> None:
    """One job runs its tests the other way round, as a plugin for random order does."""
    reverse = "def pytest_collection_modifyitems(items): items.reverse()"
    found = []
    for number in (1, 2):
        if number == 2:
            (world.folder / "reverse.py").write_text(reverse)
        more = ["-p", "reverse"] if number == 2 else []
        lines = world.run(f"--eye-shard={number}/2", "--collect-only", "-q", *more).stdout.lines
        found += [line for line in lines if "::" in line]
    assert len(found) == len({*found}) == 4


def test_a_shard_without_tests_is_no_failure(world: Any) -> None:
    """There are more jobs than cases."""
    result = world.run("--eye-shard=1/9")
    assert result.ret == 0
    assert "shard 1/9 has 0 of 4 tests" in result.stdout.str()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--eye-shard=0/3",), "--eye-shard=0/3: expected K/N, where K is from 1 to N"),
        (("--eye-shard=4/3",), "--eye-shard=4/3: expected K/N"),
        (("--eye-shard=third",), "--eye-shard=third: expected K/N"),
        (("--eye-shard=1/3", "--eye-update-baseline"), "--eye-shard has a part of the cases. Leave out"),
    ],
)
def test_a_wrong_shard_is_refused(world: Any, options: tuple[str, ...], message: str) -> None:
    result = world.run(*options)
    assert result.ret == 4
    assert message in result.stderr.str()
    assert not Path(world.folder / ".eyechart").exists()
