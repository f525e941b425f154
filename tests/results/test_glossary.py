"""The sentences about label sets, subsets and levels come from all installed packages."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eyechart.errors import SpecError
from eyechart.results.glossary import describe_label_set, glossary

MODULE = """
from eyechart.results.glossary import Glossary

WORDS = Glossary(label_sets={{"{name}": "{sentence}"}})
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str, str], None]]:
    """A function that installs a package with the sentence of one label set for this test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    glossary.cache_clear()

    def add(package: str, name: str, sentence: str) -> None:
        (tmp_path / f"{package}.py").write_text(MODULE.format(name=name, sentence=sentence))
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[eyechart.glossary]\n{package} = {package}:WORDS\n")

    yield add
    for package in ("one_package", "other_package"):
        sys.modules.pop(package, None)
    glossary.cache_clear()


def test_a_package_explains_its_names_and_two_may_share_a_sentence(install: Callable[[str, str, str], None]) -> None:
    install("one_package", "colours", "The colour of a picture.")
    install("other_package", "colours", "The colour of a picture.")
    assert describe_label_set("colours") == "The colour of a picture."
    assert describe_label_set("colours∩ReGT").startswith("Both label sets, colours and ReGT")


@pytest.mark.parametrize("name", ["colours", "ImGT"])
def test_two_sentences_for_one_name_are_refused_with_both_packages(
    install: Callable[[str, str, str], None], name: str
) -> None:
    install("one_package", name, "One sentence.")
    install("other_package", name, "Another sentence.")
    first = "one_package:WORDS" if name == "colours" else "eyechart.classification.metrics.class_definitions:GLOSSARY"
    with pytest.raises(SpecError, match=rf"'{name}' has two sentences .*: one of {first}, one of o\w+:WORDS\."):
        glossary()
