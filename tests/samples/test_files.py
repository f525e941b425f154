"""The files of packaged samples: written and read again, and refused where a byte has changed or a file is gone."""

from hashlib import sha256
from pathlib import Path

import pytest

from eyechart.errors import DataError
from eyechart.samples.files import CHECKSUMS, REMEDY, checksums, read_packaged, read_table, write_checksums, write_table

ROWS = [{"name": 'a "cat", asleep', "place": "São\nPaulo"}, {"name": "", "place": " x "}]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A folder with a table, a picture in a folder of its own, and a text that has no checksum."""
    folder = tmp_path / "sample"
    write_table(folder / "rows.csv", ("name", "place"), [{**row, "more": 1} for row in ROWS])
    (folder / "pictures").mkdir()
    (folder / "pictures" / "a.webp").write_bytes(b"picture")
    (folder / "LICENSE").write_text("free", encoding="utf-8")
    write_checksums(folder)
    return folder


def test_a_table_is_read_as_it_was_written(sample: Path) -> None:
    assert read_table(sample, "rows.csv") == ROWS
    assert b"\r" not in (sample / "rows.csv").read_bytes()


def test_checksums_are_those_of_sha256sum(sample: Path) -> None:
    (first, second) = (sample / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    assert first == f"{sha256(b'picture').hexdigest()}  pictures/a.webp"
    assert second.endswith("  rows.csv")
    assert [*checksums(sample)] == ["pictures/a.webp", "rows.csv"]
    assert read_packaged(sample, "pictures/a.webp") == b"picture"


def test_a_file_that_changed_or_has_no_checksum_is_refused(sample: Path) -> None:
    path = sample / "pictures" / "a.webp"
    path.write_bytes(b"Picture")
    for name, was in (("pictures/a.webp", sha256(b"picture").hexdigest()), ("LICENSE", "none")):
        now = sha256((sample / name).read_bytes()).hexdigest()
        with pytest.raises(DataError) as refused:
            read_packaged(sample, name)
        assert str(refused.value) == f"{sample / name} has changed: its sha256 is {now}, expected {was}. {REMEDY}"


@pytest.mark.parametrize("name", ["rows.csv", CHECKSUMS])
def test_a_file_that_is_gone_is_named(sample: Path, name: str) -> None:
    (sample / name).unlink()
    with pytest.raises(DataError) as refused:
        read_table(sample, "rows.csv")
    assert str(refused.value) == f"{sample / name} cannot be read (No such file or directory). {REMEDY}"
