"""The packaged table of drawn birds, without any picture under the GPL."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from eyechart.samples.files import packaged, write_checksums, write_table
from eyechart.toybox.art.styles import TRAINING
from eyechart.toybox.formats import bird_files
from eyechart.toybox.formats.bird_files import Observation
from eyechart.toybox.samples.oodbench_sample import MANIFEST, SEALED, manifest

NAME, NUMBER = "birds-sample", 120
FOLDER = "sample-drawn"


def write(target: Path, seed: int) -> None:
    """Write the table `sample-drawn` with its manifest, checksums and licences."""
    folder = target / FOLDER
    observations = bird_files.write_bird_table(folder, seed, NAME, TRAINING, NUMBER)
    write_table(folder / "manifest.csv", MANIFEST, manifest(folder, iter(_pictures(observations))))
    for style in TRAINING:
        for text in (packaged("toybox") / style).glob("LICENSE-*.txt"):
            shutil.copyfile(text, folder / f"LICENSE-{style}.txt")
    write_checksums(folder, SEALED)


def _pictures(observations: Sequence[Observation]) -> list[tuple[str, str]]:
    return [(f"images/{image}", observation.style) for observation in observations for image in observation.images]
