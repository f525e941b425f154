"""Commands of other packages: found by their entry points, and refused in a sentence."""

from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest

import eyechart.cli
from eyechart.cli import command_sections, main


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Add an entry point of another package."""
    find = eyechart.cli.find_entry_points

    def register(name: str, value: str) -> None:
        point = EntryPoint(name, value, eyechart.cli.GROUP)
        monkeypatch.setattr(eyechart.cli, "find_entry_points", lambda group: (*find(group), point))
        command_sections.cache_clear()

    yield register
    command_sections.cache_clear()


@click.command
def audition() -> None:
    """Listen."""
    click.echo("heard")


def test_a_command_of_another_package_runs_and_is_listed(
    register: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    register("audition", f"{__name__}:audition")
    assert main(["audition"]) == 0
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("heard\n")
    assert "Other packages:\n  audition  Listen." in said


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("divide", "theirs:divide", "Two packages register the command 'divide': eyechart.oodbench.commands:"),
        ("audition", "json:loads", "which is an object of the type function. Expected a click.Command"),
        (
            "audition",
            "no_such_module:command",
            "The entry point 'audition' of eyechart.commands names no_such_module:command, which cannot be imported",
        ),
    ],
)
def test_what_is_no_command_is_refused(
    register: Callable[..., None], capsys: pytest.CaptureFixture[str], name: str, value: str, sentence: str
) -> None:
    register(name, value)
    assert main([name]) == 2
    assert sentence in capsys.readouterr().err


@click.command()
def rehearse() -> None:
    """Write to a full disk."""
    Path("/dev/full").write_text("all", encoding="utf-8")


def test_a_full_disk_is_no_unreadable_file(register: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    register("rehearse", f"{__name__}:rehearse")
    assert main(["rehearse"]) == 2
    said = capsys.readouterr().err
    assert said.endswith(
        "cannot be used (No space left on device). Free some space, or name another folder with --out.\n"
    )
