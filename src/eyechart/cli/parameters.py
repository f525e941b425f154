"""Arguments and options that several commands have."""

from pathlib import Path

import click

from eyechart.paths import STORE

PATH = click.Path(path_type=Path)
FORMATS = ("md", "csv", "tex")

runs_argument = click.argument("runs", metavar="RUN…", nargs=-1, required=True, type=PATH)
format_option = click.option(
    "--format", "format_name", type=click.Choice(FORMATS), default="md", show_default=True, help="Format of the tables."
)
labels_option = click.option("--labels", metavar="NAME", help="Only this label set.")
annotations_option = click.option(
    "--annotations", metavar="ANSWERS.json", type=PATH, multiple=True,
    help="For F7: answers to a sheet of `eyechart annotate`. Repeatable.",
)  # fmt: skip
reference_option = click.option(
    "--reference", metavar="SPEC", multiple=True,
    help="For oodbench-signature and oodbench-F10: a model to compare the others with. Repeatable. [default: all]",
)  # fmt: skip
data_option = click.option("--data", metavar="ROOT", help="Folder of the images, as for --eye-data.")
store_option = click.option(
    "--store", metavar="DIR", type=PATH, default=STORE, show_default=True, help="Folder of the store of the run."
)
offline_option = click.option("--offline", is_flag=True, help="Never open a network connection.")
