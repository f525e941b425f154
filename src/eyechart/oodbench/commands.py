"""`eyechart divide`: divisions of annotated data sets for OODBench, and checks of them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from eyechart.commands.groups import CommandWithSubcommands
from eyechart.commands.parameters import (
    PATH,
    ParsedBy,
    data_option,
    division_argument,
    format_option,
    offline_option,
    seed_option,
    store_option,
)


@click.command("divide", cls=CommandWithSubcommands)
@click.argument("root", required=False)
@click.option(
    "--detector",
    "detectors",
    metavar="SPEC",
    multiple=True,
    help="Detector: an encoder, a matcher, or a classifier of the categories. Repeatable; usually two are used.",
)
@click.option(
    "--templates",
    metavar="NAME",
    default="1",
    show_default=True,
    help="Prompt templates of the detectors: 80, 7, 1, name, or a file with one a line.",
)
@click.option(
    "--threshold",
    metavar="T",
    type=ParsedBy("eyechart.oodbench.division.build:parse_probability"),
    default="0.05",
    show_default=True,
    help="A present category with a lower probability is out of distribution.",
)
@click.option(
    "--max-pairs",
    metavar="N",
    type=click.IntRange(1),
    default=3000,
    show_default=True,
    help="Maximum number of pairs in each set of the main benchmark.",
)
@click.option(
    "--absent-categories", is_flag=True, help="Include absent categories that a detector predicted as present."
)
@click.option(
    "--hard-samples",
    metavar="FILE",
    default="none",
    show_default=True,
    help="Also mine hard samples: own (from the probabilities of the first detector), or a file of COCO results.",
)
@click.option("--split", "splits", metavar="NAME", multiple=True, help="Only this split. Repeatable.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1), help="Use a random sample of this many images of each split."
)
@seed_option("Seed of every random choice.")
@store_option
@click.option(
    "--out", metavar="DIR", type=PATH, default=Path("divisions"), show_default=True, help="Folder to write to."
)
@offline_option
def divide_splits(**options: Any) -> int:
    """Divide image–category pairs for OODBench.

    ROOT is the folder of an annotated data set in the format of COCO, LVIS, nuScenes or Cityscapes, or a folder of
    several of them; without it, the packaged sample is divided. Pairs that detectors fail on are out of distribution.
    Each split becomes a division, a JSON file. Then evaluate models on it:

    eyechart run -k existence --eye-data=ROOT --eye-set=existence.division=DIR
    """
    from eyechart.oodbench.division.build import BuildOptions, build_divisions

    return build_divisions(BuildOptions(**options))


@divide_splits.command("overlap")
@division_argument
@click.option(
    "--corpus",
    "corpora",
    metavar="MODEL=FILE",
    multiple=True,
    required=True,
    help="Texts that a model was trained on: .json, .jsonl or .csv. Repeatable, also for one model.",
)
@click.option(
    "--epsilon",
    metavar="0.05,0.02",
    type=ParsedBy("eyechart.oodbench.tables.overlap_tables:parse_shares"),
    default=(0.05, 0.02),
    help="Largest acceptable shares of overlap. [default: 0.05,0.02]",
)
@click.option("--synonyms", metavar="FILE.csv", type=PATH, help="Other words for categories: category,words.")
@format_option
def overlap(division: Path, corpora: Sequence[str], format_name: str, **options: Any) -> None:
    """Search training texts of models for the pairs of a division.

    Prints which share of the image–category pairs out of distribution occurs in the texts, and for how many models
    they are out of distribution.
    """
    from eyechart.oodbench.tables.overlap_tables import OverlapRequest, overlap_tables
    from eyechart.reports.tables.render import RENDERERS

    request = OverlapRequest(division=division, corpus_files=tuple(corpora), **options)
    sys.stdout.write(RENDERERS[format_name](overlap_tables(request)))


@divide_splits.command("check-sheet")
@division_argument
@click.option("--per-set", metavar="N", type=int, default=50, show_default=True, help="Number of pairs of each set.")
@data_option
@store_option
@seed_option("Seed of the sample.")
@click.option(
    "--out", metavar="SHEET.html", type=PATH, help="File to write. [default: the name of the division with .html]"
)
def _check_sheet(division: Path, out: Path | None, **options: Any) -> None:
    """Write an HTML sheet to check pairs of a division by eye.

    The sheet has random pairs out of distribution with their pictures, to be accepted or rejected.
    """
    from eyechart.oodbench.spot_check.spot_check import SpotCheckOptions, write

    print(write(division, SpotCheckOptions(**options), out or division.with_suffix(".html")))


@divide_splits.command("check-answers")
@division_argument
@click.argument("answers", metavar="ANSWERS.json…", nargs=-1, required=True, type=PATH)
@format_option
@click.option("--out", metavar="NEW.json", type=PATH, help="File for the division without the rejected pairs.")
def _check_answers(division: Path, answers: Sequence[Path], format_name: str, out: Path | None) -> None:
    """Print how many checked pairs were accepted.

    ANSWERS.json are downloaded from the sheets of `eyechart divide check-sheet`. With --out, the division without the
    rejected pairs is written.
    """
    from eyechart.oodbench.spot_check.sheet_outcomes import outcome_table, read_outcome, write_new
    from eyechart.reports.tables.render import RENDERERS

    result = read_outcome(division, answers)
    sys.stdout.write(RENDERERS[format_name]([outcome_table(result)]))
    if out:
        print(f"eyechart: {write_new(result, out)}", file=sys.stderr)
