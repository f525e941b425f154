"""Every example in a docstring holds."""

import doctest
from importlib import import_module
from pkgutil import walk_packages

import pytest

import eyechart
from eyechart import plugins

MODULES = [
    found.name
    for package in (eyechart, plugins)
    for found in walk_packages(package.__path__, f"{package.__name__}.")
    if not found.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_hold(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
