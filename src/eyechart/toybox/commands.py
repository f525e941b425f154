"""`eyechart toybox`: draw the toy world."""

from collections.abc import Sequence
from pathlib import Path

import click

from eyechart.commands.parameters import PATH, seed_option

PARTS = ("shards", "scenes", "birds")


@click.command()
@click.argument("out", type=PATH)
@seed_option("Seed of every drawing.")
@click.option(
    "--part",
    "parts",
    type=click.Choice((*PARTS, "packaged")),
    multiple=True,
    help="Draw this part alone; "
    "`packaged` are the pictures that eyechart has in its folder samples. Repeatable. [default: all others]",
)
@click.option(
    "--per-class", metavar="N", type=int, default=10, show_default=True, help="Pictures of a class in a style."
)
@click.option("--scenes", metavar="N", type=int, default=1000, show_default=True, help="Scenes of a split.")
@click.option(
    "--birds", metavar="N", type=int, default=600, show_default=True, help="Observations in a table of birds."
)
def toybox(out: Path, seed: int, parts: Sequence[str], per_class: int, scenes: int, birds: int) -> None:
    """Draw the toy world, data sets for trying everything.

    OUT is a folder to write to; it is then a data root: eyechart run --eye-data=OUT. The same seed draws the same
    bytes.
    """
    from eyechart.toybox.world import write_world

    if "packaged" in parts and len({*parts}) > 1:
        raise click.UsageError("--part packaged has folders of the same names as other parts: draw it alone.")
    write_world(out, parts or PARTS, seed=seed, per_class=per_class, scenes=scenes, observations=birds)
