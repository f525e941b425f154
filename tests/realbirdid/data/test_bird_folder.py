"""Splits of birds: found in any folder, opened with their pictures, and refused where one is not there."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.csv
import pytest
from pyarrow import parquet

from eyechart.cli import main
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import DataError
from eyechart.realbirdid.data.bird_folder import open_birds
from eyechart.toybox.formats import bird_files

BIRDS = """\
image,observation_id,species,genus,answerable,reason,latitude,longitude,candidates
images/b.jpg,1,Pica pica,Pica,1,,50,8,Pica pica;Corvus corax
images/a.jpg,2,,Corvus,0,image quality,,,
"""
TAXONOMY = "species,genus\nCorvus corax,Corvus\nPica pica,Pica\n"
Fill = Callable[..., Path]


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    def filled(location: str = "split", table: str = BIRDS) -> Path:
        folder = tmp_path / location
        (folder / "images").mkdir(parents=True)
        (folder / "birds.csv").write_text(table)
        (folder / "taxonomy.csv").write_text(TAXONOMY)
        for name in "ab":
            (folder / f"images/{name}.jpg").write_bytes(name.encode())
        return folder

    return filled


def opened(folder: Path, **options: Path) -> Dataset:
    return open_birds(folder, "realbirdid", "mine", **options)


def found(root: Path) -> dict[str, str]:
    return {str(ref): ref.location for ref in list_splits(root) if ref.layout == "birds"}


def test_classes_are_the_taxonomys_species_and_rows_in_the_tables_order(fill: Fill) -> None:
    split = opened(fill())
    assert (split.classes, split.names, split.upright) == (2, ("Corvus corax", "Pica pica"), True)
    assert [(row.key, row.file, row.label) for row in split.index] == [
        ("images/b", "b.jpg", 1),
        ("images/a", "a.jpg", -1),
    ]
    assert [data for _, data in split.read(range(2))] == [b"b", b"a"]


def test_the_species_are_its_one_ground_truth(fill: Fill) -> None:
    (truth,) = opened(fill()).select_label_sets()
    assert (truth.name, truth.labels.tolist(), truth.annotated.tolist()) == ("original", [[1], [-1]], [True, False])


def test_what_was_observed_is_that_of_the_chosen_rows(fill: Fill) -> None:
    split = opened(fill())
    assert split.selected_details is split.details
    one = split.subsample(1, seed=0)
    assert one.selected_details is not None
    assert one.selected_details is one.selected_details
    assert one.selected_details.species.tolist() == [one.index[row].label for row in one.selected]


def test_pictures_are_hashed_once_and_anew_where_they_change(fill: Fill, tmp_path: Path) -> None:
    folder, cache = fill(), tmp_path / "cache"
    first = opened(folder, cache=cache)
    assert [*cache.iterdir()]
    assert opened(folder, cache=cache).fingerprint == first.fingerprint == opened(folder).fingerprint
    (folder / "images/a.jpg").write_bytes(b"another")
    assert opened(folder, cache=cache).fingerprint != first.fingerprint


def test_another_truth_is_read_past_the_cache(fill: Fill, tmp_path: Path) -> None:
    folder = fill()
    opened(folder, cache=tmp_path / "cache")
    (folder / "birds.csv").write_text(BIRDS.replace("Pica pica,Pica", "Corvus corax,Corvus"))
    assert [row.label for row in opened(folder, cache=tmp_path / "cache").index] == [0, -1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("images/a.jpg", "images/c.jpg"), r"line 3: 1 of the 2 pictures .* not there, the first .*images/c\.jpg"),
        (("images/a.jpg", ""), "line 3: 1 of the 2 pictures .* the first an empty name"),
        (("images/a.jpg", "images"), "line 3: 1 of the 2 pictures"),
        (("images/a.jpg", "../split/images/a.jpg"), r"line 3 names '\.\./split/images/a\.jpg', .* no file below"),
        (("images/a.jpg", "/images/a.jpg"), "line 3 names '/images/a.jpg', which is no file below"),
        (("images/a.jpg", "images/b.jpg"), "line 3 has the image 'images/b.jpg', and line 2 has"),
    ],
)
def test_pictures_that_are_not_there_are_refused_with_their_line(
    fill: Fill, change: tuple[str, str], said: str
) -> None:
    with pytest.raises(DataError, match=rf"birds\.csv, {said}"):
        opened(fill(table=BIRDS.replace(*change)))


def test_pictures_of_one_key_are_refused(fill: Fill) -> None:
    folder = fill(table=BIRDS.replace("b.jpg", "a.png"))
    (folder / "images/a.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"two samples with the key images/a"):
        opened(folder)


@pytest.mark.parametrize(
    ("location", "name"),
    [("root/realbirdid/mine", "realbirdid/mine"), ("root/pets/birds", "pets/birds"), ("root/mine", "realbirdid/mine")],
)
def test_a_table_of_birds_is_a_split_wherever_it_lies(fill: Fill, tmp_path: Path, location: str, name: str) -> None:
    folder = fill(location)
    assert found(tmp_path / "root") == {name: str(folder)}
    (ref,) = [ref for ref in list_splits(tmp_path / "root") if str(ref) == name]
    assert (str(open_split(ref).benchmark), len(open_split(ref))) == (name.split("/")[0], 2)


def test_the_root_may_be_the_split(fill: Fill) -> None:
    folder = fill("mine")
    (folder / "images/deeper").mkdir()
    assert [str(ref) for ref in list_splits(folder) if ref.location] == ["realbirdid/mine"]


def test_parquet_is_found_before_the_hubs_layout(fill: Fill, tmp_path: Path) -> None:
    folder = fill("root/realbirdid/mine")
    for path in folder.glob("*.csv"):
        parquet.write_table(pyarrow.csv.read_csv(path), path.with_suffix(".parquet"))
        path.unlink()
    (ref,) = [ref for ref in list_splits(tmp_path / "root") if ref.layout == "birds"]
    assert [row.label for row in open_split(ref).index] == [1, -1]


def test_what_the_toybox_writes_opens(tmp_path: Path) -> None:
    main(["toybox", tmp_path, "--part", "birds", "--birds", "20"])
    for ref in (ref for ref in list_splits(tmp_path) if ref.layout == "birds"):
        split = open_split(ref)
        assert str(ref).startswith("realbirdid/drawn")
        assert split.selected_details is not None
        assert split.names == tuple(one.name for one in bird_files.species())
        assert 0 < split.selected_details.answerable.sum() < len(split)


def test_a_variable_of_the_user_has_no_name_of_a_level_of_the_taxonomy(fill: Fill) -> None:
    folder = fill("realbirdid/mine")
    (folder / "slices.csv").write_text("key,family\nimages/a,owls\n")
    (ref,) = [ref for ref in list_splits(folder.parents[1]) if ref.layout == "birds"]
    assert [variable.name for variable in open_split(ref).slices] == ["family"]  # the taxonomy has no families
    (folder / "slices.csv").write_text("key,genus\nimages/a,Pica\n")
    with pytest.raises(DataError, match=r"slices\.csv has the column 'genus', which the data set has itself\. Rename"):
        open_split(ref)
