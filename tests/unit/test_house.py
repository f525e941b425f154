"""The house's own rules: who imports whom, and what no file may hold."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SURFACES = ("benchmarks", "fixtures", "plugins", "reports")
MODULES = [
    path for folder in ("src", "action", *SURFACES, "tests", "tools") for path in sorted((ROOT / folder).rglob("*.py"))
]
WEIGHTS = ROOT / "src/eyechart/samples/toybox-mllm/model.safetensors"
EXTRAS = re.compile(r"(?:eyechart|\.)\[([a-z,-]+)\]")
FOREIGN = re.compile(rb"(index|registry)[-_.]url|files\.pythonhosted|pypi\.org|/root/|/home/\w+/")


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_but_the_packaged_models_weights_is_over_five_megabytes() -> None:
    large = [path for path in tracked() if path.stat().st_size > 5_000_000]
    assert [path for path in large if path != WEIGHTS] == []


def test_no_config_names_a_registry_or_a_path_of_some_machine() -> None:
    configs = [path for path in tracked() if path.suffix in {".toml", ".cfg", ".ini", ".yaml", ".yml", ".txt", ".lock"}]
    assert [path for path in configs if FOREIGN.search(path.read_bytes())] == []


def imported(path: Path) -> set[str]:
    """Modules that a file imports by their absolute names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_imports_the_library_and_no_other_surface(surface: str) -> None:
    others = tuple(f"eyechart.{other}" for other in SURFACES)
    names = {name for path in (ROOT / surface).rglob("*.py") for name in imported(path)}
    assert [name for name in names if name.startswith(others)] == []


def test_the_library_knows_nothing_of_pytest_or_the_surfaces() -> None:
    barred = ("pytest", "_pytest", *(f"eyechart.{surface}" for surface in SURFACES))
    library = [path for path in (ROOT / "src").rglob("*.py") if not {"api", "cli"} & {*path.parts}]
    names = {name for path in library for name in imported(path)}
    assert [name for name in names if name.startswith(barred)] == []


def test_a_file_is_one_thing() -> None:
    lines = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    assert {name: length for name, length in lines.items() if length > 500} == {}


def test_every_extra_is_named_in_the_documentation_or_in_a_message() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    guides = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = [path.read_text(encoding="utf-8") for path in (*guides, *MODULES) if "tests" not in path.parts]
    named = {extra for text in texts for found in EXTRAS.findall(text) for extra in found.split(",")}
    assert {*project["optional-dependencies"]} - named == set()
