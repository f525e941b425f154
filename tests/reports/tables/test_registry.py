"""Tables are found by their names and numbers, and no two have one name."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from eyechart.errors import ReportError
from eyechart.reports.runs import Runs
from eyechart.reports.tables import registry
from eyechart.reports.tables.registry import tables as make_tables
from eyechart.reports.tables.render import to_csv


def test_every_name_and_number_of_a_table_finds_it(runs: Runs) -> None:
    by_number, by_name = (to_csv(make_tables(name, runs)) for name in ("t4", "Label-Categories"))
    assert by_number == by_name


class Point:
    """An entry point of another package."""

    def __init__(self, name: str, entry: Any) -> None:
        self.name, self.value, self.entry = name, "package:TABLE", entry

    def load(self) -> Any:
        return self.entry


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Add entry points of another package to our tables."""

    def install(*points: Point) -> None:
        ours = registry.find_entry_points("eyechart.tables")
        monkeypatch.setattr(registry, "find_entry_points", lambda _: [*ours, *points])

    return install


def test_a_table_of_another_package_may_not_have_a_known_name(install: Callable[..., None]) -> None:
    install(Point("T4", lambda *_: []))
    with pytest.raises(ReportError, match=r"T4 = package:TABLE of this group has the name of another\. Rename"):
        registry.registered("this group")


def test_a_catalogue_of_another_package_adds_each_of_its_tables(install: Callable[..., None]) -> None:
    first, second = (SimpleNamespace(name=name, alias=alias) for name, alias in (("one", "X1"), ("two", "X2")))
    install(Point("study", (first, second)), Point("alone", print))
    found = registry.registered("a group with a catalogue")
    assert {name: found[name] for name in [*found][-3:]} == {"one": first, "two": second, "alone": print}
    install(Point("X1", print))
    with pytest.raises(ReportError, match=r"X1 = package:TABLE of another such group has the name of another"):
        registry.registered("another such group")
