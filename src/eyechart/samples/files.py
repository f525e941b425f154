"""The files of the packaged samples, whose bytes must be those that were packaged."""

import csv
from collections.abc import Container, Iterable, Mapping, Sequence
from hashlib import sha256
from io import StringIO
from pathlib import Path

from eyechart.errors import DataError

CHECKSUMS = "sha256.txt"
REMEDY = "Install eyechart again, or give the folder of an intact sample."


def packaged(name: str) -> Path:
    """Return the folder of a benchmark's packaged samples, or of a packaged model."""
    return Path(__file__).parent / name


def read_table(folder: Path, name: str) -> list[dict[str, str]]:
    """Read a csv file, which must be the packaged one."""
    return list(csv.DictReader(StringIO(read_packaged(folder, name).decode(), newline="")))


def read_packaged(folder: Path, name: str) -> bytes:
    """Read a file of a folder; raises DataError where its sha256 is not the one in the folder's `sha256.txt`."""
    expected, data = checksums(folder).get(name, "none"), read(folder / name)
    if (digest := sha256(data).hexdigest()) != expected:
        raise DataError(f"{folder / name} has changed: its sha256 is {digest}, expected {expected}. {REMEDY}")
    return data


def checksums(folder: Path) -> dict[str, str]:
    """Read the sha256 of each file of a folder, in the format of the program `sha256sum`."""
    lines = read(folder / CHECKSUMS).decode().splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def write_checksums(folder: Path, suffixes: Container[str] = frozenset({".csv", ".webp"})) -> None:
    """Write the sha256 of the files of a folder that have one of the suffixes."""
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in suffixes]
    lines = (f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n" for path in files)
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write a csv file with the line ending `\\n`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path) -> bytes:
    """Read a file; raises DataError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). {REMEDY}") from error
