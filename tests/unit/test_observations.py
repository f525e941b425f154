"""Observations of birds: what the tables say, what contradicts itself, and who may live where."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from pyarrow import parquet

from eyechart.data.tables import read_table
from eyechart.errors import DataError
from eyechart.realbirdid.data.observation_table import read_observations
from eyechart.realbirdid.data.observations import REASONS, Observations
from eyechart.toybox.formats import bird_files

HEADER = "image,observation_id,species,genus,answerable,reason,latitude,longitude,candidates"
TAXONOMY = "species,genus\nCorvus corax,Corvus\nPica pica,Pica\nCorvus corone,Corvus\nParus major,Parus\n"
RAVEN = "a.jpg,1,Corvus corax,Corvus,1,,50.5,8.25,Pica pica;Corvus corax"
CROW = "b.jpg,2,,Corvus,0,vocalization,50,8,Corvus corax;Corvus corone"
TIT = "c.jpg,3,Parus major,Parus,1,,,,"
RANGES = "species,south,north,west,east\nPica pica,40,60,-10,20\nCorvus corax,0,10,170,-170\nPica pica,-10,0,0,10\n"
Read = Callable[..., Observations]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def written(*lines: str, ranges: str = "", taxonomy: str = TAXONOMY, header: str = HEADER) -> Observations:
        (tmp_path / "birds.csv").write_text("\n".join([header, *lines]), encoding="utf-8")
        (tmp_path / "taxonomy.csv").write_text(taxonomy, encoding="utf-8")
        if ranges:
            (tmp_path / "ranges.csv").write_text(ranges, encoding="utf-8")
        return read_observations(tmp_path)

    return written


def lists(found: Observations) -> list[list[int]]:
    return [
        found.candidates[start:stop].tolist() for start, stop in zip(found.offsets, found.offsets[1:], strict=False)
    ]


def test_what_the_table_says(read: Read) -> None:
    found = read(RAVEN, CROW, TIT)
    assert (found.ids, found.species.tolist(), found.genus.tolist()) == (("1", "2", "3"), [0, -1, 3], [0, 0, 2])
    assert found.reason.tolist() == [-1, REASONS.index("vocalization"), -1]
    assert found.answerable.tolist() == [True, False, True]
    np.testing.assert_array_equal(found.latitude, [50.5, 50, np.nan])
    np.testing.assert_array_equal(found.longitude, [8.25, 8, np.nan])
    assert lists(found) == [[0, 1], [0, 2], []]


def test_days_are_read_without_their_times_and_follow_a_selection(read: Read) -> None:
    header = f"{HEADER},observed_on,created_at"
    found = read(f"{RAVEN},2019-05-31,2020-01-02 10:11:12 UTC", f"{CROW},,2021-02-03T01:00:00", header=header)
    assert found.dates == {"observed_on": ("2019-05-31", ""), "created_at": ("2020-01-02", "2021-02-03")}
    assert found.select([1]).dates == {"observed_on": ("",), "created_at": ("2021-02-03",)}
    assert found.sha256 == read(RAVEN, CROW).sha256  # no answer depends on them
    assert read(RAVEN).dates == {}


def test_a_cell_that_is_no_day_is_refused(read: Read) -> None:
    with pytest.raises(DataError, match=r"birds.csv, line 2 has 'May 2019' as observed_on, expected a day such as"):
        read(f"{RAVEN},May 2019", header=f"{HEADER},observed_on")


def test_the_reasons_are_those_of_the_toybox() -> None:
    assert bird_files.REASONS == REASONS


@pytest.mark.parametrize(("cell", "expected"), [("1", 3), ("True", 3), (" TRUE ", 3)])
def test_answerable_in_every_spelling(read: Read, cell: str, expected: int) -> None:
    assert read(TIT.replace(",1,", f",{cell},")).species.tolist() == [expected]


@pytest.mark.parametrize("cell", ["0", "false", "False"])
def test_unanswerable_in_every_spelling(read: Read, cell: str) -> None:
    assert read(CROW.replace(",0,", f",{cell},")).species.tolist() == [-1]


def test_names_and_reasons_are_read_whatever_their_case(read: Read) -> None:
    found = read(RAVEN.replace("Corvus corax", "CORVUS corax "), CROW.replace("vocalization", "Vocalization"))
    assert (found.species.tolist(), found.reason.tolist(), lists(found)) == ([0, -1], [-1, 2], [[0, 1], [0, 2]])


def test_a_genus_left_open_is_that_of_the_species_and_an_id_left_open_the_image(read: Read) -> None:
    found = read(TIT.replace(",Parus,", ",,").replace(",3,", ",,"))
    assert (found.genus.tolist(), found.ids) == ([2], ("c.jpg",))


def test_a_reason_may_be_unknown(read: Read) -> None:
    assert read(CROW.replace("vocalization", "")).reason.tolist() == [-1]


def test_candidates_count_once_and_may_end_in_a_separator(read: Read) -> None:
    assert lists(read(RAVEN + "; Pica pica;")) == [[0, 1]]


def test_without_a_location_or_a_list_an_image_is_kept_and_not_eligible(read: Read) -> None:
    bare = "d.jpg,4,Pica pica,Pica,1,,10,10,"
    found = read(RAVEN, TIT + "Parus major", bare)
    assert (found.has_location.tolist(), found.eligible.tolist()) == ([True, False, True], [True, False, False])
    assert found.candidate_counts.tolist() == [2, 1, 0]
    notes = ("1 of 3 images have no location", "1 of 2 images with a location have no candidate species")
    for note, said in zip(found.exclusion_notes, notes, strict=True):
        assert note.startswith(f"{said}: kept, and left out of the results by range")
    assert [note[-16:] for note in found.exclusion_notes] == ["(observations 3)", "(observations 4)"]


def test_lists_without_the_truth_are_counted_and_listed(read: Read) -> None:
    lost = RAVEN.replace(";Corvus corax", "").replace("a.jpg,1", "e.jpg,7")
    found = read(RAVEN, lost, CROW, CROW.replace("b.", "d.").replace("Corvus corax;Corvus corone", "Pica pica"), TIT)
    assert found.unlisted.tolist() == [False, True, False, False, False]
    assert found.unlisted_genus.tolist() == [False, False, False, True, False]
    assert found.exclusion_notes[1].startswith(
        "1 of 2 answerable images with a list of candidates have one without their own"
    )
    assert "(observations 7)" in found.exclusion_notes[1]
    assert found.exclusion_notes[2].startswith("1 of 2 unanswerable images with a list")
    assert "without a species of their genus" in found.exclusion_notes[2]


def test_numbers_that_there_cannot_be_are_named(read: Read) -> None:
    assert read(RAVEN, CROW).missing_metrics == ()
    assert [note.partition(":")[0] for note in read(RAVEN, TIT).missing_metrics] == ["every image is answerable"]
    assert [note.partition(":")[0] for note in read(CROW).missing_metrics] == ["no image is answerable"]


def test_a_taxonomy_of_one_species_leaves_nothing_to_gain(read: Read) -> None:
    found = read(TIT, taxonomy="species,genus\nParus major,Parus\n")
    assert found.missing_metrics[1] == "the taxonomy has one species, which leaves nothing to gain: IG is 0"


def test_a_note_names_ten_observations(read: Read) -> None:
    (note,) = read(*(TIT.replace("c.jpg,3", f"{row}.jpg,{row}") for row in range(12))).exclusion_notes
    assert note.endswith("(observations 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 …)")


def test_ranges_fill_the_lists_that_are_empty(read: Read) -> None:
    indices = ["50,8", "5,175", "5,-175", "5,160", "-5,5", "40,20", ","]
    rows = [f"{row}.jpg,{row},Pica pica,Pica,1,,{index}," for row, index in enumerate(indices)]
    assert lists(read(*rows, RAVEN, ranges=RANGES)) == [[1], [0], [0], [], [1], [1], [], [0, 1]]


def test_a_species_in_two_boxes_that_overlap_lives_there_once(read: Read) -> None:
    found = read("0.jpg,0,Pica pica,Pica,1,,50,8,", ranges=RANGES + "Pica pica,45,55,0,10\n")
    assert lists(found) == [[1]]


def test_allowed_species_and_some_rows(read: Read) -> None:
    found = read(RAVEN, CROW, TIT)
    assert found.candidate_mask(0, 3).astype(int).tolist() == [[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    assert found.candidate_mask(1, 9).shape == (2, 4)
    assert found.candidate_mask(2, 2).shape == found.candidate_mask(5, 9).shape == (0, 4)
    assert lists(found.select([2, 1])) == [[], [0, 2]]
    assert (found.select([]).ids, found.select([]).exclusion_notes) == ((), ())


def test_some_rows_have_a_fingerprint_of_their_own(read: Read) -> None:
    found = read(RAVEN, CROW, TIT)
    assert found.select(range(3)).sha256 == found.sha256 == read(RAVEN, CROW, TIT).sha256
    others = [RAVEN.replace("50.5", "50.6"), RAVEN.replace(",1,", ",9,", 1), RAVEN.replace("Pica pica;", "")]
    prints = {found.sha256, found.select([0, 1]).sha256, *(read(one, CROW, TIT).sha256 for one in others)}
    assert len(prints) == 5


def test_parquet_says_the_same_as_csv(read: Read, tmp_path: Path) -> None:
    first = read(RAVEN, CROW, TIT, ranges=RANGES)
    for path in tmp_path.glob("*.csv"):
        parquet.write_table(pyarrow.csv.read_csv(path), path.with_suffix(".parquet"))
        path.unlink()
    assert read_observations(tmp_path).sha256 == first.sha256


def test_observations_of_one_length(read: Read) -> None:
    found = read(RAVEN, CROW)
    with pytest.raises(DataError, match=r"observations' genus have the shape \(1,\), expected \(2,\)"):
        Observations(
            found.taxonomy,
            found.ids,
            found.species,
            found.genus[:1],
            *[found.reason] * 3,
            found.offsets,
            found.candidates,
        )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (CROW.replace(",,Corvus", ",Corvus corax,Corvus"), "b.jpg is unanswerable and has the species Corvus corax"),
        (CROW.replace(",,Corvus", ",,"), "b.jpg is unanswerable and has no genus"),
        (
            CROW.replace(",,Corvus", ",,Corvvs"),
            r"has the genus 'Corvvs', which is not in .*taxonomy\.csv; did you mean Corvus\?",
        ),
        (
            CROW.replace("vocalization", "vocalisation"),
            r"has the reason 'vocalisation', expected .*; did you mean vocalization\?$",
        ),
        (CROW.replace("vocalization", "moult"), "has the reason 'moult', expected image quality, .* or none"),
        (TIT.replace("Parus major", ""), "c.jpg is answerable and has no species"),
        (TIT.replace("Parus major", "Parus majr"), r"the species 'Parus majr', .*did you mean Parus major\?"),
        (TIT.replace(",Parus,", ",Pica,"), "has Parus major in the genus Pica, and .*taxonomy.csv in Parus"),
        (TIT.replace(",1,,", ",1,vocalization,"), "c.jpg is answerable and has the reason 'vocalization'"),
        (TIT.replace(",1,,", ",yes,,"), "has 'yes' as answerable: expected 0, 1, true or false"),
        (TIT.replace(",1,,", ",,,"), "has '' as answerable"),
        (RAVEN.replace("50.5", "90.5"), "has the latitude '90.5', expected degrees from -90 to 90"),
        (RAVEN.replace("8.25", "-181"), "has the longitude '-181', expected degrees from -180 to 180"),
        (RAVEN.replace("8.25", "nan"), "has the longitude 'nan'"),
        (RAVEN.replace("8.25", "8°15'"), "has the longitude '8°15''"),
        (RAVEN.replace("8.25", ""), "a.jpg has a latitude and no longitude: give both, or neither"),
        (RAVEN.replace("50.5", ""), "a.jpg has a longitude and no latitude"),
        (RAVEN.replace(";", "|"), r"a\.jpg has the candidate '.*\|.*': join several species by ';'"),
        (RAVEN + ";Pica pika", r"the candidate species 'Pica pika', which is not in .*; did you mean Pica pica\?"),
        ("x.jpg,1", "has 2 cells, expected 9"),
        ("z.jpg,9,Pica pica,Pica,1,,,,", "has the image 'z.jpg', and line 2 has 'z.jpg': remove or rename"),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_line(read: Read, line: str, said: str) -> None:
    with pytest.raises(DataError, match=rf"birds\.csv, line 3.*{said}"):
        read("z.jpg,9,Pica pica,Pica,1,,,,", line)


@pytest.mark.parametrize("column", HEADER.split(","))
def test_every_column_is_asked_for(read: Read, column: str) -> None:
    with pytest.raises(DataError, match=rf"birds\.csv has no column '{column}'; .*did you mean {column}s\?"):
        read(RAVEN, header=HEADER.replace(column, f"{column}s", 1))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Pica pika,0,1,0,1", r"has the species 'Pica pika', which .*did you mean Pica pica\?"),
        ("Pica pica,1,0,0,1", "has south 1.0 above north 0.0: swap them"),
        ("Pica pica,-91,0,0,1", "has the south '-91', expected degrees from -90 to 90"),
        ("Pica pica,0,1,,1", r"has the west '', expected degrees from -180 to 180, such as 90\.0: correct it"),
    ],
)
def test_ranges_off_the_globe_or_of_nobody_are_refused(read: Read, line: str, said: str) -> None:
    with pytest.raises(DataError, match=rf"ranges\.csv, line 5 {said}"):
        read(TIT, ranges=f"{RANGES}{line}\n")


@pytest.mark.parametrize("stem", ["birds", "taxonomy"])
def test_tables_that_must_be_there(read: Read, tmp_path: Path, stem: str) -> None:
    read(TIT)
    (tmp_path / f"{stem}.csv").unlink()
    with pytest.raises(DataError, match=rf"has no {stem}\.csv and no {stem}\.parquet"):
        read_observations(tmp_path)


def test_the_toyboxs_lists_are_those_of_its_ranges(tmp_path: Path) -> None:
    bird_files.write_bird_table(tmp_path, 3, "test", bird_files.styles()[:1], 60)
    first = read_observations(tmp_path)
    table = read_table(tmp_path / "birds.csv", ())
    rows = [[*cells, ""] for cells in zip(*(table[name] for name in HEADER.split(",")[:-1]), strict=True)]
    (tmp_path / "birds.csv").write_text("\n".join([HEADER, *map(",".join, rows)]))
    assert first.eligible.any()
    assert not first.unlisted.any()
    assert read_observations(tmp_path).sha256 == first.sha256
