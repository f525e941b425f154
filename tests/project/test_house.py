"""The house's own rules: who imports whom, and what no file may hold."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SURFACES = ("benchmarks", "fixtures", "plugins")
MODULES = [
    path for folder in ("src", "action", *SURFACES, "tests", "tools") for path in sorted((ROOT / folder).rglob("*.py"))
]
WEIGHTS = ROOT / "src/eyechart/samples/toybox-mllm/model.safetensors"
EXTRAS = re.compile(r"(?:eyechart|\.)\[([a-z,-]+)\]")
NAMED = "|".join(SURFACES)
BARRED = re.compile(
    rf"^\s*(?:(?:import|from) (?:_?pytest\b|eyechart\.(?:{NAMED})\b)|from eyechart import [^#\n]*\b(?:{NAMED})\b)",
    re.MULTILINE,
)
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


def test_the_library_imports_neither_pytest_nor_the_surfaces() -> None:
    library = [path for path in (ROOT / "src").rglob("*.py") if not {"api", "cli"} & {*path.parts}]
    assert len(library) > 300
    assert [path for path in library if BARRED.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "line",
    [
        "import pytest",
        "    from _pytest import runner",
        "from eyechart.plugins.options import x",
        "from eyechart import (a, plugins)",
    ],
)
def test_an_import_that_the_library_must_not_have_is_found(line: str) -> None:
    assert BARRED.search(f'"""A module."""\n\n{line}\n')


def test_a_file_is_one_thing() -> None:
    lines = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    assert {name: length for name, length in lines.items() if length > 500} == {}


def test_every_extra_is_named_in_the_documentation_or_in_a_message() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    guides = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = [path.read_text(encoding="utf-8") for path in (*guides, *MODULES) if "tests" not in path.parts]
    named = {extra for text in texts for found in EXTRAS.findall(text) for extra in found.split(",")}
    assert {*project["optional-dependencies"]} - named == set()
