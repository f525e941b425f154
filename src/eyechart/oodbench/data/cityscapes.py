"""Cityscapes: images of the left camera with the polygons of gtFine (OODBench, Table 5).

Every polygon counts as one instance of its label, also for road, vegetation, wall and fence: the annotation has no
other instances, and the published counts use polygons. A label that ends in `group` is a crowd: the label is present,
but its objects cannot be counted. The label `polegroup` is not a class, but an image with one has an unknown number of
poles. An object counts even if objects in front of it cover most of it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.image_files import index_images
from eyechart.errors import DataError
from eyechart.oodbench.data.annotated_images import build_annotated_dataset, read_json
from eyechart.oodbench.data.annotation import Annotation, Exclusion, list_exclusions
from eyechart.oodbench.data.label_maps import LabelMap, label_map
from eyechart.oodbench.data.tallies import tally_instances

PICTURE, POLYGONS = "_leftImg8bit.png", "_gtFine_polygons.json"
GROUP = "group"
VALIDATION, PICTURES = frozenset({"frankfurt", "lindau", "munster"}), 500
_DOUBTS = {"polegroup": "pole"}
REPEATED = "it repeats another one's label and outline"
Points = NDArray[np.float64]


class Thing(msgspec.Struct, frozen=True):
    """A polygon in pixels with its label."""

    label: str
    polygon: list[tuple[float, float]]
    deleted: int | bool | None = None


class Objects(msgspec.Struct, frozen=True, rename="camel"):
    """The polygons of an image, from back to front."""

    img_width: float
    img_height: float
    objects: list[Thing]


class _PolygonStatus(NamedTuple):
    """How a polygon is counted: `kind` is thing, crowd, doubt or nothing; `why` is the reason to exclude it."""

    kind: str
    label: str = ""
    why: str = ""


def open_cityscapes(
    folder: Path, benchmark: str, split: str, *, part: str = "val", cache: Path | None = None
) -> Dataset:
    """Return the data set of `leftImg8bit/PART/CITY/*_leftImg8bit.png` and `gtFine/PART/CITY/*_gtFine_polygons.json`.

    Images without a polygon file and polygon files without an image are excluded and listed. So are polygons without a
    class, without area, outside their image, and duplicates. If all three cities of val are present, all of its 500
    images must be present.

    Raises DataError if images of val are missing, for a part other than val and train, and for unreadable files.
    """
    if part not in ("val", "train"):
        raise DataError(f"Cityscapes has annotations for the parts val and train, not for '{part}'.")
    pictures = _list_files(folder / "leftImg8bit" / part, PICTURE)
    polygons = _list_files(folder / "gtFine" / part, POLYGONS)
    both = sorted(pictures & polygons)
    unmatched = (
        *list_exclusions("picture", f"it has no *{POLYGONS} in gtFine/{part}", sorted(pictures - polygons)),
        *list_exclusions("polygon file", f"it has no *{PICTURE} in leftImg8bit/{part}", sorted(polygons - pictures)),
    )
    expected = _expected(folder, part, both)
    files = [folder / "gtFine" / part / f"{stem}{POLYGONS}" for stem in both]
    paths = [f"leftImg8bit/{part}/{stem}{PICTURE}" for stem in both]
    entries = index_images(folder, paths, named_by=folder / "gtFine", remedy="unpack leftImg8bit again.", cache=cache)
    annotation = _annotation(files, [Path(stem).name for stem in both], unmatched)
    return build_annotated_dataset(
        folder, benchmark, split, entries, label_map("cityscapes").names, annotation, expected=expected
    )


def _list_files(folder: Path, suffix: str) -> set[str]:
    """Return the files as CITY/NAME, without the suffix."""
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder: unpack leftImg8bit and gtFine beside each other.")
    files = (path for path in folder.glob(f"*/*{suffix}") if not path.name.startswith("."))
    return {path.relative_to(folder).as_posix().removesuffix(suffix) for path in files}


def _expected(folder: Path, part: str, both: list[str]) -> int | None:
    cities = {stem.partition("/")[0] for stem in both}
    if part != "val" or not cities >= VALIDATION:
        return None
    if len(both) != PICTURES:
        raise DataError(
            f"{folder} has {len(both):,} pictures with polygons in the cities of val, expected {PICTURES}: unpack "
            "leftImg8bit and gtFine again, or leave out a city."
        )
    return PICTURES


def _annotation(files: list[Path], ids: list[str], left_out: tuple[Exclusion, ...]) -> Annotation:
    labels = label_map("cityscapes")
    cells: dict[str, list[tuple[int, int]]] = {"thing": [], "crowd": [], "doubt": []}
    reasons: dict[str, list[str]] = {}
    for row, (file, name) in enumerate(zip(files, ids, strict=True)):
        for index, judged in enumerate(_polygon_statuses(file, labels)):
            if judged.label:
                cells[judged.kind].append((row, labels.index_by_label[judged.label]))
            if judged.why:
                reasons.setdefault(judged.why, []).append(f"{name}, object {index}")
    arrays = (np.array(cells[kind], dtype=np.int64).reshape(-1, 2) for kind in ("thing", "crowd", "doubt"))
    listed = (exclusion for why, names in reasons.items() for exclusion in list_exclusions("polygon", why, names))
    tally = tally_instances((len(files), len(labels.names)), *arrays)
    return Annotation(*tally, tuple(ids), labels.originals, (*left_out, *listed))


def _polygon_statuses(file: Path, labels: LabelMap) -> Iterator[_PolygonStatus]:
    content = read_json(file, Objects, "Cityscapes' polygons")
    if content.img_width < 1 or content.img_height < 1:
        raise DataError(f"{file}: the picture is {content.img_width:g} x {content.img_height:g} pixels: copy it again.")
    there: set[tuple[str, tuple[tuple[float, float], ...]]] = set()
    for thing in content.objects:
        status = (
            _PolygonStatus("nothing")
            if thing.deleted
            else _polygon_status(thing, content.img_width, content.img_height, labels)
        )
        outline = (thing.label, tuple(thing.polygon))
        if status.kind in ("thing", "crowd"):
            status = _PolygonStatus("nothing", why=REPEATED) if outline in there else status
            there.add(outline)
        yield status


def _polygon_status(thing: Thing, width: float, height: float, labels: LabelMap) -> _PolygonStatus:
    label, group = _single(thing.label, labels)
    if label not in labels.index_by_label:
        why = labels.dropped.get(label, "no published name")
        return _PolygonStatus("doubt", _DOUBTS.get(label, ""), f"{thing.label} is no class here ({why})")
    points = np.array(thing.polygon, dtype=np.float64).reshape(-1, 2)
    if _polygon_area(points) == 0:
        return _PolygonStatus("doubt", label, "it has no area; its label is unknown there")
    if _polygon_area(_clip_polygon(points, width, height)) == 0:
        return _PolygonStatus("nothing", why="it is outside the picture")
    return _PolygonStatus("crowd" if group else "thing", label)


def _single(label: str, labels: LabelMap) -> tuple[str, bool]:
    """Return the label without the suffix `group`, and whether the label is of a group."""
    single = label.removesuffix(GROUP)
    known = label in labels.index_by_label or label in labels.dropped
    return (label, False) if known or single == label else (single, True)


def _polygon_area(points: Points) -> float:
    """Return the area in square pixels of a polygon (n, 2) that does not cross itself; 0 for fewer than three points.

    >>> _polygon_area(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]]))
    6.0
    """
    x, y = points.T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def _clip_polygon(points: Points, width: float, height: float) -> Points:
    """Return the part of a polygon (n, 2) inside the image; the polygon is clipped at each side in turn.

    >>> _polygon_area(_clip_polygon(np.array([[-2.0, 0.0], [2.0, 0.0], [2.0, 9.0], [-2.0, 9.0]]), 8, 5))
    10.0
    """
    for axis, side, bound in ((0, 1.0, 0), (0, -1.0, width), (1, 1.0, 0), (1, -1.0, height)):
        points = _cut(points, side * (points[:, axis] - bound))
    return points


def _cut(points: Points, inside: Points) -> Points:
    """Return the points with non-negative values of `inside`, and a new point wherever the outline crosses zero."""
    after, beyond = np.roll(points, -1, axis=0), np.roll(inside, -1)
    cross = inside * beyond < 0
    share = np.divide(inside, inside - beyond, out=np.zeros_like(inside), where=cross)
    both = np.stack([points, points + share[:, None] * (after - points)], axis=1)
    return both[np.stack([inside >= 0, cross], axis=1)]
