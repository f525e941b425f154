"""Public docstrings are in Google's form, which the API reference parses into tables."""

from collections.abc import Iterator
from pathlib import Path

import griffe
import pytest

pytestmark = pytest.mark.deep  # griffe comes with the tools of the site

ROOT = Path(__file__).parents[2]
SECTIONS = ("Args", "Returns", "Raises", "Yields")
FOLDERS = ("src/eyechart", "reports", "plugins", "fixtures")


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


def test_functions_of_the_api_reference_have_parameters_and_a_result() -> None:
    for file, name in (("evaluation", "evaluate"), ("determinism", "audit"), ("runs", "load_run"), ("runs", "compare")):
        path = ROOT / "src" / "eyechart" / "api" / f"{file}.py"
        function = griffe.visit(file, filepath=path, code=path.read_text(encoding="utf-8"))[name]
        kinds = {section.kind.value for section in function.docstring.parse("google", warnings=False)}
        assert {"parameters", "returns", "raises"} <= kinds, name
