"""`python -m eyechart.realbirdid`: import an export of observations, or find the images of a split in another data set.

python -m eyechart.realbirdid import EXPORT.csv --images DIR [--reasons FILE] OUT
python -m eyechart.realbirdid overlap BIRDS OTHER [--out LIST.csv]
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from eyechart.command_line import escape_unprintable, progress_interval
from eyechart.data.observations import REASONS
from eyechart.errors import EyechartError
from eyechart.realbirdid.identifiers import KINDS
from eyechart.realbirdid.inaturalist import ImportResult, import_birds
from eyechart.realbirdid.leakage import find_overlap, summary_lines, write_matches

PROGRAM = "python -m eyechart.realbirdid"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status; errors are written to stderr, and their status is 2."""
    escape_unprintable()
    options = build_parser().parse_args(arguments)
    try:
        lines = list(options.run(options))
    except EyechartError as error:
        return report_error(str(error))
    except OSError as error:
        return report_error(
            f"{error.filename or 'A file'} cannot be used ({error.strerror or error}): give another place."
        )
    print("\n".join(lines))
    return 0


def report_error(sentence: str) -> int:
    """Write an error message to stderr and return the exit status 2."""
    print(f"{PROGRAM}: {sentence}", file=sys.stderr)
    return 2


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    command_parser = argparse.ArgumentParser(
        prog=PROGRAM, description="Birds from observations, and where else they are."
    )
    commands = command_parser.add_subparsers(metavar="COMMAND", required=True)
    _add_import(commands.add_parser("import", help="make a folder of birds of an export and its pictures"))
    _add_overlap(commands.add_parser("overlap", help="find birds in another table of pictures"))
    return command_parser


def _add_import(command: argparse.ArgumentParser) -> None:
    more = command.add_argument
    command.description = (
        "Make a folder of birds of an export of observations in the columns of iNaturalist. Species of research grade "
        "are answerable; a genus is unanswerable where the file of reasons has it; all others are listed as left out."
    )
    command.epilog = "OUT as ROOT/realbirdid/NAME is then a split: pytest -k realbirdid --eye-data=ROOT"
    more("export", metavar="EXPORT.csv", type=Path, help="a row an observation: id, scientific_name, …")
    more("--images", metavar="DIR", type=Path, required=True, help="pictures named by their photo or observation")
    text = f"a csv of observation_id and reason: {', '.join(REASONS)}, or empty"
    more("--reasons", metavar="FILE", type=Path, help=text)
    more("--taxonomy", metavar="FILE", type=Path, help="the species to choose from (default: those of the export)")
    more("--any-grade", action="store_true", help="take species that are not of research grade, too")
    more("out", metavar="OUT", type=Path, help="a new folder")
    command.set_defaults(run=run_import)


def _add_overlap(command: argparse.ArgumentParser) -> None:
    more = command.add_argument
    command.description = (
        "Count birds whose photo, observation or address is in another collection, such as what a model was trained "
        "on, with a 95 % interval by Wilson. The other table is never in memory as a whole."
    )
    more("birds", metavar="BIRDS", type=Path, help="a folder with birds.csv or birds.parquet, or such a file")
    more("other", metavar="OTHER", type=Path, help="a csv, tsv, parquet, list (txt), or a folder of them; .gz is fine")
    more("--out", metavar="LIST.csv", type=Path, help="where to list every image that was found")
    text = "a column to read; repeatable (default: those called as identifiers or addresses are)"
    more("--column", metavar="NAME", action="append", default=[], help=text)
    text = "what bare numbers are where no column's name says it"
    more("--numbers", choices=[kind for kind in KINDS if kind != "url"], help=text)
    command.set_defaults(run=run_overlap)


def run_import(options: argparse.Namespace) -> Iterator[str]:
    """Import the export and yield a summary."""
    result = import_birds(
        options.export,
        options.images,
        options.out,
        reasons=options.reasons,
        taxonomy=options.taxonomy,
        any_grade=options.any_grade,
    )
    yield from import_summary(result, options.out)


def import_summary(result: ImportResult, out: Path) -> Iterator[str]:
    """Yield how many observations were imported, and why the others were excluded."""
    answerable = sum(bool(bird.species) for bird in result.observations)
    unanswerable = len(result.observations) - answerable
    yield (
        f"{out}: {len(result.dataset):,} pictures of {len(result.observations):,} observations, {answerable:,} "
        f"answerable and {unanswerable:,} unanswerable, and {result.dataset.classes:,} species to choose from."
    )
    if result.excluded:
        yield f"{sum(result.excluded.values()):,} observations were left out (left_out.csv lists them):"
        yield from (f"  {count:,}  {why}" for why, count in sorted(result.excluded.items(), key=lambda item: -item[1]))
    yield from (f"Note: {note}." for note in result.notes)


def run_overlap(options: argparse.Namespace) -> Iterator[str]:
    """Compare two data sets, write the list of matches if requested, and yield a summary."""
    with tqdm(unit=" rows", unit_scale=True, mininterval=progress_interval()) as bar:
        result = find_overlap(
            options.birds, options.other, columns=options.column, numbers=options.numbers, progress=bar.update
        )
    if options.out:
        write_matches(options.out, result)
    yield from summary_lines(result)


if __name__ == "__main__":
    raise SystemExit(main())
