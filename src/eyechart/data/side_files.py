"""Files beside the images of a split, such as classnames.txt: whether they are there, and others that look like one."""

from collections.abc import Iterator
from pathlib import Path

from eyechart.errors import DataError

READ = {
    "slices": ("slices.csv", "slices.parquet"),
    "classnames": ("classnames.txt",),
    "class_names": ("classnames.txt",),
    "equivalences": ("equivalences.csv",),
}  # by the name without its endings, in lower case


def is_side_file(path: Path) -> bool:
    """Return whether a file is there. Raises DataError for a link to nothing and for what is no file."""
    check_link(path)
    if path.exists() and not path.is_file():
        raise DataError(f"{path} is a folder, expected a file: rename it.")
    return path.is_file()


def check_link(path: Path) -> None:
    """Raise DataError for a symbolic link that leads to nothing or to itself."""
    if not path.is_symlink():
        return
    try:
        path.stat()
    except OSError as error:
        raise DataError(
            f"{path} is a link to {path.readlink()} that cannot be followed ({error.strerror}): restore what it leads "
            "to, or remove it."
        ) from error


def describe_unread(folder: Path) -> Iterator[str]:
    """Yield a note for each file whose name is nearly that of one that would be read."""
    for location in (folder, folder / "data"):
        for path in sorted(location.iterdir()) if location.is_dir() else ():
            wanted = READ.get(path.name.partition(".")[0].casefold(), ())
            if wanted and path.is_file() and (path.name not in wanted or location != folder):
                names = " or ".join(wanted)
                yield f"{path.relative_to(folder)} is not read: expected {names} in the folder of the split."
