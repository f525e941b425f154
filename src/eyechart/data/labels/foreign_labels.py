"""Recognise the layouts and label files of other tools, and say what can be done with them."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from eyechart.data.names import is_system

PICTURES = frozenset(
    {"images", "image", "imgs", "img", "pictures", "photos", "jpegimages", "jpgs", "jpg", "jpeg", "png", "leftimg8bit"}
)
ANNOTATIONS = frozenset(
    {
        *("labels", "label", "annotations", "annotation", "annos", "anno", "masks", "mask", "bboxes", "boxes", "xml"),
        *("json", "txt", "gt", "gtfine", "groundtruth", "ground_truth", "segmentationclass", "segmentationobject"),
        *("imagesets", "segmentations", "segmentation", "depth", "meta", "metadata", "labeltxt", "ann", "targets"),
    }
)
DATA = "data"  # the folder of pictures in FiftyOne's layouts, beside labels.json or labels/
SPLIT_NAMES = frozenset({"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval"})
LABEL_SUFFIXES = (
    ".json", ".jsonl", ".csv", ".tsv", ".txt", ".xml", ".yaml", ".yml", ".mat", ".pkl", ".names", ".parquet",
    ".xlsx", ".xls", ".ods", ".npy", ".npz", ".h5", ".hdf5", ".feather", ".arrow", ".lst", ".tfrecord",
)  # fmt: skip
WORKBOOKS = (".xlsx", ".xls", ".ods")
HEAD = 2**16  # bytes of a file that are looked at
MAX_FILES = 3
FRAME = "read it into a pandas DataFrame with the columns path and label, and give that to eyechart.evaluate"


def is_layout(names: Collection[str]) -> bool:
    """Return whether folders belong to a layout, such as images/ beside labels/, and are no classes.

    >>> is_layout(["images", "labels"]), is_layout(["mask", "no_mask"]), is_layout(["train2014", "val2014"])
    (True, False, True)
    """
    roles = [*map(_role, names)]
    if DATA in names and "annotation" in roles:
        return True
    if not all(roles):
        return {"picture", "annotation"} <= {*roles}
    return {*roles} == {"split"} or "picture" in roles or len(roles) > 1


def _role(name: str) -> str:
    """Return what the name of a folder says of its content, such as `val2014` or `train_images`, "" for a class."""
    words = {*filter(None, re.split(r"[\W_\d]+", name.casefold()))}
    if name.casefold() in ANNOTATIONS:
        return "annotation"
    if not words or not words <= PICTURES | ANNOTATIONS | SPLIT_NAMES:
        return ""
    return "picture" if words & PICTURES else "annotation" if words & ANNOTATIONS else "split"


def describe_label_files(locations: Sequence[Path]) -> str:
    """Return a sentence about the files in some folders that may have labels of the pictures, "" without one."""
    files = [path for location in locations for path in _label_files(location)]
    if not files:
        return ""
    more = f" (and {len(files) - 1:,} more such files)" if len(files) > 1 else ""
    return f" {files[0]}{more} may have the labels, and is not read here: {_describe_label_file(files[0])}."


def _describe_label_file(path: Path) -> str:
    """Return what can be done with a file of labels that is not read where it lies."""
    head, name = _head(path), path.name.casefold()
    if name.startswith(("questions.", "birds.")):
        return f"save it as {path.stem.casefold()}.csv or {path.stem.casefold()}.parquet, which are read"
    if path.suffix.lower() in WORKBOOKS:
        return f"save it as csv, and {FRAME}"
    if path.suffix.lower() == ".json":
        return _describe_json(name, head)
    if name.startswith("metadata.") and path.suffix.lower() in (".csv", ".jsonl", ".parquet"):
        return 'open it with datasets.load_dataset("imagefolder", data_dir=…), and give that to eyechart.evaluate'
    if name.endswith((".yaml", ".yml", ".names")):
        return "it is one of YOLO, whose boxes are not read; export the data as COCO, or as a folder for each class"
    if name.endswith(".xml"):
        return "export the data as COCO for boxes, or as a folder for each class"
    return FRAME


def _describe_json(name: str, head: bytes) -> str:
    """Return the remedy for a JSON file."""
    if b"neg_category_ids" in head or name.startswith("lvis"):
        return "of LVIS, version 1 is read: ROOT/<folder>/lvis_v1_val.json beside val2017/ and train2017/"
    if b'"images"' in head and (b'"categories"' in head or b'"annotations"' in head):
        return _coco_remedy()
    if name.startswith(("instances_", "_annotations.coco")) or b'"categories"' in head:
        return _coco_remedy()
    return FRAME


def _coco_remedy() -> str:
    return (
        "as a file of COCO it is read as ROOT/<folder>/annotations/instances_val2017.json with the pictures in "
        "ROOT/<folder>/val2017/"
    )


def _label_files(folder: Path) -> Iterator[Path]:
    """Yield the first files of a folder that may have labels, JSON before others; there may be one a picture."""
    try:
        names = sorted(path.name for path in folder.iterdir() if path.suffix.lower() in LABEL_SUFFIXES)
    except OSError:
        return
    wanted = [name for name in names if not is_system(name) and not _is_other(name)]
    wanted.sort(key=lambda name: (LABEL_SUFFIXES.index(Path(name).suffix.lower()), name))
    yield from (folder / name for name in wanted[:MAX_FILES])


def _is_other(name: str) -> bool:
    """Return whether a file is one that is read, or a document."""
    known = ("classnames.", "slices.", "zeroshot_classification_templates", "dataset_", "nshards", "equivalences")
    return name.casefold().startswith((*known, "readme", "license", "licence", "copying", "citation", "checksums"))


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""
