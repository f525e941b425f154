"""`python -m eyechart.reports RUN…`: the overview, or one table or figure by name, from a run's files alone."""

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from eyechart.errors import EyechartError

from .overview import write
from .render import RENDERERS
from .runs import load
from .tables import BUILDERS, tables

PROGRAM = "python -m eyechart.reports"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; a refusal is one sentence on stderr and exit status 2."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may lack the letters of a name
    command = COMMANDS.get(given[0]) if given else None
    try:
        return command(given[1:]) if command else overview(given)
    except (EyechartError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2


def overview(given: Sequence[str]) -> int:
    """Write and print the overview."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Write overview.md, overview.tex and aggregate.csv, and print the first.",
        epilog=f"One table: {PROGRAM} table NAME RUN…; one figure: {PROGRAM} figure NAME RUN…; -h after either.",
    )
    runs_argument(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: reports/ in the last RUN)")
    chosen = parser.parse_args(given)
    folder = chosen.out or beside(chosen.runs)
    print(write(load(chosen.runs), folder), end="")
    print(f"{PROGRAM}: written to {folder}", file=sys.stderr)
    return 0


def table(given: Sequence[str]) -> int:
    """Print one table; in a csv there is no place for notes, so they go to stderr."""
    parser = argparse.ArgumentParser(prog=f"{PROGRAM} table", description="Print one table.")
    parser.add_argument("name", metavar="NAME", help=", ".join(BUILDERS))
    runs_argument(parser)
    parser.add_argument("--format", choices=tuple(RENDERERS), default="md", help="default: md")
    labels_argument(parser)
    chosen = parser.parse_args(given)
    pool = load(chosen.runs)
    found = tables(chosen.name, pool, chosen.labels)
    sys.stdout.write(RENDERERS[chosen.format](found))
    aside = [*pool.notes, *(note for made in found for note in made.notes if chosen.format == "csv")]
    for note in dict.fromkeys(aside):
        print(f"note: {note}", file=sys.stderr)
    return 0


def figure(given: Sequence[str]) -> int:
    """Draw one figure as SVG."""
    from .figures import DRAWERS, draw

    parser = argparse.ArgumentParser(prog=f"{PROGRAM} figure", description="Draw one figure as SVG.")
    parser.add_argument("name", metavar="NAME", help=", ".join(DRAWERS))
    runs_argument(parser)
    parser.add_argument("--out", type=Path, metavar="FILE.svg", help="default: reports/NAME.svg in the last RUN")
    labels_argument(parser)
    chosen = parser.parse_args(given)
    print(draw(chosen.name, load(chosen.runs), chosen.labels, chosen.out, beside(chosen.runs)))
    return 0


def runs_argument(parser: argparse.ArgumentParser) -> None:
    """The runs, later ones winning."""
    text = "a run's folder, such as reports/runs/latest; of several, the later wins"
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help=text)


def labels_argument(parser: argparse.ArgumentParser) -> None:
    """The ground truth to look at."""
    parser.add_argument("--labels", metavar="NAME", help="only this ground truth")


def beside(runs: Sequence[Path]) -> Path:
    """Where files go if nothing is said."""
    last = runs[-1]
    return (last.parent if last.suffix == ".json" else last) / "reports"


COMMANDS = {"table": table, "figure": figure}

if __name__ == "__main__":
    raise SystemExit(main())
