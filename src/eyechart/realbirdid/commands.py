"""`eyechart birds`: import observations of birds, and find images of a split in another collection."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eyechart.commands.groups import CommandGroup
from eyechart.commands.parameters import PATH

if TYPE_CHECKING:
    from eyechart.realbirdid.data.identifiers import Kind
    from eyechart.realbirdid.data.inaturalist import ImportResult

NUMBERS = ("photo", "observation", "occurrence")


@click.group(cls=CommandGroup)
def birds() -> None:
    """Import observations of birds, and find training images."""


@birds.command("import")
@click.argument("export", metavar="EXPORT.csv", type=PATH)
@click.argument("out", type=PATH)
@click.option(
    "--images",
    metavar="DIR",
    required=True,
    type=PATH,
    help="Folder of the pictures, which are named by their photo or observation.",
)
@click.option(
    "--reasons",
    metavar="FILE",
    type=PATH,
    help="csv with the columns observation_id and reason: image quality, angle/occlusion, vocalization, or empty.",
)
@click.option("--taxonomy", metavar="FILE", type=PATH, help="Species to choose from. [default: those of the export]")
@click.option("--any-grade", is_flag=True, help="Also import species that are not of research grade.")
def import_export(
    export: Path, out: Path, images: Path, reasons: Path | None, taxonomy: Path | None, *, any_grade: bool
) -> None:
    """Import an export of observations of iNaturalist.

    EXPORT.csv has a row for each observation: id, scientific_name and others. OUT is a new folder; as
    ROOT/realbirdid/NAME it is a split: eyechart run -k realbirdid --eye-data=ROOT. Species of research grade are
    answerable. A genus is unanswerable if the file of reasons has it. All others are left out and listed.
    """
    from eyechart.realbirdid.data.inaturalist import import_birds

    result = import_birds(export, images, out, reasons=reasons, taxonomy=taxonomy, any_grade=any_grade)
    print("\n".join(_import_summary(result, out)))


def _import_summary(result: "ImportResult", out: Path) -> Iterator[str]:
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


@birds.command()
@click.argument("birds", type=PATH)
@click.argument("other", type=PATH)
@click.option("--out", metavar="LIST.csv", type=PATH, help="File that lists every image that was found.")
@click.option(
    "--column",
    "columns",
    metavar="NAME",
    multiple=True,
    help="Column to read. Repeatable. [default: those with names of identifiers or addresses]",
)
@click.option(
    "--numbers", type=click.Choice(NUMBERS), help="Meaning of bare numbers if the name of the column does not show it."
)
def overlap(birds: Path, other: Path, out: Path | None, columns: Sequence[str], numbers: "Kind | None") -> None:
    """Count birds whose photograph is in another collection.

    BIRDS is a folder with birds.csv or birds.parquet, or such a file. OTHER is a csv, tsv, parquet or txt file, or a
    folder of them, such as the list of images that a model was trained on; it is read row by row.
    """
    from tqdm import tqdm

    from eyechart.messages.terminal import progress_interval
    from eyechart.realbirdid.leakage.overlap import find_overlap, summary_lines, write_matches

    with tqdm(unit=" rows", unit_scale=True, mininterval=progress_interval()) as bar:
        result = find_overlap(birds, other, columns=columns, numbers=numbers, progress=bar.update)
    if out:
        write_matches(out, result)
    print("\n".join(summary_lines(result)))
