"""A protocol is found by the name of its module, and a name that nothing has is refused with what may be meant."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eyechart.errors import DataError, SpecError
from eyechart.protocol.registry import get_protocol, protocol_modules

MINE = """
from eyechart.protocol.base import Protocol

class Mine(Protocol):
    name = "{name}"
    requires = ("generator",)

    def predict(self, context):
        raise NotImplementedError
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """A function that installs a package with modules of protocols for this test."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(package: str, target: str = "", **modules: str) -> None:
        (tmp_path / package / "protocols").mkdir(parents=True)
        (tmp_path / package / "__init__.py").write_text("raise ImportError('imported before it is used')")
        for name, code in {"__init__": "", **modules}.items():
            (tmp_path / package / "protocols" / f"{name}.py").write_text(code, encoding="utf-8")
        folder = tmp_path / f"{package}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        points = f"[eyechart.protocols]\nmine = {target or f'{package}.protocols'}\n"
        (folder / "entry_points.txt").write_text(points)
        protocol_modules.cache_clear()

    yield add
    protocol_modules.cache_clear()
    for name in [name for name in sys.modules if name.startswith("with_protocols")]:
        del sys.modules[name]


@pytest.fixture
def importable(tmp_path: Path, install: Callable[..., None]) -> Callable[..., None]:
    """A function that installs a package that can be imported."""

    def add(package: str, **modules: str) -> None:
        install(package, **modules)
        (tmp_path / package / "__init__.py").write_text("")

    return add


def test_an_unknown_protocol_is_refused_with_a_near_name_and_what_a_new_entry_point_needs() -> None:
    with pytest.raises(
        SpecError,
        match=r"'closd_world' is not known; did you mean closed_world .* After a new entry point in the "
        r"pyproject\.toml of a package, install the package again\.",
    ):
        get_protocol("closd_world")


def test_a_module_in_the_folder_of_an_entry_point_is_a_protocol(importable: Callable[..., None]) -> None:
    importable("with_protocols", mine=MINE.format(name="mine"))
    assert protocol_modules()["mine"] == "with_protocols.protocols.mine"
    assert get_protocol("mine").requires == ("generator",)


def test_names_are_known_without_an_import_of_the_package(install: Callable[..., None]) -> None:
    install("with_protocols", unused=MINE.format(name="unused"))
    assert "unused" in protocol_modules()
    with pytest.raises(SpecError, match=r"with_protocols\.protocols\.unused .* cannot be imported \(imported before"):
        get_protocol("unused")


def test_a_module_has_the_name_of_its_protocol(importable: Callable[..., None]) -> None:
    importable("with_protocols", other=MINE.format(name="mine"))
    with pytest.raises(SpecError, match=r"other\.py has 0 .* `name` is 'other'; its names: 'mine' \(Mine\)\. Expected"):
        get_protocol("other")


def test_a_module_without_a_protocol_is_refused(importable: Callable[..., None]) -> None:
    importable("with_protocols", parts="SIZE = 3\n")
    with pytest.raises(SpecError, match=r"parts\.py has 0 .* its names: none\. .* code that is no protocol"):
        get_protocol("parts")


def test_two_packages_with_one_protocol_are_refused_with_both(install: Callable[..., None]) -> None:
    install("with_protocols", zero_shot=MINE.format(name="zero_shot"))
    with pytest.raises(
        SpecError, match=r"'zero_shot': eyechart\.class.*\.zero_shot and with_protocols\.protocols\.zero_shot\. Uninst"
    ):
        protocol_modules()


def test_an_entry_point_that_names_a_class_is_refused(install: Callable[..., None]) -> None:
    install("with_protocols", target="with_protocols.protocols.mine:Mine", mine=MINE.format(name="mine"))
    with pytest.raises(DataError, match=r"'mine' of eyechart\.protocols names .*:Mine, which is no package"):
        protocol_modules()
