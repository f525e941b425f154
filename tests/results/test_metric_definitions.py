"""A metric is defined once, by one package, and the definition gives every estimate its direction."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import SpecError
from eyechart.results.estimates import Estimate
from eyechart.results.metric_definitions import MetricDefinition, metric_definitions

MODULE = """
from eyechart.results.metric_definitions import MetricDefinition

MINE = MetricDefinition("{name}", "The proportion of pictures that are mine.", higher_is_better={better})
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """A function that installs a package with one definition, registered by an entry point, for this test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    metric_definitions.cache_clear()

    def add(package: str, name: str, better: bool | None = True, target: str = "MINE") -> None:
        (tmp_path / f"{package}.py").write_text(MODULE.format(name=name, better=better))
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[eyechart.metrics]\nmine = {package}:{target}\n")

    yield add
    for name in ("one_package", "other_package"):
        sys.modules.pop(name, None)
    metric_definitions.cache_clear()


@pytest.mark.parametrize(
    ("first", "name"), [("one_package:MINE", "of_two"), ("eyechart.results.shared_metrics:DEFINITIONS", "ece")]
)
def test_two_packages_that_define_one_metric_are_refused_by_both_names(
    install: Callable[..., None], first: str, name: str
) -> None:
    if first.startswith("one_package"):
        install("one_package", name)
    install("other_package", name)
    with pytest.raises(
        SpecError, match=rf"The metric '{name}' is defined twice, by {first} and by other_package:MINE .*another name\."
    ):
        metric_definitions()


def test_an_entry_point_of_something_else_is_refused(install: Callable[..., None]) -> None:
    install("one_package", "of_one", target="MetricDefinition")
    with pytest.raises(SpecError, match=r"one_package:MetricDefinition, which holds a type\. Expected a MetricDef"):
        metric_definitions()


def test_an_entry_point_that_cannot_be_imported_is_refused_by_its_package(install: Callable[..., None]) -> None:
    install("one_package", "of_one", target="MIEN")
    with pytest.raises(
        SpecError, match=r"'mine' of eyechart\.metrics of the package one_package names one_package:MIEN"
    ):
        metric_definitions()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [({"unit": "characters"}, 'the unit \'characters\'. Expected "share"'),
     ({"kind": "rate"}, 'the kind \'rate\'. Expected "accuracy", or "score"'), ({"range": (0.0,)}, "the range (0.0,)"),
     ({"range": (1.0, 0.0)}, "the range (1.0, 0.0). Expected the least and the largest value")],
)  # fmt: skip
def test_a_definition_that_cannot_be_meant_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SpecError, match=re.escape(sentence)):
        MetricDefinition("length", "The length.", higher_is_better=None, **fields)


@pytest.mark.parametrize("better", [True, False, None])
def test_an_estimate_has_the_direction_of_its_definition_unless_it_states_one(
    install: Callable[..., None], better: bool | None
) -> None:
    install("one_package", "of_one", better)
    assert Estimate(name="of_one", value=0.5, n=4).higher_is_better is better
    assert Estimate(name="of_one", value=0.5, n=4, higher_is_better=None).higher_is_better is None
    assert Estimate(name="defined_by_none", value=0.5, n=4).higher_is_better is None
