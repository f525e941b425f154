"""The table of tested versions in docs/installation.md has the bounds of pyproject.toml."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PACKAGES = ("torch", "transformers", "open-clip-torch", "timm", "numpy", "pandas", "pytest")
EXTRAS = ("models", "test")


def _documented() -> list[dict[str, str]]:
    text = (ROOT / "docs/installation.md").read_text(encoding="utf-8")
    table = text.partition("<!-- table: versions -->")[2].partition("<!-- end of table -->")[0]
    head, _, *rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()]
    return [dict(zip(head, row, strict=True)) for row in rows]


def _bounds() -> dict[str, Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (project["optional-dependencies"][extra] for extra in EXTRAS)
    found = map(Requirement, (*project["dependencies"], *(text for extra in extras for text in extra)))
    return {requirement.name.replace("_", "-"): requirement for requirement in found}


def test_no_test_failed_in_the_environments_of_the_table() -> None:
    assert {row["versions"] for row in _documented()} >= {"lowest", "highest"}
    assert {row["Python"].rpartition(".")[0] for row in _documented()} == {"3.11", "3.12", "3.13"}
    assert {row["failed"] for row in _documented()} == {"0"}


@pytest.mark.parametrize("name", PACKAGES)
def test_the_bounds_are_those_of_the_tested_versions(name: str) -> None:
    requirement, rows = _bounds()[name], _documented()
    (lowest,) = [Version(part.version) for part in requirement.specifier if part.operator == ">="]
    assert min(Version(row[name]) for row in rows) == lowest
    assert all(requirement.specifier.contains(row[name]) for row in rows)
