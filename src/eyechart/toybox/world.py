"""The toy world in all formats: pictures as shards, annotated scenes, and tables of birds."""

from collections.abc import Collection
from pathlib import Path

from eyechart.toybox.formats import annotated, bird_files, shards
from eyechart.toybox.samples import birds_sample, oodbench_sample, open_toybox

SEED = 42


def write_world(
    out: Path,
    parts: Collection[str],
    *,
    seed: int = SEED,
    per_class: int = 10,
    scenes: int = 1000,
    observations: int = 600,
) -> None:
    """Draw parts of the toy world into a folder, byte for byte the same for the same arguments.

    The parts are `shards`, `scenes`, `birds`, and `packaged`: the pictures that eyechart has in its folder `samples`.
    """
    if "shards" in parts:
        shards.write(out / "toybox", seed, per_class, scenes)
    if "scenes" in parts:
        annotated.write(out / "oodbench", seed, -(-scenes // 5))
    if "birds" in parts:
        bird_files.write(out / "realbirdid", seed, observations)
    if "packaged" in parts:
        open_toybox.write(out / "toybox", seed)
        oodbench_sample.write(out / "oodbench", seed)
        birds_sample.write(out / "realbirdid", seed)
