"""Every example in a docstring holds."""

import doctest
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from inspect import isclass
from pkgutil import walk_packages
from types import ModuleType

import pytest

import eyechart
from eyechart import plugins

MODULES = [
    found.name
    for package in (eyechart, plugins)
    for found in walk_packages(package.__path__, f"{package.__name__}.")
    if not found.name.endswith("__main__")
]


def examples(module: ModuleType) -> Iterator[doctest.DocTest]:
    """All of a module; doctest does not look into cached properties by itself."""
    finder = doctest.DocTestFinder()
    yield from finder.find(module)
    own = [kind for kind in vars(module).values() if isclass(kind) and kind.__module__ == module.__name__]
    for kind in own:
        for name, found in vars(kind).items():
            if isinstance(found, cached_property):
                yield from finder.find(found.func, f"{kind.__qualname__}.{name}", module, vars(module))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_hold(name: str) -> None:
    runner = doctest.DocTestRunner()
    assert sum(runner.run(each).failed for each in examples(import_module(name))) == 0


def test_examples_of_cached_properties_are_found() -> None:
    found = [each for each in examples(import_module("eyechart.metrics.hierarchy")) if each.name == "Tree.leaf_counts"]
    assert [len(each.examples) for each in found] == [1]
