"""The main metrics of a case in the file of `--junitxml`."""

from typing import Any

import pytest

from tests.plugins.replayed_answers import properties, replayed

pytestmark = pytest.mark.deep
ACC = ("acc1", "all")
OWN = "def pytest_runtest_setup(item):\n    item.user_properties.append(('owner', {'eyechart': 'me'}))\n"


def assert_has_main_numbers(world: Any, found: dict[str, dict[str, str]]) -> None:
    """Every record has its accuracy in the file."""
    for record in world.records:
        told, (number,) = found[record["case"]], [m for m in record["metrics"] if (m["name"], m["subset"]) == ACC]
        assert float(told["eyechart.acc1[ImGT]"]) == number["value"]
        assert [float(end) for end in told["eyechart.acc1[ImGT].interval"].split()] == number["ci"]
        assert told["eyechart.acc1[ImGT].n"] == str(number["n"])


def test_junit_has_the_main_numbers_of_every_case_and_no_whole_record(serial: Any) -> None:
    found = {each["eyechart.case"]: each for each in properties(serial.folder / "junit.xml").values()}
    assert len(found) == len(serial.records) == 4
    assert_has_main_numbers(serial, found)
    (one, *_) = found.values()
    assert {"eyechart.protocol", "eyechart.images", "eyechart.errors", "eyechart.weights", "eyechart.data"} <= {*one}
    assert all(len(value) <= 64 and "{" not in value for value in one.values())


def test_with_workers_failed_cases_have_their_numbers_and_a_users_own_properties_stay(world: Any) -> None:
    replayed(world)
    lines = (world.folder / "a.csv").read_text().splitlines()
    (world.folder / "a.csv").write_text("\n".join([*lines[:-1], ""]))
    world.run("--junitxml=junit.xml", "-n2", world.plugin(OWN))
    found = {each["eyechart.case"]: each for each in properties(world.folder / "junit.xml").values()}
    assert len(found) == len(world.records) == 2
    assert sorted(each["eyechart.errors"] for each in found.values()) == ["0", "1"]
    assert_has_main_numbers(world, found)
    assert {each["owner"] for each in found.values()} == {"{'eyechart': 'me'}"}
