"""Open splits of birds: images with a table of observations, a taxonomy and optional range boxes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset, build_original_labels
from eyechart.data.index.file_index import IndexEntry, build_dataset
from eyechart.data.index.image_files import find_picture, index_images, is_below, plain_path
from eyechart.data.tables import Table
from eyechart.errors import DataError
from eyechart.realbirdid.data.observation_table import IMAGE, parse_observations, read_birds
from eyechart.realbirdid.data.observations import Observations

TABLE_NAMES = ("birds.csv", "birds.parquet")


def open_birds(folder: Path, benchmark: str, split: str, *, cache: Path | None = None) -> Dataset:
    """Open a folder with the tables birds, taxonomy and optionally ranges (csv or parquet), and the images of birds.

    Classes are the species of the taxonomy. The label of an image is its species, -1 if unanswerable. Rows keep the
    order of the table. Raises DataError for contradictions between the tables and for missing images.
    """
    return open_table(folder, benchmark, split, read_birds(folder), cache=cache)


def open_table(folder: Path, benchmark: str, split: str, table: Table, *, cache: Path | None = None) -> Dataset:
    """Open the rows of a given table of birds; `open_birds` opens all rows of the folder's table."""
    _check_pictures(folder, table)
    observations = parse_observations(folder, table)
    entries = index_images(folder, table[IMAGE], named_by=table.path, remedy="copy them there.", cache=cache)
    return _build(folder, benchmark, split, entries, observations)


def _check_pictures(folder: Path, table: Table) -> None:
    for row, image in enumerate(map(plain_path, table[IMAGE])):
        if image != "." and not is_below(image):
            raise DataError(f"{table.location(row)} names '{image}', which is no file below {folder}: correct it.")
    pictures = [find_picture(folder, image) for image in table[IMAGE]]
    missing = [row for row, image in enumerate(pictures) if not image or not (folder / image).is_file()]
    if missing:
        image = table[IMAGE][missing[0]]
        what = f"the first {folder / image}" if image else "the first an empty name"
        raise DataError(
            f"{table.location(missing[0])}: {len(missing):,} of the {len(table):,} pictures of the column '{IMAGE}' "
            f"are not there, {what}: copy them there, or remove their lines."
        )


def _build(
    folder: Path, benchmark: str, split: str, entries: Sequence[IndexEntry], observations: Observations
) -> Dataset:
    names = observations.taxonomy.names[0]
    whole = build_dataset(folder, benchmark, split, entries, classes=len(names), names=names)
    provenance = f"labels: species of birds.csv, {len(names):,} in taxonomy.csv"
    species = observations.species.tolist()
    index = whole.columns.replace(label=observations.species)
    labels = [(label,) if label >= 0 else None for label in species]
    truth = build_original_labels(benchmark, index, labels, f"the species of {benchmark}/{split}")
    return replace(whole, index=index, label_sets={truth.name: truth}, details=observations, provenance=provenance)
