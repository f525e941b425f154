"""Command line of the reports, `python -m eyechart.reports RUN…`: the overview, or one table or figure."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from eyechart.command_line import escape_unprintable
from eyechart.errors import EyechartError
from eyechart.paths import STORE

from .collect import collect
from .overview import write_overview
from .page.command import page
from .render import RENDERERS, Table
from .runs import load
from .tables import table_builders, tables

PROGRAM = "python -m eyechart.reports"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an error prints one sentence on stderr and returns exit status 2."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    escape_unprintable()
    command = COMMANDS.get(words[0]) if words else None
    try:
        return command(words[1:]) if command else overview(words)
    except EyechartError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
    except OSError as error:
        where, why = error.filename or "A file", error.strerror or error
        remedy = "Name a readable file, and with --out a writable place."
        print(f"{PROGRAM}: {where} cannot be used ({why}). {remedy}", file=sys.stderr)
    return 2


def overview(arguments: Sequence[str]) -> int:
    """Write and print the overview."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Write overview.md, overview.tex and aggregate.csv, and print the first.",
        epilog=f"Tables: eyechart ls tables; one: {PROGRAM} table NAME RUN…; one figure: {PROGRAM} figure NAME RUN…; "
        f"two runs or models: {PROGRAM} compare A B; ranks: {PROGRAM} leaderboard RUN…; disputed images for "
        f"annotators: {PROGRAM} annotate RUN…; overlap of a division with training texts: {PROGRAM} overlap FILE; "
        f"a spot check of one: {PROGRAM} check DIVISION.json, then checked; all runs as one long table: {PROGRAM} "
        "collect RUN…; -h after each.",
    )
    add_runs_argument(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: reports/ in the last RUN)")
    options = parser.parse_args(arguments)
    folder = options.out or default_folder(options.runs)
    print(write_overview(load(options.runs), folder), end="")
    print(f"{PROGRAM}: written to {folder}", file=sys.stderr)
    return 0


def table(arguments: Sequence[str]) -> int:
    """Print one table."""
    parser = argparse.ArgumentParser(prog=f"{PROGRAM} table", description="Print one table.")
    parser.add_argument("name", metavar="NAME", help="a name or a paper's number, of " + ", ".join(table_builders()))
    add_runs_argument(parser)
    add_format_argument(parser)
    add_labels_argument(parser)
    add_annotations_argument(parser)
    add_reference_argument(parser)
    options = parser.parse_args(arguments)
    loaded = replace(load(options.runs), annotations=tuple(options.annotations), references=tuple(options.reference))
    result = tables(options.name, loaded, options.labels)
    print_tables(result, options.format)
    return 0


def print_tables(tables: Sequence[Table], format_name: str) -> None:
    """Print tables; csv has no place for notes, so they are printed on stderr."""
    sys.stdout.write(RENDERERS[format_name](tables))
    for note in dict.fromkeys(note for table in tables for note in table.notes if format_name == "csv"):
        print(f"note: {note}", file=sys.stderr)


def figure(arguments: Sequence[str]) -> int:
    """Draw one figure as SVG and print its path."""
    from .figures import DRAWERS, draw

    parser = argparse.ArgumentParser(prog=f"{PROGRAM} figure", description="Draw one figure as SVG.")
    parser.add_argument("name", metavar="NAME", help=", ".join(DRAWERS))
    add_runs_argument(parser)
    parser.add_argument("--out", type=Path, metavar="FILE.svg", help="default: reports/NAME.svg in the last RUN")
    add_labels_argument(parser)
    add_annotations_argument(parser)
    add_reference_argument(parser)
    options = parser.parse_args(arguments)
    loaded = replace(load(options.runs), annotations=tuple(options.annotations), references=tuple(options.reference))
    print(draw(options.name, loaded, options.labels, options.out, default_folder(options.runs)))
    return 0


def compare(arguments: Sequence[str]) -> int:
    """Print how two runs, or two models, differ."""
    from .compare import comparison_table as compared
    from .compare import match_models, match_runs
    from .verdicts import Rule, add_rule_arguments

    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} compare",
        description="Compare two runs, or two models, metric by metric over the same samples.",
    )
    text = "a run's folder, or a baseline's file or folder: two, or with --models also one"
    parser.add_argument("places", metavar="RUN", type=Path, nargs="+", help=text)
    text = "compare these two models; with two runs, the first model of one and the second of the other"
    parser.add_argument("--models", metavar="SPEC", nargs=2, help=text)
    add_rule_arguments(parser)
    add_format_argument(parser)
    options = parser.parse_args(arguments)
    if len(options.places) > 2 or (len(options.places) == 1 and not options.models):
        parser.error("compare takes two runs, or one and --models SPEC SPEC")
    sides = match_models(options.places, options.models) if options.models else match_runs(options.places)
    print_tables([compared(sides, Rule(options.alpha, options.max_drop))], options.format)
    return 0


def leaderboard(arguments: Sequence[str]) -> int:
    """Print models ranked by one metric."""
    from .leaderboard import leaderboards
    from .verdicts import parse_alpha

    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} leaderboard",
        description="Rank models by one metric for each split and protocol; models without a significant difference "
        "share a rank.",
    )
    add_runs_argument(parser)
    text = "the metric to rank by, such as acc1, ece, f1 or ig (default: accuracy)"
    parser.add_argument("--metric", metavar="NAME", help=text)
    add_labels_argument(parser)
    text = "the significance level, after Holm's correction, for a new rank (default: 0.05)"
    parser.add_argument("--alpha", metavar="P", type=parse_alpha, default=0.05, help=text)
    add_format_argument(parser)
    options = parser.parse_args(arguments)
    loaded = load(options.runs)
    print_tables(leaderboards(loaded, options.metric, options.labels, options.alpha), options.format)
    return 0


def annotate(arguments: Sequence[str]) -> int:
    """Write an annotation sheet of disputed images."""
    from .annotation.disputed import SheetOptions, write

    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} annotate",
        description="Write an HTML sheet of the images where a model and a label set disagree, each with the names "
        "that were suggested, in random order and without their source, and a key file, which annotators must not see.",
    )
    add_runs_argument(parser)
    add_sheet_arguments(parser)
    options = vars(parser.parse_args(arguments))
    runs, out = options.pop("runs"), options.pop("out")
    print(write(load(runs), SheetOptions(**options), out or default_folder(runs) / "sheet.html"))
    return 0


def overlap(arguments: Sequence[str]) -> int:
    """Print which share of a division's pairs occurs in training texts."""
    from .oodbench.overlap import OverlapRequest
    from .oodbench.overlap import overlap_tables as compared

    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} overlap",
        description="Search models' training texts for a division's image–category pairs out of distribution, and "
        "report for how many models they are out of distribution.",
    )
    add = parser.add_argument
    add("division", metavar="DIVISION.json", type=Path, help="a file that python -m eyechart.oodbench wrote")
    text = "texts that a model was trained on: .json, .jsonl or .csv; repeatable, also for one model"
    add("--corpus", metavar="MODEL=FILE", action="append", required=True, dest="corpora", help=text)
    text = "the largest acceptable shares of overlap (default: 0.05,0.02)"
    add("--epsilon", metavar="0.05,0.02", type=parse_shares, default=(0.05, 0.02), help=text)
    add("--synonyms", metavar="FILE.csv", type=Path, help="other words for categories: category,words")
    add("--format", choices=tuple(RENDERERS), default="md", help="default: md")
    options = vars(parser.parse_args(arguments))
    format_name, corpora = options.pop("format"), tuple(options.pop("corpora"))
    sys.stdout.write(RENDERERS[format_name](compared(OverlapRequest(corpus_files=corpora, **options))))
    return 0


def parse_shares(text: str) -> tuple[float, ...]:
    """Return the shares of a list separated by commas."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = (0.0,)
    if not all(0 < share <= 1 for share in values):
        raise argparse.ArgumentTypeError(f"'{text}' must be shares above 0 and at most 1, such as 0.05,0.02")
    return values


def check(arguments: Sequence[str]) -> int:
    """Write a sheet for a spot check of a division's pairs."""
    from .annotation.spot_check import SpotCheckOptions, write

    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} check",
        description="Write an HTML sheet of random pairs out of distribution with their pictures, to be accepted or "
        "rejected.",
    )
    add_division_argument(parser)
    add = parser.add_argument
    add("--per-set", metavar="N", type=int, default=50, help="how many pairs of each set (default: 50)")
    add_data_arguments(parser)
    add("--seed", metavar="N", type=int, default=42, help="the seed of the sample (default: 42)")
    add("--out", metavar="SHEET.html", type=Path, help="default: the name of the division with .html")
    options = vars(parser.parse_args(arguments))
    path, out = options.pop("division"), options.pop("out")
    print(write(path, SpotCheckOptions(**options), out or path.with_suffix(".html")))
    return 0


def checked(arguments: Sequence[str]) -> int:
    """Print the result of a spot check, and write the division without the rejected pairs."""
    from .annotation.spot_check_outcomes import outcome_table, read_outcome, write_new

    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} checked",
        description="Print how many pairs of each set were accepted, and write the division without the rejected ones.",
    )
    add_division_argument(parser)
    add = parser.add_argument
    text = "answers to a sheet of `check`; several files, or repeat the option"
    add("--answers", metavar="FILE", type=Path, nargs="+", action="extend", required=True, help=text)
    add("--format", choices=tuple(RENDERERS), default="md", help="default: md")
    add("--out", metavar="NEW.json", type=Path, help="where to write the division without the rejected pairs")
    options = parser.parse_args(arguments)
    result = read_outcome(options.division, options.answers)
    sys.stdout.write(RENDERERS[options.format]([outcome_table(result)]))
    if options.out:
        print(f"{PROGRAM}: {write_new(result, options.out)}", file=sys.stderr)
    return 0


def add_division_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the division file."""
    parser.add_argument("division", metavar="DIVISION.json", type=Path, help="a file of python -m eyechart.oodbench")


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the images and the store."""
    add = parser.add_argument
    add("--data", metavar="ROOT", help="where the images are, as for pytest --eye-data")
    add("--store", metavar="DIR", type=Path, default=STORE, help="where the run kept its index")


def add_sheet_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the annotation sheet."""
    add = parser.add_argument
    add("--labels", metavar="NAME", required=True, help="the label set to check")
    add("--model", metavar="SPEC", required=True, help="the model that disagrees, or its case id")
    add("--protocol", metavar="NAME", help="the protocol, if the model has several")
    add("--second", metavar="SPEC", help="a second model whose answers are also shown")
    add("--second-protocol", metavar="NAME", help="the protocol of the second model")
    add("--category", metavar="S-,M-", default="S-,M-", help="label categories (default: S-,M-)")
    add("--names", metavar="NAME", help="class names, as for pytest --eye-names (default: the split's own, or mill)")
    add_data_arguments(parser)
    add("--limit", metavar="N", type=int, help="only this many images, selected by the seed")
    add("--part", metavar="K/N", default="1/1", help="the images of the K-th of N annotators")
    add("--seed", metavar="N", type=int, default=42, help="the seed of every order (default: 42)")
    add("--out", metavar="SHEET.html", type=Path, help="default: reports/sheet.html in the last RUN")


def add_runs_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the runs."""
    text = "a run's folder, such as reports/runs/latest; of several, the later wins"
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help=text)


def add_format_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option for Markdown, CSV or LaTeX."""
    parser.add_argument("--format", choices=tuple(RENDERERS), default="md", help="default: md")


def add_labels_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option for one label set."""
    parser.add_argument("--labels", metavar="NAME", help="only this label set")


def add_annotations_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option for the answers of annotators."""
    text = "for F7: answers to a sheet of `annotate`; repeatable"
    parser.add_argument("--annotations", type=Path, action="append", default=[], metavar="ANSWERS.json", help=text)


def add_reference_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option for the models that others are compared with."""
    text = "for oodbench-signature and oodbench-F10: a model to compare the others with (default: all); repeatable"
    parser.add_argument("--reference", metavar="SPEC", action="append", default=[], help=text)


def default_folder(runs: Sequence[Path]) -> Path:
    """Return the folder that output goes to without --out."""
    last = runs[-1]
    return (last.parent if last.suffix == ".json" else last) / "reports"


COMMANDS = {
    "table": table,
    "figure": figure,
    "compare": compare,
    "leaderboard": leaderboard,
    "annotate": annotate,
    "overlap": overlap,
    "check": check,
    "checked": checked,
    "page": page,
    "collect": collect,
}

if __name__ == "__main__":
    raise SystemExit(main())
