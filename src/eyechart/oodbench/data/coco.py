"""COCO's instances: `annotations/instances_val2017.json` beside the pictures in `val2017/`."""

import re
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.image_files import find_first, index_images, plain_path
from eyechart.oodbench.data.annotated_images import build_annotated_dataset
from eyechart.oodbench.data.instances import (
    Image,
    PublishedFile,
    build_annotation,
    count_instances,
    expected_images,
    hide_parents,
    leave_out_namesakes,
    read_instances,
)

NAMES = "bd17f1ee35d5f3c862a4894605855abbb9dda4b0621fdb0ac4c2c8c7bb7e730a"  # of the 80 categories
ELSEWHERE = re.compile(r"/|[A-Za-z]:/|[a-z][a-z0-9+]*:/")  # begins the path of another machine, or a URL
PUBLISHED = {"val": PublishedFile(5_000, 36_781, NAMES), "train": PublishedFile(118_287, 860_001, NAMES)}


def annotation_file(folder: Path, part: str = "val") -> Path:
    """Return where a part's annotations lie."""
    return folder / "annotations" / f"instances_{part}2017.json"


def open_coco(folder: Path, benchmark: str, split: str, *, part: str = "val", cache: Path | None = None) -> Dataset:
    """Open a part of COCO 2017, or of anyone's pictures in its format, in the order of the file names.

    Every category was looked for in every image, but for the parents of others that nothing is annotated with. A crowd
    makes its category present and not countable. A split named `coco` or `coco-train` with COCO's own categories must
    have the published numbers of images and annotations.
    """

    def picture(image: Image) -> str:
        return f"{part}2017/{image.file_name}" if image.file_name else ""

    def location(image: Image) -> str:
        """Return where the picture lies, which may be written with the folder, or as it lay on another machine."""
        name = plain_path(image.file_name)
        elsewhere = [f"{part}2017/{name.rpartition('/')[2]}"] if ELSEWHERE.match(name) else []
        locations = (picture(image), f"{part}2017/{name}", *([name] if name.startswith(f"{part}2017/") else elsewhere))
        return find_first(folder, locations)

    path = annotation_file(folder, part)
    instances, namesakes = leave_out_namesakes(read_instances(path, "COCO instances", picture))
    published = PUBLISHED.get(part) if split.casefold() in ("coco", f"coco-{part}") else None
    expected = expected_images(path, f"{benchmark}/{split}", instances, published)
    remedy = f"unpack all of {part}2017.zip beside annotations/, or keep only your own images in the file."
    pictures = [location(image) for image in instances.images]
    entries = index_images(folder, pictures, named_by=path, remedy=remedy, cache=cache)
    names = [category.name for category in instances.categories]
    tally, areas, faults = count_instances(instances)
    tally, parents = hide_parents(instances, tally)
    return build_annotated_dataset(
        folder,
        benchmark,
        split,
        entries,
        names,
        build_annotation(instances, tally, areas, (*faults, *namesakes, *parents)),
        expected=expected,
    )
