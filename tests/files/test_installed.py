"""Files that installed packages offer by an entry point, such as prompts."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eyechart.errors import DataError
from eyechart.files.installed import find_files

GROUP = "eyechart.test_files"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """A function that installs a package with files for this test."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(package: str, *names: str, target: str = "") -> None:
        (tmp_path / package / "texts").mkdir(parents=True)
        for name in ("__init__.py", "texts/__init__.py", *(f"texts/{name}" for name in names)):
            (tmp_path / package / name).write_text("")
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{GROUP}]\nmine = {target or f'{package}.texts'}\n")

    yield add
    for module in [name for name in sys.modules if name.startswith("files_of_")]:
        del sys.modules[module]


def test_files_of_several_packages_are_found_by_stem(install: Callable[..., None], tmp_path: Path) -> None:
    install("files_of_one", "a.toml", "b.toml", "c.txt")
    install("files_of_two", "d.toml")
    texts = tmp_path / "files_of_one/texts"
    assert find_files(GROUP, ".toml") == {
        "a": texts / "a.toml",
        "b": texts / "b.toml",
        "d": tmp_path / "files_of_two/texts/d.toml",
    }


def test_two_files_of_one_name_are_refused_with_both(install: Callable[..., None]) -> None:
    install("files_of_one", "a.toml")
    install("files_of_two", "a.toml")
    with pytest.raises(DataError, match=r"'a' of .*files_of_one/texts/a\.toml and .*files_of_two/texts/a\.toml\. Un"):
        find_files(GROUP, ".toml")


@pytest.mark.parametrize("target", ["no_such_package", "files_of_one.texts.a", "json.tool"])
def test_an_entry_point_of_no_package_is_refused(install: Callable[..., None], target: str) -> None:
    install("files_of_one", "a.toml", target=target)
    with pytest.raises(DataError, match=rf"'mine' of {GROUP} names {target}, which is no package"):
        find_files(GROUP, ".toml")
