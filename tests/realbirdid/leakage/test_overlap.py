"""The overlap of birds with another collection: what counts as found, how alike, how many, and what is refused."""

import csv
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from eyechart.errors import DataError
from eyechart.realbirdid.leakage.overlap import (
    OverlapResult,
    _OverlapCount,
    find_overlap,
    summary_lines,
    write_matches,
)

HEAD = "image,observation_id,answerable,photo_id,url"
BIRDS = (
    "a.jpg,1,1,101,https://www.inaturalist.org/observations/1",
    "b.jpg,2,1,102,",
    "c.jpg,2,1,103,",
    "d.jpg,3,0,,https://example.org/d.jpg",
    "e.jpg,,0,,",
)
Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return written


@pytest.fixture
def birds(write: Write) -> Path:
    return write("birds.csv", "\n".join([HEAD, *BIRDS, ""]))


Find = Callable[..., dict[str, tuple[bool, str]]]


@pytest.fixture
def find(birds: Path, write: Write) -> Find:
    """Which images are found among some addresses, whether exactly, and by what."""

    def found(*urls: str, column: str = "source_url") -> dict[str, tuple[bool, str]]:
        return matched(find_overlap(birds, write("other.csv", "\n".join([column, *urls, ""]))))

    return found


def matched(found: OverlapResult) -> dict[str, tuple[bool, str]]:
    return {found.birds.images[match.image]: (match.exact, match.key) for match in found.matches}


def test_another_size_of_a_photo_is_near(find: Find) -> None:
    assert find("https://static.inaturalist.org/photos/102/square.jpg") == {"b.jpg": (False, "photo:102")}


def test_what_is_written_alike_is_exact(find: Find) -> None:
    assert find("103", column="photo_id") == {"c.jpg": (True, "photo:103")}
    assert find("https://example.org/d.jpg") == {"d.jpg": (True, "url:example.org/d.jpg")}


def test_an_observation_is_found_for_all_its_pictures(find: Find) -> None:
    both = (False, "observation:2")
    assert find("https://www.inaturalist.org/observations/2") == {"b.jpg": both, "c.jpg": both}


def test_the_same_picture_goes_before_the_observation_and_exact_before_near(find: Find) -> None:
    urls = ("https://www.inaturalist.org/observations/1", "https://www.inaturalist.org/photos/101")
    assert find(*urls) == find(*reversed(urls)) == {"a.jpg": (False, "photo:101")}
    urls = ("http://example.org/d.jpg?2", "https://example.org/d.jpg")
    assert find(*urls) == find(*reversed(urls)) == {"d.jpg": (True, "url:example.org/d.jpg")}


def test_nothing_is_found_by_a_number_of_another_kind(find: Find) -> None:
    assert find("https://www.inaturalist.org/photos/1", "https://www.inaturalist.org/observations/101") == {}
    assert find("101", "1") == {}


def test_counts_of_answerable_and_unanswerable_images(birds: Path, write: Write) -> None:
    urls = ("https://www.inaturalist.org/observations/2", "https://example.org/d.jpg")
    found = find_overlap(birds, write("other.csv", "\n".join(["source_url", *urls, ""])))
    assert [(one.images, one.exact, one.near) for one in found.counts] == [(3, 0, 2), (2, 1, 0), (5, 1, 2)]
    assert (found.rows, found.columns, found.same_pictures) == (2, ["source_url"], 1)


@pytest.mark.parametrize(
    ("found", "images", "share"), [(18_007, 31_885, "56.5%"), (36, 3_253, "1.1%")], ids=["answerable", "unanswerable"]
)
def test_the_published_shares(found: int, images: int, share: str) -> None:
    count = _OverlapCount("", images, 0, found)
    assert f"{count.share:.1%}" == share
    assert count.interval.low < count.share < count.interval.high


def test_the_list_names_both_sides_and_the_row(birds: Path, write: Write, tmp_path: Path) -> None:
    other = write(
        "other.csv", "x,photo_url\n1,\n2,https://inaturalist-open-data.s3.amazonaws.com/photos/102/large.jpg\n"
    )
    write_matches(tmp_path / "list.csv", find_overlap(birds, other))
    (line,) = csv.DictReader((tmp_path / "list.csv").read_text(encoding="utf-8").splitlines())
    assert (line["image"], line["observation_id"], line["answerable"]) == ("b.jpg", "2", "1")
    assert (line["match"], line["by"], line["key"], line["ours"]) == ("near", "photo", "photo:102", "102")
    assert (line["row"], line["column"]) == ("2", "photo_url")
    assert line["theirs"].endswith("/102/large.jpg")


def test_what_is_said(birds: Path, write: Write) -> None:
    text = "\n".join(summary_lines(find_overlap(birds, write("other.csv", "photo_id\n102\n1\n"))))
    assert "other.csv: 2 rows, read photo_id" in text
    assert "answerable         3      1     0      1  33.33%" in text
    assert "Found by photo or address: 1; by observation alone: 0." in text


def test_no_unanswerable_image_has_no_share(write: Write) -> None:
    birds = write("only.csv", "image,answerable,photo_id\na.jpg,1,1\n")
    found = find_overlap(birds, write("other.csv", "photo_id\n2\n"))
    (line,) = [line for line in "\n".join(summary_lines(found)).splitlines() if line.startswith("unanswerable")]
    assert line.split()[-2:] == ["–", "–"]


def test_parquet_with_numbers_and_a_folder_with_birds(birds: Path, tmp_path: Path) -> None:
    table = {"observation_id": pa.array([None, 2]), "photo_id": pa.array([101.0, None]), "name": pa.array(["x", "y"])}
    parquet.write_table(pa.table(table), tmp_path / "other.parquet")
    found = find_overlap(birds.parent, tmp_path / "other.parquet")
    assert matched(found) == {
        "a.jpg": (True, "photo:101"),
        "b.jpg": (True, "observation:2"),
        "c.jpg": (True, "observation:2"),
    }


def test_a_list_of_addresses_and_one_of_numbers(birds: Path, write: Write) -> None:
    other = write("other.txt", "http://example.org/d.jpg\nhttps://www.inaturalist.org/photos/101\n")
    assert [*matched(find_overlap(birds, other))] == ["a.jpg", "d.jpg"]
    assert [*matched(find_overlap(birds, write("numbers.txt", "7\n101\n"), numbers="photo"))] == ["a.jpg"]


def test_a_list_of_numbers_of_which_nothing_says_what_they_are(birds: Path, write: Write) -> None:
    with pytest.raises(DataError, match="--numbers=photo or --numbers=observation"):
        find_overlap(birds, write("numbers.txt", "7\n101\n"))


def test_columns_can_be_named(birds: Path, write: Write) -> None:
    other = write("other.csv", "id,where\n101,https://example.org/d.jpg\n")
    assert [*matched(find_overlap(birds, other, columns=["where"]))] == ["d.jpg"]
    assert [*matched(find_overlap(birds, other, columns=["id"], numbers="photo"))] == ["a.jpg"]


def test_rows_are_reported_as_they_come(birds: Path, write: Write) -> None:
    seen: list[int] = []
    find_overlap(birds, write("other.csv", "photo_id\n1\n2\n3\n"), progress=seen.append)
    assert sum(seen) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,name\n1,2\n", "no column that is called as identifiers or addresses are; it has id, name"),
        ("photo_id\n", "has no rows"),
        ("id;url\n5;https://www.inaturalist.org/photos/101\n", "other.csv has semicolons between its columns"),
        ("id|url\n5|https://www.inaturalist.org/photos/101\n", "other.csv has bars between its columns"),
    ],
)
def test_others_of_which_nothing_can_be_said(birds: Path, write: Write, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        find_overlap(birds, write("other.csv", text))


def test_an_unknown_column(birds: Path, write: Write) -> None:
    with pytest.raises(DataError, match="no column 'photo'; did you mean photo_id"):
        find_overlap(birds, write("other.csv", "photo_id\n1\n"), columns=["photo"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,answerable\na.jpg,1\n", "has no identifier in any row"),
        ("image,answerable,photo_id\na.jpg,maybe,1\n", "has 'maybe' as answerable"),
        ("image,photo_id\na.jpg,1\n", "has no column 'answerable'"),
    ],
)
def test_birds_without_what_is_needed(write: Write, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        find_overlap(write("birds.csv", text), write("other.csv", "photo_id\n1\n"))


def test_a_folder_without_birds(tmp_path: Path, birds: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"has no birds.csv"):
        find_overlap(tmp_path / "empty", birds)
