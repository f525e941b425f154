"""The data sets of CLIP_benchmark on the hub, by name: `hub:clip-benchmark/wds_cars`, `hub:clip-benchmark/vtab+`.

Class names and prompt templates travel with each of them. The numbers of test images are from arXiv 2212.07143,
appendix ("Reproducible scaling laws for contrastive language-image learning").
"""

from collections.abc import Mapping
from dataclasses import replace

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.readers.hub import HubSpec
from eyechart.data.splits.registry import SplitRef

OWNER, PREFIX, COLLECTION, TEST = "clip-benchmark", "wds_", "vtab+", "test"
VTAB_PLUS: Mapping[str, int] = {
    "imagenet1k": 50_000,
    "imagenetv2": 10_000,
    "imagenet_sketch": 50_889,
    "imagenet-a": 7_500,
    "imagenet-r": 30_000,
    "objectnet": 18_574,
    "fer2013": 7_178,
    "voc2007": 14_976,
    "voc2007_multilabel": 4_952,
    "sun397": 108_754,
    "cars": 8_041,
    "fgvc_aircraft": 3_333,
    "mnist": 10_000,
    "stl10": 8_000,
    "gtsrb": 12_630,
    "country211": 21_100,
    "renderedsst2": 1_821,
    "vtab-caltech101": 6_085,
    "vtab-cifar10": 10_000,
    "vtab-cifar100": 10_000,
    "vtab-clevr_count_all": 15_000,
    "vtab-clevr_closest_object_distance": 15_000,
    "vtab-diabetic_retinopathy": 42_670,
    "vtab-dmlab": 22_735,
    "vtab-dsprites_label_orientation": 73_728,
    "vtab-dsprites_label_x_position": 73_728,
    "vtab-dtd": 1_880,
    "vtab-eurosat": 5_400,
    "vtab-kitti_closest_vehicle_distance": 711,
    "vtab-flowers": 6_149,
    "vtab-pets": 3_669,
    "vtab-pcam": 32_768,
    "vtab-resisc45": 6_300,
    "vtab-smallnorb_label_azimuth": 12_150,
    "vtab-smallnorb_label_elevation": 12_150,
    "vtab-svhn": 26_032,
}  # test images by name


def is_clip_benchmark(spec: HubSpec) -> bool:
    """Return whether a data set of the hub is one of CLIP_benchmark's.

    >>> is_clip_benchmark(HubSpec("clip-benchmark/wds_cars")), is_clip_benchmark(HubSpec("owner/wds_cars"))
    (True, False)
    """
    return spec.location.startswith((f"{OWNER}/{PREFIX}", f"{OWNER}/{COLLECTION}"))


def clip_benchmark_splits(spec: HubSpec) -> list[SplitRef]:
    """Return the splits of a data set, or of all in `vtab+`; by default those for tests. No connection is opened.

    >>> [ref.location for ref in clip_benchmark_splits(HubSpec("clip-benchmark/wds_cars"))]
    ['hf://datasets/clip-benchmark/wds_cars/test']
    >>> len(clip_benchmark_splits(HubSpec("clip-benchmark/vtab+")))
    36
    """
    name, split = spec.location.partition("/")[2], spec.split or TEST
    benchmarks = [f"{PREFIX}{short}" for short in VTAB_PLUS] if name == COLLECTION else [name]
    locations = [f"hf://datasets/{OWNER}/{benchmark}/{split}" for benchmark in benchmarks]
    return [
        SplitRef(benchmark, split, "shards", location)
        for benchmark, location in zip(benchmarks, locations, strict=True)
    ]


def note_count(dataset: Dataset) -> Dataset:
    """Return a data set with a note if it has the name of one of CLIP_benchmark's and another number of images."""
    expected = VTAB_PLUS.get(dataset.benchmark.removeprefix(PREFIX)) if dataset.split == TEST else None
    if not dataset.benchmark.startswith(PREFIX) or expected in (None, len(dataset.index)):
        return dataset
    note = (
        f"{dataset.benchmark}/{dataset.split} has {len(dataset.index):,} images, not the {expected:,} of arXiv "
        "2212.07143: its numbers cannot be compared with published ones."
    )
    return replace(dataset, notes=(*dataset.notes, note))
