"""Name the packages: all folders with an `__init__.py` below those that `package-dir` in pyproject.toml names."""

import tomllib
from pathlib import Path

from setuptools import find_packages, setup

settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
folders = settings["package-dir"]
setup(packages=[*folders, *(f"{name}.{inner}" for name, folder in folders.items() for inner in find_packages(folder))])
