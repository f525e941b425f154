"""Arguments and options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

import click

from eyechart.errors import EyechartError
from eyechart.files.folders import STORE

Command = TypeVar("Command", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)
FORMATS = ("md", "csv", "tex")


class ParsedBy(click.ParamType):  # type: ignore[type-arg]  # it takes one since click 8.5
    """A value that a function of the library parses; the function is imported when the option is given."""

    def __init__(self, target: str) -> None:
        self.target = self.name = target

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the parsed value; defaults are parsed values."""
        if not isinstance(value, str):
            return value
        try:
            return resolve_name(self.target)(value)
        except EyechartError as error:
            self.fail(str(error), param, ctx)


runs_argument = click.argument("runs", metavar="RUN…", nargs=-1, required=True, type=PATH)
division_argument = click.argument("division", metavar="DIVISION.json", type=PATH)
format_option = click.option(
    "--format", "format_name", type=click.Choice(FORMATS), default="md", show_default=True, help="Format of the tables."
)
labels_option = click.option("--labels", metavar="NAME", help="Only this label set.")
annotations_option = click.option(
    "--annotations", metavar="ANSWERS.json", multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),  # also where no table reads it
    help="For F7 and reannotated: answers to a sheet of `eyechart annotate`. Repeatable.",
)  # fmt: skip
reference_option = click.option(
    "--reference", metavar="SPEC", multiple=True,
    help="For oodbench-signature, oodbench-F10 and reannotated: a model to compare the others with. Repeatable. "
    "[default: all; for reannotated, the one of the highest published accuracy]",
)  # fmt: skip
data_option = click.option("--data", metavar="ROOT", help="Folder of the images, as for --eye-data.")
recorded_data_option = click.option(
    "--data", metavar="ROOT", help="Folder of the images, as for --eye-data. [default: the recorded folder]"
)
store_option = click.option(
    "--store", metavar="DIR", type=PATH, default=STORE, show_default=True, help="Folder of the store, as --eye-store."
)
offline_option = click.option("--offline", is_flag=True, help="Never open a network connection.")


def seed_option(text: str) -> Callable[[Command], Command]:
    """Return the option for the seed."""
    return click.option("--seed", metavar="N", type=click.IntRange(0), default=42, show_default=True, help=text)
