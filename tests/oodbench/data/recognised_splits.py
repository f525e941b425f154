"""What OODBench reads of the folders of a data root."""

from pathlib import Path

from eyechart.data.splits.registry import SplitRef
from eyechart.oodbench.data.registered import OODBENCH

COCO, TRAIN = ("annotations/instances_val2017.json", "val2017/1.jpg"), ("annotations/instances_train2017.json",)
LVIS, NUSCENES = ("lvis_v1_val.json", "val2017/1.jpg"), ("v1.0-mini/sample_data.json", "samples/CAM_FRONT/1.jpg")
CITYSCAPES = ("gtFine/val/ulm/1.json", "leftImg8bit/val/ulm/1.png")


def recognised(root: Path) -> list[SplitRef]:
    """What OODBench reads of the folders of a data root, asked as a survey of the root asks."""
    folders = (root, *sorted(root.glob("*/")), *sorted(root.glob("*/*/")))
    return [ref for folder in folders for ref in OODBENCH.recognises(folder, root)]


def found(root: Path) -> list[tuple[str, str, str]]:
    """The name, format and part of every split, and all that is missing."""
    return [(ref.split, ref.layout, ref.part) for ref in recognised(root) if not ref.missing]


def missing(root: Path) -> dict[str, str]:
    return {ref.split: ref.missing for ref in recognised(root) if ref.missing}
