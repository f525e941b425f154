"""`eyechart overview`, `table`, `explain`, `figure`, `page` and `collect`: what runs contain."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from eyechart.cli.rule_options import refuse_rule_options, rule_options
from eyechart.commands.parameters import (
    PATH,
    annotations_option,
    format_option,
    labels_option,
    recorded_data_option,
    reference_option,
    runs_argument,
    store_option,
)
from eyechart.results.run_folder import report_folder

if TYPE_CHECKING:
    from eyechart.gate.verdicts.decide import Rule
    from eyechart.reports.tables.render import Table


@click.command()
@runs_argument
@click.option("--out", metavar="DIR", type=PATH, help="Folder to write to. [default: reports/ in the last RUN]")
def overview(runs: Sequence[Path], out: Path | None) -> None:
    """Print the main results of runs, and write them as files.

    Writes overview.md, overview.tex and aggregate.csv. RUN is the folder of a run, such as reports/runs/latest; if a
    case is in several runs, the last one is used.
    """
    from eyechart.reports.overview.write_overview import write_overview
    from eyechart.reports.runs import load

    folder = out or report_folder(runs[-1])
    print(write_overview(load(runs), folder), end="")
    print(f"eyechart: written to {folder}", file=sys.stderr)


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
    from eyechart.reports.tables.registry import tables

    loaded = replace(load(runs), annotations=tuple(annotations), references=tuple(reference))
    print_tables(tables(name, loaded, labels), format_name)


@click.command()
@click.argument("run", metavar="RUN", type=PATH)
@click.argument("case")
@click.option("--protocol", metavar="NAME", default="", help="Protocol of the case, if several have its name.")
@click.option("--metric", metavar="NAME", default="", help="Name of the metric. [default: the main one]")
@labels_option
@click.option("--subset", metavar="NAME", default="", help="Subset of the metric, such as answerable.species.")
@click.option(
    "--samples",
    metavar="N",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="How many correct samples are shown, and how many wrong ones.",
)
@click.option(
    "--baseline",
    metavar="PATH",
    type=PATH,
    help="Explain the p-value and the verdict of the comparison with this run, or with this file or folder of "
    "baselines; --metric=pooled names the decision on the model over all cases.",
)
@rule_options
def explain(
    run: Path,
    case: str,
    protocol: str,
    metric: str,
    labels: str | None,
    subset: str,
    samples: int,
    baseline: Path | None,
    rule: "Rule",
) -> None:
    """Explain one number of a run, or one p-value of the gate.

    CASE is the name of a case in the run RUN, or a part of it. Shows the options with their meanings, the question, the
    labels, the samples that count, the value and the interval computed again from the stored outcomes, samples, and
    where the code is with what it does. With --baseline it shows what changed, the test of the metric alone, the tests
    together with other metrics, and how the verdict follows.
    """
    if baseline is None:
        refuse_rule_options(click.get_current_context(), "Name the other side with --baseline")
    from eyechart.gate.comparison.pooled import POOLED
    from eyechart.reports.explanation import explain as explain_number
    from eyechart.reports.explanation import find_case, find_metric
    from eyechart.reports.runs import load

    found = find_case(load([run]), case, protocol)
    chosen = find_metric(found, "" if baseline and metric == POOLED else metric, labels or "", subset)
    if baseline is None:
        print(explain_number(found, chosen, samples), end="")
        return
    from eyechart.gate.baselines.baseline_files import case_key
    from eyechart.reports.comparison.run_comparison import compare_sides, match_runs
    from eyechart.reports.comparison.verdict_explanation import explain_verdict, find_verdict

    sides = match_runs([baseline, run])
    session = compare_sides(sides, rule).session
    key = case_key(found.record)
    verdict = find_verdict(session, key, chosen, metric)
    print(explain_verdict(sides, session, key, verdict, samples), end="")


def print_tables(tables: Sequence["Table"], format_name: str) -> None:
    """Print tables; the notes of csv are printed on stderr, so that its rows are data alone."""
    from eyechart.reports.tables.render import RENDERERS

    sys.stdout.write(RENDERERS[format_name](tables))
    for note in dict.fromkeys(note for table in tables for note in table.notes if format_name == "csv"):
        print(f"note: {note}", file=sys.stderr)


@click.command()
@click.argument("name")
@runs_argument
@click.option("--out", metavar="FILE.svg", type=PATH, help="File to write. [default: reports/NAME.svg in the last RUN]")
@labels_option
@annotations_option
@reference_option
def figure(
    name: str,
    runs: Sequence[Path],
    out: Path | None,
    labels: str | None,
    annotations: Sequence[Path],
    reference: Sequence[str],
) -> None:
    """Draw one figure of runs as SVG and print its path.

    NAME is the name of a figure or its number in the paper; `eyechart ls figures` lists them.
    """
    from eyechart.reports.figures.registry import draw
    from eyechart.reports.runs import load

    loaded = replace(load(runs), annotations=tuple(annotations), references=tuple(reference))
    print(draw(name, loaded, labels, out, report_folder(runs[-1])))


@click.command()
@runs_argument
@click.option(
    "--baseline", metavar="PATH", type=PATH, help="Compare with this run, or with this file or folder of baselines."
)
@rule_options
@annotations_option
@recorded_data_option
@store_option
@click.option(
    "--side",
    metavar="PIXELS",
    type=click.IntRange(0),
    default=320,
    show_default=True,
    help="Size of the images, 0 for none.",
)
@click.option(
    "--figures/--no-figures", default=True, help="Draw the published figures, which takes longest. [default: yes]"
)
@click.option(
    "--single", is_flag=True, help="Write one HTML file below 5 MB, with small images as far as there is room."
)
@click.option(
    "--out",
    metavar="PATH",
    type=PATH,
    help="Folder to write to, or the file with --single. [default: reports/page or reports/page.html in the last RUN]",
)
def page(
    runs: Sequence[Path],
    single: bool,
    out: Path | None,
    **options: Any,
) -> None:
    """Write a static web page of runs and print its path.

    The page opens from disk. It has every case, table and figure, trends over the runs, and every answer with its
    image. The last RUN is compared with the earlier ones. With --single it is one file to attach to a pull request or
    a mail.
    """
    from eyechart.messages.terminal import progress_line
    from eyechart.reports.page.single import SIDE, write_single
    from eyechart.reports.page.write_page import PageOptions, write_page

    chosen = PageOptions(tuple(runs), **options)
    if chosen.baseline is None and len(runs) == 1:
        refuse_rule_options(
            click.get_current_context(), "Name the other side with --baseline, or an earlier RUN", used=("alpha",)
        )
    with progress_line() as progress:
        if single:
            path = out or report_folder(runs[-1]) / "page.html"
            chosen = replace(chosen, figures=False, side=min(chosen.side, SIDE))
            with TemporaryDirectory() as draft:
                notes = [*write_page(chosen, Path(draft), progress), *write_single(Path(draft), path)]
        else:
            folder = out or report_folder(runs[-1]) / "page"
            notes, path = write_page(chosen, folder, progress), folder / "index.html"
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    print(path)


@click.command()
@runs_argument
@click.option(
    "--out",
    metavar="FILE",
    type=PATH,
    default=Path("history.parquet"),
    show_default=True,
    help="File to write: .parquet or .csv.",
)
@click.option(
    "--mill",
    metavar="aggregate.csv",
    type=PATH,
    help="Also write Mill's aggregate.csv; if a case is in several runs, the latest is used.",
)
def collect(runs: Sequence[Path], out: Path, mill: Path | None) -> int:
    """Write all metrics of many runs as one long table.

    RUN is the folder of a run, or a folder of runs such as reports/runs. A run that cannot be read is left out and
    named, and the exit status is 1.
    """
    from eyechart.reports.overview.collect import read_runs, write_history

    status: int = write_history(read_runs(runs), out, mill)
    return status
