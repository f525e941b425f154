"""Arguments and options that several commands have."""

import click
import pytest

from eyechart.commands.parameters import FORMATS, ParsedBy
from eyechart.reports.tables.render import RENDERERS


def test_formats_are_those_of_the_reports() -> None:
    assert tuple(RENDERERS) == FORMATS


@click.command()
@click.option("--margin", type=ParsedBy("eyechart.gate.verdicts.decide:parse_margin"), default=0.7)
@click.option("--other", type=ParsedBy("no_such_module:parse"))
def command(margin: float, other: object) -> None:
    """Print what was parsed."""
    click.echo(f"{margin!r} {other!r}")


def call(*words: str) -> None:
    command(list(words), standalone_mode=False)


def test_an_option_is_parsed_by_the_library_and_a_default_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    call("--margin=0.25")
    call()  # a function that cannot be imported is not needed, and the default is no valid margin
    assert capsys.readouterr().out == "0.25 None\n0.7 None\n"


def test_the_sentence_of_the_library_is_a_wrong_use_of_the_option() -> None:
    with pytest.raises(click.BadParameter) as error:
        call("--margin=0.7")
    assert error.value.format_message().startswith("Invalid value for '--margin': ")
    assert "below 0.5" in error.value.message
