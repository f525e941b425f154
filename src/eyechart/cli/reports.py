"""`eyechart overview`, `table`, `figure`, `page` and `collect`: what runs contain."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eyechart.cli.parameters import annotations_option, format_option, labels_option, reference_option, runs_argument

if TYPE_CHECKING:
    from eyechart.reports.render import Table


@click.command()
@click.argument("name")
@runs_argument
@format_option
@labels_option
@annotations_option
@reference_option
def table(
    name: str,
    runs: Sequence[Path],
    format_name: str,
    labels: str | None,
    annotations: Sequence[Path],
    reference: Sequence[str],
) -> None:
    """Print one table of runs.

    NAME is the name of a table or its number in the paper; `eyechart ls tables` lists them. RUN is the folder of a run,
    such as reports/runs/latest; if a case is in several runs, the last one is used.
    """
    from eyechart.reports.runs import load
    from eyechart.reports.tables import tables

    loaded = replace(load(runs), annotations=tuple(annotations), references=tuple(reference))
    print_tables(tables(name, loaded, labels), format_name)


def print_tables(tables: Sequence["Table"], format_name: str) -> None:
    """Print tables; csv has no place for notes, so they are printed on stderr."""
    from eyechart.reports.render import RENDERERS

    sys.stdout.write(RENDERERS[format_name](tables))
    for note in dict.fromkeys(note for table in tables for note in table.notes if format_name == "csv"):
        print(f"note: {note}", file=sys.stderr)
