"""tools/versions.py names the program that it needs; the table in docs has the bounds of pyproject.toml."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import versions
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "tiny"
version = "0.1"
dependencies = ["timm>=1.1,<3"]

[project.optional-dependencies]
more = ["pandas>=2"]
test = ["tiny[more]", "pytest"]

[tool.setuptools]
py-modules = ["tiny"]
"""


def read_table(text: str) -> list[dict[str, str]]:
    """The rows of a Markdown table by their columns."""
    head, _, *rows = [line.strip("| ").split(" | ") for line in text.strip().splitlines()]
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_without_uv_the_error_names_the_command(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    command = [sys.executable, str(ROOT / "tools/versions.py"), "--python", sys.executable]
    environment = {"PATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: The program `uv` is not installed. Install it with: pip install uv\n"


def test_a_page_without_a_place_for_the_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("text", encoding="utf-8")
    with pytest.raises(versions.VersionsError, match=r"page\.md has no place for the table\. Add the lines"):
        versions.write_table(tmp_path / "page.md", "table")


def documented() -> list[dict[str, str]]:
    """The rows of the table in docs/installation.md."""
    text = (ROOT / "docs/installation.md").read_text(encoding="utf-8")
    return read_table(text.partition(versions.BEGIN)[2].partition(versions.END)[0])


def bounds() -> dict[str, Requirement]:
    """The requirements of pyproject.toml that the table has a column for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {requirement.name.replace("_", "-"): requirement for requirement in versions.direct_requirements(project)}
    return {name: names[name] for name in versions.COLUMNS}


def test_no_test_failed_in_the_environments_of_the_table() -> None:
    assert {row["versions"] for row in documented()} >= {"lowest", "highest"}
    assert {row["Python"].rpartition(".")[0] for row in documented()} == {"3.11", "3.12", "3.13"}
    assert {row["failed"] for row in documented()} == {"0"}


@pytest.mark.parametrize("name", versions.COLUMNS)
def test_the_bounds_are_those_of_the_tested_versions(name: str) -> None:
    requirement, rows = bounds()[name], documented()
    (lowest,) = [Version(part.version) for part in requirement.specifier if part.operator == ">="]
    assert min(Version(row[name]) for row in rows) == lowest
    assert all(requirement.specifier.contains(row[name]) for row in rows if row["versions"] != "newest")
