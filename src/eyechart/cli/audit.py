"""`eyechart audit`: how many answers of a model change under other settings."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from eyechart.cli.reports import print_tables
from eyechart.cli.rule_options import alpha_option
from eyechart.commands.parameters import (
    CommaList,
    ParsedBy,
    data_option,
    format_option,
    offline_option,
    seed_option,
    store_option,
)

DEFAULT_SPLIT = "imagenet/sample"


@click.command()
@click.argument("model", metavar="SPEC")
@click.argument("splits", metavar="[SPLIT]…", nargs=-1)
@click.option(
    "--batch-size", metavar="N,…", type=CommaList(), default=(),
    help="Batch sizes to compare with. [default: 1, without --dtype and --against]",
)  # fmt: skip
@click.option(
    "--dtype", metavar="NAME,…", type=CommaList(), default=(),
    help="Precisions to compare with, such as bfloat16.",
)  # fmt: skip
@click.option(
    "--against", metavar="SPEC", multiple=True,
    help="Another specification of the same weights to compare with, such as another engine. Repeatable.",
)  # fmt: skip
@click.option(
    "--repeats", metavar="N", type=click.IntRange(0), default=1, show_default=True,
    help="Number of evaluations with the same settings.",
)  # fmt: skip
@alpha_option("Significance level of the gate, as --eye-alpha.")
@click.option("--protocol", metavar="NAME", multiple=True, help="Protocol. Repeatable. [default: all that suit]")
@click.option(
    "--limit", metavar="N", type=ParsedBy("eyechart.data.dataset.limits:parse_limit"),
    help="Only a random sample of N images, or N/class of each class, as --eye-limit.",
)  # fmt: skip
@seed_option("Seed of the random sample, as --eye-seed.")
@data_option
@store_option
@offline_option
@format_option
def audit(
    model: str,
    splits: Sequence[str],
    data: str | None,
    format_name: str,
    **arguments: Any,
) -> None:
    """Count answers that change when computed again.

    The model SPEC answers every SPLIT (by default imagenet/sample) once more with the same settings, and with each
    other batch size, precision or engine. Changed predictions, lost and gained outcomes and the noise floor are
    printed: the gate cannot decide about a smaller loss.
    """
    import eyechart
    from eyechart.reports.comparison.noise_floor_table import audit_table

    names = splits or [DEFAULT_SPLIT]
    arguments |= {"data_root": data, "progress": sys.stderr.isatty()}
    audits = [eyechart.audit(model, split, **arguments) for split in names]
    variations = [item for result in audits for item in result.variations]
    print_tables([audit_table(variations, audits[0].model)], format_name)
