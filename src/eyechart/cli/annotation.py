"""`eyechart annotate`: a sheet of disputed images, or of a drawn sample, for annotators."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from eyechart.commands.parameters import PATH, recorded_data_option, runs_argument, seed_option, store_option
from eyechart.results.run_folder import report_folder

_DISPUTED_ONLY = ("model", "protocol", "second", "second_protocol", "category", "limit")
_SAMPLE_ONLY = ("sample", "draw", "sequential", "split")


@click.command()
@runs_argument
@click.option("--labels", metavar="NAME", required=True, help="Label set to check.")
@click.option("--model", metavar="SPEC", help="Model that disagrees, or its case id. Required without --sample.")
@click.option(
    "--sample", metavar="N", type=int, help="Draw this many images, for all models, instead of disputed ones."
)
@click.option(
    "--draw",
    type=click.Choice(["uniform", "stratified"]),
    default="uniform",
    show_default=True,
    help="How --sample draws: stratified draws more of the images on which models disagree with the label.",
)
@click.option("--sequential", is_flag=True, help="Answers to the --sample may be looked at before all are there.")
@click.option("--split", metavar="NAME", help="Split of the --sample, if the runs have several.")
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
    """Write an HTML sheet of images for annotators.

    Without --sample it has the images where a model and a label set disagree, each with the suggested names in random
    order and without their source. With --sample it has images that are drawn by chance, with the names that all models
    and the labels suggest: `eyechart table reannotated` estimates the accuracy of every model under the annotators'
    labels. A key file beside it has the sources; annotators must not see it.
    """
    from eyechart.reports.annotation.disputed import SheetOptions, write
    from eyechart.reports.annotation.sample import SampleOptions, write_sample
    from eyechart.reports.runs import load

    sampled = options["sample"] is not None
    if not sampled and options["model"] is None:
        raise click.UsageError("Missing option '--model'. Or draw images for all models with --sample=N.")
    wrong = sorted(
        name
        for name in (_DISPUTED_ONLY if sampled else _SAMPLE_ONLY)
        if click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT
    )
    if wrong:
        listed = ", ".join(f"--{name.replace('_', '-')}" for name in wrong)
        raise click.UsageError(f"{listed} cannot be used {'with' if sampled else 'without'} --sample.")
    for name in _DISPUTED_ONLY if sampled else _SAMPLE_ONLY:
        del options[name]
    path = out or report_folder(runs[-1]) / "sheet.html"
    if sampled:
        print(write_sample(load(runs), SampleOptions(**options), path))
    else:
        print(write(load(runs), SheetOptions(**options), path))
