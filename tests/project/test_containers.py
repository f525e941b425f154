"""The Dockerfiles name what exists, and copy what the wheel is built from."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob("docker/*.Dockerfile"))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
each_file = pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)


def instructions(file: Path) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile with their arguments, each in one line and without comments."""
    text = re.sub(r"^#.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip()]


def arguments(file: Path, name: str) -> list[str]:
    """The arguments of every instruction of a name."""
    return [argument for instruction, argument in instructions(file) if instruction == name]


def copied(file: Path) -> Iterator[str]:
    """What is copied from the clone."""
    for argument in arguments(file, "COPY"):
        yield from argument.split()[:-1]


def test_there_is_one_for_processors_and_one_for_gpus() -> None:
    assert [file.name for file in FILES] == ["cpu.Dockerfile", "gpu.Dockerfile"]


@each_file
def test_the_base_image_has_a_full_version_of_a_tested_python(file: Path) -> None:
    (base,) = arguments(file, "FROM")
    assert re.fullmatch(r"python:3\.1[123]\.\d+-slim-bookworm", base)


@each_file
def test_it_runs_the_command_as_a_user_who_is_not_root(file: Path) -> None:
    assert arguments(file, "ENTRYPOINT") == ['["eyechart"]']
    assert arguments(file, "USER") == ["1000"]


@each_file
def test_every_extra_exists(file: Path) -> None:
    named = re.findall(r"--extra (\S+)", " ".join(arguments(file, "RUN")))
    assert {"models", "hub", "figures", "openai", "anthropic", "gemini"} <= {*named} <= {*EXTRAS}
    assert ("vllm" in named) == (file.name == "gpu.Dockerfile")


@each_file
def test_what_is_copied_is_there_and_is_sent_to_the_builder(file: Path) -> None:
    sent = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert sent[0] == "**"
    for name in copied(file):
        assert (ROOT / name).exists()
        assert f"!{name}" in sent


@each_file
def test_requirements_are_installed_before_the_sources_are_copied(file: Path) -> None:
    """A change of the sources leaves the large layer as it is."""
    steps = [argument for name, argument in instructions(file) if name in ("COPY", "RUN")]
    (large,) = [index for index, step in enumerate(steps) if "--requirements pyproject.toml" in step]
    assert steps[large - 1] == "pyproject.toml ./"
    assert steps.index("src src") > large


def test_the_copied_files_are_the_same_in_both() -> None:
    """The wheel of end_to_end/test_wheel.py is built from them."""
    one, other = ({*copied(file)} for file in FILES)
    assert one == other
