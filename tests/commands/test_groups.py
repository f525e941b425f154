"""Words that are no command, and a command that has both an argument of its own and subcommands."""

from pathlib import Path

import click
import pytest

from eyechart.cli import main
from eyechart.commands.groups import CommandGroup, CommandWithSubcommands


@click.group(cls=CommandGroup)
def tool() -> None:
    """Do something."""


@tool.command()
def bark() -> None:
    """Bark."""


@tool.command()
def meow() -> None:
    """Meow."""


@tool.command(cls=CommandWithSubcommands)
@click.argument("folder")
def divide(folder: str) -> None:
    """Divide a folder."""
    click.echo(f"divided {folder}")


@divide.command("overlap")
@click.argument("other")
def overlap(other: str) -> None:
    """Count what is in both."""
    click.echo(f"overlap with {other}")


def call(*words: str) -> None:
    tool(list(words), prog_name="tool", standalone_mode=False)


def test_a_word_that_is_no_command_gets_the_nearest_and_all() -> None:
    with pytest.raises(click.UsageError) as error:
        call("brak")
    assert error.value.message == (
        "tool has no command 'brak'; did you mean bark? Its commands are: bark, divide, meow."
    )


def test_a_wrong_option_is_not_taken_for_a_command() -> None:
    with pytest.raises(click.NoSuchOption):
        call("--", "--divide")


def test_the_first_word_is_a_subcommand_or_the_argument(capsys: pytest.CaptureFixture[str]) -> None:
    call("divide", "overlap", "b")
    call("divide", "pictures")
    call("divide", "--", "overlap")
    assert capsys.readouterr().out == "overlap with b\ndivided pictures\ndivided overlap\n"


def test_a_folder_whose_name_is_nearly_a_subcommand_is_the_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(click.UsageError, match=r"there is no folder or command 'overlp'; did you mean overlap\?"):
        call("divide", "overlp")
    (tmp_path / "overlp").mkdir()
    call("divide", "overlp")
    assert capsys.readouterr().out == "divided overlp\n"


def test_the_help_names_the_subcommands_and_theirs_the_whole_command(capsys: pytest.CaptureFixture[str]) -> None:
    call("divide", "--help")
    assert "Commands:\n  overlap  Count what is in both." in capsys.readouterr().out
    call("divide", "overlap", "--help")
    assert capsys.readouterr().out.startswith("Usage: tool divide overlap [OPTIONS] OTHER\n")


def test_a_subcommand_is_suggested_where_no_folder_has_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["divide", "overlp"]) == 2
    assert "there is no folder or command 'overlp'; did you mean overlap?" in capsys.readouterr().err
