"""`eyechart annotate`: a sheet of disputed images for annotators."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from eyechart.commands.parameters import PATH, recorded_data_option, runs_argument, seed_option, store_option
from eyechart.files.folders import report_folder


@click.command()
@runs_argument
@click.option("--labels", metavar="NAME", required=True, help="Label set to check.")
@click.option("--model", metavar="SPEC", required=True, help="Model that disagrees, or its case id.")
@click.option("--protocol", metavar="NAME", help="Protocol, if the model has several.")
@click.option("--second", metavar="SPEC", help="Second model whose answers are also shown.")
@click.option("--second-protocol", metavar="NAME", help="Protocol of the second model.")
@click.option(
    "--category",
    metavar="NAMES",
    default="single_label_other,multi_label_other",
    show_default=True,
    help="Label categories.",
)
@click.option("--names", metavar="NAME", help="Class names, as --eye-names. [default: those of the split, or mill]")
@recorded_data_option
@store_option
@click.option("--limit", metavar="N", type=int, help="Only this many images, selected by the seed.")
@click.option("--part", metavar="K/N", default="1/1", show_default=True, help="Images of the K-th of N annotators.")
@seed_option("Seed of every order.")
@click.option(
    "--out", metavar="SHEET.html", type=PATH, help="File to write. [default: reports/sheet.html in the last RUN]"
)
def annotate(runs: Sequence[Path], out: Path | None, **options: Any) -> None:
    """Write an HTML sheet of disputed images for annotators.

    The sheet has the images where a model and a label set disagree, each with the suggested names in random order and
    without their source. A key file beside it has the sources; annotators must not see it.
    """
    from eyechart.reports.annotation.disputed import SheetOptions, write
    from eyechart.reports.runs import load

    print(write(load(runs), SheetOptions(**options), out or report_folder(runs[-1]) / "sheet.html"))
