"""Command line of the page: `python -m eyechart.reports page RUN…`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from eyechart.errors import ReportError
from eyechart.paths import STORE

PROGRAM = "python -m eyechart.reports page"


def page(arguments: Sequence[str]) -> int:
    """Write the page and print its path."""
    from ..verdicts import Rule, add_rule_arguments
    from .write import PageOptions, write_page

    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Write a folder that opens from disk: every case, table and figure, trends over the runs, and "
        "every answer with its image.",
    )
    add = parser.add_argument
    text = "a run's folder, such as reports/runs/latest; of several, the later wins, and is compared with the earlier"
    add("runs", metavar="RUN", type=Path, nargs="+", help=text)
    add("--baseline", metavar="PATH", type=Path, help="compare with this run, or this file or folder of baselines")
    add_rule_arguments(parser)
    add(
        "--data",
        metavar="ROOT",
        help="where the images are, as for pytest --eye-data (default: where the run had them)",
    )
    add("--store", metavar="DIR", type=Path, default=STORE, help="where the run kept its index")
    add("--side", metavar="PIXELS", type=int, default=320, help="the size of images, 0 for none (default: 320)")
    add(
        "--no-figures", dest="figures", action="store_false", help="leave out the published figures, which take longest"
    )
    add("--out", metavar="DIR", type=Path, help="default: reports/page in the last RUN")
    options = vars(parser.parse_args(arguments))
    if options["side"] < 0:
        raise ReportError(f"--side is {options['side']}, expected a number of pixels, or 0 for no images.")
    out, runs = options.pop("out"), tuple(options.pop("runs"))
    options["rule"] = Rule(options.pop("alpha"), options.pop("max_drop"))
    folder = out or (runs[-1].parent if runs[-1].suffix == ".json" else runs[-1]) / "reports" / "page"
    for note in write_page(PageOptions(runs, **options), folder):
        print(f"note: {note}", file=sys.stderr)
    print(folder / "index.html")
    return 0
