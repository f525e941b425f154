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
from eyechart.models.runtime.torchvision_repair import repair

pytestmark = pytest.mark.deep

repair()  # before the modules import lightning and transformers

MODULES = [
    found.name
    for package in (eyechart, plugins)
    for found in walk_packages(package.__path__, f"{package.__name__}.")
    if not found.name.endswith("__main__")
]


def examples(module: ModuleType) -> Iterator[doctest.DocTest]:
    """All of a module; doctest does not look into cached properties by itself.

    Docstrings without an example are left out: before each of them doctest looks at every source file it has read.
    """
    yield from (found for found in docstrings(module) if found.examples)


def docstrings(module: ModuleType) -> Iterator[doctest.DocTest]:
    """All of a module, whether they have examples or not."""
    finder = doctest.DocTestFinder()
    yield from finder.find(module)
    own = [kind for kind in vars(module).values() if isclass(kind) and kind.__module__ == module.__name__]
    for kind in own:
        for name, found in vars(kind).items():
            if isinstance(found, cached_property):
                yield from finder.find(found.func, f"{kind.__qualname__}.{name}", module, vars(module))


def test_the_examples_hold() -> None:
    """What doctest prints of an example that does not hold names its file and line."""
    runner = doctest.DocTestRunner()
    found = [each for name in MODULES for each in examples(import_module(name))]
    assert [each.name for each in found if runner.run(each).failed] == []
    assert runner.tries > 300


def test_examples_of_cached_properties_are_found() -> None:
    found = [
        each
        for each in examples(import_module("eyechart.realbirdid.statistics.hierarchy"))
        if each.name == "Tree.leaf_counts"
    ]
    assert [len(each.examples) for each in found] == [1]
