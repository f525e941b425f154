"""`eyechart compress`: whether compressed variants of a model kept its accuracy."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from eyechart.cli.reports import print_tables
from eyechart.cli.rule_options import alpha_option
from eyechart.commands.parameters import (
    PATH,
    ParsedBy,
    data_option,
    format_option,
    offline_option,
    seed_option,
    store_option,
)


@click.command()
@click.argument("original", metavar="ORIGINAL")
@click.argument("splits", metavar="SPLIT…", nargs=-1, required=True)
@click.option(
    "--variant",
    "variants",
    metavar="NAME=SPEC",
    multiple=True,
    required=True,
    help="A variant of the model: an exported file, another precision, engine or batch size. Repeatable.",
)
@click.option(
    "--margin",
    metavar="SHARE",
    type=ParsedBy("eyechart.gate.verdicts.decide:parse_margin"),
    default=0.01,
    show_default=True,
    help="Loss that must be excluded, a fraction below 0.5, as --eye-margin.",
)
@alpha_option("Significance level, as --eye-alpha.")
@click.option("--protocol", metavar="NAME", multiple=True, help="Protocol. Repeatable. [default: all that suit]")
@click.option(
    "--limit",
    metavar="N",
    type=ParsedBy("eyechart.data.dataset.limits:parse_limit"),
    help="Only a random sample of N images, or N/class of each class, as --eye-limit.",
)
@seed_option("Seed of the random sample, as --eye-seed.")
@click.option(
    "--calibration",
    metavar="PATH",
    help="Images that variants were calibrated with, a folder or the name of a split; none may be evaluated.",
)
@click.option("--speed/--no-speed", default=True, help="Measure images per second. [default: yes]")
@click.option("--page", metavar="FILE.html", type=PATH, help="Write tables, chart and changed predictions as a page.")
@data_option
@store_option
@offline_option
@format_option
def compress(
    original: str,
    splits: Sequence[str],
    variants: Sequence[str],
    page: Path | None,
    data: str | None,
    format_name: str,
    **arguments: Any,
) -> int:
    """Say whether compressed variants of a model kept its accuracy.

    The model ORIGINAL and each variant answer every SPLIT. Size, speed, accuracy, changed predictions and a verdict
    are printed: equal, kept, worse or not shown. A variant with the same SPEC is computed anew, and shows how many
    answers change without a cause. The status is 10 if a variant is worse, 13 if a loss of the margin is not excluded.
    """
    import eyechart

    named = dict(_parse_variant(text) for text in variants)
    if len(named) < len(variants):
        raise click.UsageError("Two variants have one name. Give each --variant another NAME.")
    arguments |= {"data_root": data, "progress": sys.stderr.isatty()}
    result = eyechart.compress(original, [*splits], named, **arguments)
    print_tables(result.tables, format_name)
    if page:
        print(f"eyechart: written to {result.page(page)}", file=sys.stderr)
    return result.status


def _parse_variant(text: str) -> tuple[str, str]:
    """Return name and specification of NAME=SPEC."""
    from eyechart.models.spec import parse_named_spec

    spec = parse_named_spec(text)
    if not spec.alias:
        raise click.UsageError(f"--variant is '{text}'. Expected NAME=SPEC, such as int8=onnx[model_int8.onnx].")
    return spec.alias, str(spec)
