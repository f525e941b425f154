"""Tests of `eyechart.plugins.junit`."""

from typing import Any

import pytest

from tests.plugins.replayed_answers import properties, replayed

pytestmark = pytest.mark.deep
ACC = ("acc1", "all")
OWN = "def pytest_runtest_setup(item):\n    item.user_properties.append(('owner', {'eyechart': 'me'}))\n"


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "workers"])
def test_junit_has_the_main_numbers_of_every_case(world: Any, workers: tuple[str, ...]) -> None:
    world.passes("--junitxml=junit.xml", *workers)
    found = {each["eyechart.case"]: each for each in properties(world.folder / "junit.xml").values()}
    assert len(found) == len(world.records) == 4
    for record in world.records:
        told, (number,) = found[record["case"]], [m for m in record["metrics"] if (m["name"], m["subset"]) == ACC]
        assert float(told["eyechart.acc1[ImGT]"]) == number["value"]
        assert [float(end) for end in told["eyechart.acc1[ImGT].interval"].split()] == number["ci"]
        assert told["eyechart.acc1[ImGT].n"] == str(number["n"])


def test_no_property_is_a_whole_record(serial: Any) -> None:
    (one, *_) = properties(serial.folder / "junit.xml").values()
    assert {"eyechart.protocol", "eyechart.images", "eyechart.errors", "eyechart.weights", "eyechart.data"} <= {*one}
    assert all(len(value) <= 64 and "{" not in value for value in one.values())


def test_a_users_own_properties_stay(world: Any) -> None:
    world.passes("--junitxml=junit.xml", world.plugin(OWN))
    assert {each["owner"] for each in properties(world.folder / "junit.xml").values()} == {"{'eyechart': 'me'}"}


def test_a_case_with_errors_has_its_numbers_too(world: Any) -> None:
    replayed(world)
    lines = (world.folder / "a.csv").read_text().splitlines()
    (world.folder / "a.csv").write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ",??", ""]))
    world.run("--junitxml=junit.xml")
    assert all("eyechart.acc1[ImGT]" in each for each in properties(world.folder / "junit.xml").values())
