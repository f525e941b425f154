"""Public docstrings are in Google's form, which the API reference parses into tables."""

import re
from collections.abc import Iterator
from pathlib import Path

import griffe
import pytest

pytestmark = pytest.mark.deep  # griffe comes with the tools of the site

ROOT = Path(__file__).parents[2]
SECTIONS = ("Args", "Returns", "Raises", "Yields")
FOLDERS = ("src/eyechart", "plugins", "fixtures")


def functions_with_parameters(folder: str) -> Iterator[tuple[str, griffe.Function]]:
    """Yield the functions of a folder whose docstring names a section of parameters."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(f"    {name}:" in text for name in SECTIONS):
            module = griffe.visit(path.stem, filepath=path, code=text)
            yield from (
                (f"{path.relative_to(ROOT)}: {name}", member)
                for name, member in walk(module)
                if isinstance(member, griffe.Function) and member.docstring
            )


def walk(module: griffe.Module | griffe.Class) -> Iterator[tuple[str, griffe.Object]]:
    for name, member in module.members.items():
        if isinstance(member, griffe.Class):
            yield from walk(member)
        elif isinstance(member, griffe.Object):
            yield name, member


@pytest.mark.parametrize("folder", FOLDERS)
def test_sections_are_parsed_and_name_every_parameter(folder: str) -> None:
    wrong = []
    for name, function in functions_with_parameters(folder):
        docstring = function.docstring
        assert docstring is not None
        parsed = docstring.parse("google", warnings=False)
        written = {section for section in SECTIONS if f"\n{section}:" in f"\n{docstring.value}"}
        kinds = {section.kind.value for section in parsed}
        expected = {"Args": "parameters", "Returns": "returns", "Raises": "raises", "Yields": "yields"}
        wrong += [f"{name}: {section} is not parsed" for section in written if expected[section] not in kinds]
        known = {parameter.name for parameter in function.parameters} - {"self", "cls"}
        for section in parsed:
            if section.kind is griffe.DocstringSectionKind.parameters:
                stated = {parameter.name.lstrip("*") for parameter in section.value}
                wrong += [f"{name}: {', '.join(sorted(stated ^ known))}"] if stated != known else []
    assert wrong == [], "\n".join(wrong)


def find_documented(name: str) -> griffe.Object:
    """Return a module, a class or a function without importing it; an imported name is that of its own module."""
    module, _, member = name.rpartition(".")
    path = ROOT / "src" / Path(*name.split(".")).with_suffix(".py")
    if path.exists():
        return griffe.visit(path.stem, filepath=path, code=path.read_text(encoding="utf-8"))
    path = ROOT / "src" / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = griffe.visit(path.stem, filepath=path, code=path.read_text(encoding="utf-8")).members[member]
    return find_documented(found.target_path) if isinstance(found, griffe.Alias) else found


def members_of_the_reference() -> Iterator[tuple[str, griffe.Function]]:
    """Yield the functions and methods that docs/api.md shows, but those that a training library calls."""
    for name in re.findall(r"^::: (\S+)", (ROOT / "docs/api.md").read_text(encoding="utf-8"), re.MULTILINE):
        shown = find_documented(name)
        members = [(name, shown)] if isinstance(shown, griffe.Function) else [*walk(shown)]
        for member, function in members:
            is_public = not member.startswith(("_", "on_train", "on_step"))
            if is_public and isinstance(function, griffe.Function):
                yield f"{name}.{member}", function


def test_every_function_of_the_api_reference_describes_its_parameters() -> None:
    shown, lacking = 0, []
    for name, function in members_of_the_reference():
        parameters = [parameter for parameter in function.parameters if parameter.name not in ("self", "cls")]
        kinds = {section.kind.value for section in function.docstring.parse("google")} if function.docstring else set()
        shown += bool(parameters)
        lacking += [name] if parameters and "parameters" not in kinds else []
    assert shown > 30
    assert lacking == []
