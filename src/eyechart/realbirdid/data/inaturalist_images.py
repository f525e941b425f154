"""Find the image files of observations by the number at the start of their names."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eyechart.data.images import SUFFIXES
from eyechart.data.names import is_system
from eyechart.errors import DataError

PHOTO, OBSERVATION = "photo", "observation"
_NUMBER = re.compile(r"[^\W\d]*[_-]?0*(\d+)(?!\d)")


@dataclass(frozen=True)
class ObservationImage:
    """An image file of an observation; `by_photo` if it is named by the id of the photo."""

    path: Path
    by_photo: bool


def find_images(
    folder: Path, photos: Mapping[str, str], observations: Sequence[str]
) -> dict[str, list[ObservationImage]]:
    """Return the image files of every observation, in the order of their paths.

    `photos` maps photo ids to observation ids. An image is `17.jpg`, `17_2.jpg` or `17/medium.jpg`. The ids of photos
    and observations overlap: the kind that matches more files takes precedence, observations if they are equal.
    """
    files = _numbered_images(folder)
    known = {PHOTO: photos, OBSERVATION: {observation: observation for observation in observations}}
    count = {kind: sum(number in known[kind] for _, number in files) for kind in known}
    order = sorted(known, key=lambda kind: (-count[kind], kind))
    images: defaultdict[str, list[ObservationImage]] = defaultdict(list)
    for path, number in files:
        kind = next((kind for kind in order if number in known[kind]), None)
        if kind is not None:
            images[known[kind][number]].append(ObservationImage(path, kind == PHOTO))
    return dict(images)


def _numbered_images(folder: Path) -> list[tuple[Path, str]]:
    """Return every image below a folder with the number in its name, else in the name of its folder.

    Raises DataError if there is no such image.
    """
    if not folder.is_dir():
        raise DataError(f"--images={folder} is no folder: give the one that the pictures are in.")
    listed = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    paths = sorted(path for path in listed if not any(map(is_system, path.relative_to(folder).parts)))
    images = [(path, match[1]) for path in paths if (match := _number(path))]
    if not images:
        raise DataError(
            f"{folder} has no picture that is named by a number: name them by the photo, as 17.jpg or 17/medium.jpg, "
            "or by the observation."
        )
    return images


def _number(path: Path) -> re.Match[str] | None:
    return _NUMBER.match(path.stem) or _NUMBER.fullmatch(path.parent.name)
