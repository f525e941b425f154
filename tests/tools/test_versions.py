"""tools/versions.py makes environments from local packages; the table in docs has the bounds of pyproject.toml."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

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
TESTS = """
from pathlib import Path
from importlib.metadata import version
import pytest
import tiny

def test_that_passes():
    assert tiny.ANSWER == 42

def test_that_newer_versions_break():
    assert version("timm") < "3"

@pytest.mark.skip
def test_that_is_skipped():
    pass

def test_that_fails_once():
    once = Path("build/once-" + version("timm"))
    if not once.exists():
        once.touch()
        pytest.fail()
"""
PAGE = f"before\n\n{versions.BEGIN}\nold\n{versions.END}\n\nafter\n"
Done = subprocess.CompletedProcess[str]


def make_wheel(folder: Path, name: str, version: str) -> None:
    """Write a package with nothing in it."""
    info = f"{name}-{version}.dist-info"
    with ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def repack(folder: Path, name: str) -> None:
    """Write an installed package as a wheel."""
    package = distribution(name)
    with ZipFile(folder / f"{name}-{package.version}-py3-none-any.whl", "w") as wheel:
        for file in package.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts and package.locate_file(file).is_file():
                wheel.write(package.locate_file(file), str(file))


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels instead of an index."""
    folder = tmp_path_factory.mktemp("packages")
    for name, version in [("timm", "1.0"), ("timm", "1.1"), ("timm", "2.5"), ("timm", "3.0"), ("pandas", "2.0")]:
        make_wheel(folder, name, version)
    for name in ("iniconfig", "packaging", "pluggy", "pygments", "pytest", "setuptools"):
        repack(folder, name)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with three tests."""
    folder = tmp_path / "project"
    (folder / "tests").mkdir(parents=True)
    for name, text in {"pyproject.toml": PROJECT, "tiny.py": "ANSWER = 42\n", "tests/test_tiny.py": TESTS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / ".gitignore").write_text("build/\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def run(project: Path, packages: Path, *arguments: str, path: str | None = None) -> Done:
    """Run the script in a project, on this interpreter."""
    indices = [str(Path(sys.executable).parent), os.environ["PATH"]] if path is None else [path]
    environ = {"PATH": os.pathsep.join(indices), "UV_NO_INDEX": "1", "UV_OFFLINE": "1", "UV_FIND_LINKS": str(packages)}
    environ |= {"HOME": str(project.parent), "UV_CACHE_DIR": str(project.parent / "cache")}
    command = [sys.executable, str(ROOT / "tools/versions.py"), "--python", sys.executable, *arguments]
    return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=False)


def read_table(text: str) -> list[dict[str, str]]:
    """The rows of a Markdown table by their columns."""
    head, _, *rows = [line.strip("| ").split(" | ") for line in text.strip().splitlines()]
    return [dict(zip(head, row, strict=True)) for row in rows]


@pytest.mark.deep
def test_each_environment_has_its_versions_and_a_row(project: Path, packages: Path) -> None:
    page, every = project / "page.md", ("--versions", "lowest", "highest", "newest")
    page.write_text(PAGE, encoding="utf-8")
    done = run(project, packages, *every, "--page", str(page), "--", "tests")
    assert done.returncode == 1, done.stdout + done.stderr  # a test fails with the newest version
    table = read_table(done.stdout)
    assert [(row["versions"], row["timm"], row["pandas"], row["torch"]) for row in table] == [
        ("lowest", "1.1", "2.0", "–"), ("highest", "2.5", "2.0", "–"), ("newest", "3.0", "2.0", "–"),
    ]  # fmt: skip
    counts = [" ".join((row["passed"], row["failed"], row["skipped"])) for row in table]
    assert counts == ["3 0 1", "3 0 1", "2 1 1"]  # with the test that fails once
    assert re.search(r"-newest: .*test_that_newer_versions_break failed", done.stderr)
    assert done.stderr.count("install and test") == 3
    text = page.read_text(encoding="utf-8")
    assert done.stdout.strip() in text
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert not [*project.glob("build/versions/*/venv")]

    assert run(project, packages, *every, "--", "tests").stdout == done.stdout  # from the files of the first run
    assert "install and test" not in run(project, packages, *every, "--", "tests").stderr
    (project / "tests/test_tiny.py").write_text("def test_other():\n    pass\n", encoding="utf-8")
    again = run(project, packages, "--versions", "lowest", "--", "tests")
    assert (again.returncode, again.stderr.count("install and test")) == (0, 1), again.stderr
    assert "| 1 | 0 | 0 |" in again.stdout


@pytest.mark.deep
def test_what_cannot_be_made_is_an_error_and_the_others_are_made(project: Path, packages: Path) -> None:
    text = (project / "pyproject.toml").read_text(encoding="utf-8")
    (project / "pyproject.toml").write_text(text.replace("timm>=1.1,<3", "timm>=3,<3"), encoding="utf-8")
    done = run(project, packages, "--versions", "highest", "newest", "--", "tests")
    assert done.returncode == 1
    assert re.search(r"error: \S+-highest: `.*uv pip compile.*` ended with status 1:\n.*timm", done.stderr, re.DOTALL)
    assert "| newest |" in done.stdout


def test_without_uv_the_error_names_the_command(project: Path, packages: Path, tmp_path: Path) -> None:
    done = run(project, packages, path=str(tmp_path))
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
