"""Index images by their paths below a folder, as the tables of a data set name them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from os import PathLike
from pathlib import Path, PurePosixPath
from unicodedata import normalize
from urllib.parse import unquote

from eyechart.data.dataset.columns import Columns
from eyechart.data.index.file_index import IndexEntry
from eyechart.data.index.index_cache import load_or_build, read_facts
from eyechart.errors import DataError
from eyechart.files.path_encoding import check_locale


def index_images(
    folder: Path, pictures: Sequence[str], *, named_by: Path, remedy: str, cache: Path | None = None
) -> Columns[IndexEntry]:
    """Return one entry per image, in the given order: keys are paths without suffix, and entries have no label.

    `pictures` are paths below the folder as the file `named_by` gives them. Pictures are hashed once, then kept in the
    cache. Raises DataError for pictures outside the folder, and for missing ones with their number and the remedy.
    """
    pictures = [find_picture(folder, path) for path in pictures]
    outside = [path for path in pictures if not is_below(path)]
    if outside:
        raise DataError(f"{named_by} names the picture '{outside[0]}', which is no file below {folder}: correct it.")
    missing = [path for path in pictures if not (folder / path).is_file()]
    if missing:
        raise DataError(
            f"{len(missing):,} of the {len(pictures):,} pictures that {named_by} names are not there, the first "
            f"{folder / missing[0]}: {remedy}"
        )
    files = read_facts(folder / path for path in pictures)
    return load_or_build(cache, files, lambda: _hash_images(folder, pictures), reader=f"annotated {folder.resolve()}")


def find_picture(folder: Path, path: str) -> str:
    """Return the path of a picture below a folder, which may be written with other separators, quotes or accents.

    >>> find_picture(Path("gone"), "val2017/.\\\\cat\\\\1.jpg")
    'val2017/cat/1.jpg'
    """
    check_locale(path)
    if is_below(path) and (folder / path).is_file():
        return path
    plain = plain_path(path)
    for other in (plain, normalize("NFC", plain), normalize("NFD", plain), unquote(plain)):
        if is_below(other) and (folder / other).is_file():
            return other
    return plain if plain != "." and "\\" in path else path


def find_first(folder: Path, paths: Sequence[str]) -> str:
    """Return the first of some paths at which a picture is in a folder, the first path if there is none."""
    return next((path for path in paths if (folder / find_picture(folder, path)).is_file()), paths[0])


def find_file(image: str | PathLike[str]) -> Path:
    """Return the path of an image, which may be written with quotes and spaces around it, as Windows does, or as a URL.

    >>> find_file("gone/a.png").as_posix()
    'gone/a.png'
    """
    text = str(image)
    plain = plain_path(unquote(text.strip().removeprefix("file://")) if text.strip().startswith("file://") else text)
    paths = []
    for path in (text, plain):
        with suppress(OSError, RuntimeError, ValueError):  # a name that is too long, or of no user
            paths.append(Path(path).expanduser())
            if paths[-1].is_file():
                return paths[-1]
    return paths[0] if paths else Path(text)


def plain_path(path: str) -> str:
    """Return a path with the separators of POSIX, and without quotes and spaces around it.

    >>> plain_path(' "a/1.jpg" ')
    'a/1.jpg'
    """
    return PurePosixPath(path.strip().strip("\"'").replace("\\", "/")).as_posix()


def is_below(path: str) -> bool:
    """Return whether a path is relative and does not leave its folder."""
    parts = PurePosixPath(path).parts
    return bool(parts) and ".." not in parts and not path.startswith("/")


def _hash_images(folder: Path, pictures: Sequence[str]) -> list[IndexEntry]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda path: _entry(folder, path), pictures))


def _entry(folder: Path, path: str) -> IndexEntry:
    name = PurePosixPath(path)
    try:
        digest = sha256((folder / path).read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"{folder / path} cannot be read ({error.strerror}): copy it again.") from error
    return IndexEntry(name.with_suffix("").as_posix(), name.name, digest, name.as_posix(), labels=())
