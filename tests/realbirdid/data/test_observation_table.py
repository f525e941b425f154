"""Tests of `eyechart.realbirdid.data.observation_table`."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.csv
import pytest
from pyarrow import parquet

from eyechart.errors import DataError
from eyechart.realbirdid.data.observation_table import parse_observations, read_birds
from eyechart.realbirdid.data.observations import Observations
from tests.realbirdid.data.bird_lines import CROW, HEADER, RANGES, RAVEN, TIT, lists

Read = Callable[..., Observations]


def test_a_cell_that_is_no_day_is_refused(read: Read) -> None:
    with pytest.raises(DataError, match=r"birds.csv, line 2 has 'May 2019' as observed_on, expected a day such as"):
        read(f"{RAVEN},May 2019", header=f"{HEADER},observed_on")


@pytest.mark.parametrize(("cell", "expected"), [("1", 3), ("True", 3), (" TRUE ", 3)])
def test_answerable_in_every_spelling(read: Read, cell: str, expected: int) -> None:
    assert read(TIT.replace(",1,", f",{cell},")).species.tolist() == [expected]


@pytest.mark.parametrize("cell", ["0", "false", "False"])
def test_unanswerable_in_every_spelling(read: Read, cell: str) -> None:
    assert read(CROW.replace(",0,", f",{cell},")).species.tolist() == [-1]


def test_names_and_reasons_are_read_whatever_their_case(read: Read) -> None:
    found = read(RAVEN.replace("Corvus corax", "CORVUS corax "), CROW.replace("vocalization", "Vocalization"))
    assert (found.species.tolist(), found.reason.tolist(), lists(found)) == ([0, -1], [-1, 2], [[0, 1], [0, 2]])


def test_numbers_that_there_cannot_be_are_named(read: Read) -> None:
    assert read(RAVEN, CROW).missing_metrics == ()
    assert [note.partition(":")[0] for note in read(RAVEN, TIT).missing_metrics] == ["every image is answerable"]
    assert [note.partition(":")[0] for note in read(CROW).missing_metrics] == ["no image is answerable"]


def test_parquet_says_the_same_as_csv(read: Read, tmp_path: Path) -> None:
    first = read(RAVEN, CROW, TIT, ranges=RANGES)
    for path in tmp_path.glob("*.csv"):
        parquet.write_table(pyarrow.csv.read_csv(path), path.with_suffix(".parquet"))
        path.unlink()
    assert parse_observations(tmp_path, read_birds(tmp_path)).sha256 == first.sha256


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


@pytest.mark.parametrize("stem", ["birds", "taxonomy"])
def test_tables_that_must_be_there(read: Read, tmp_path: Path, stem: str) -> None:
    read(TIT)
    (tmp_path / f"{stem}.csv").unlink()
    with pytest.raises(DataError, match=rf"has no {stem}\.csv and no {stem}\.parquet"):
        parse_observations(tmp_path, read_birds(tmp_path))
