"""The packaged label maps are OODBench's Tables 4 and 5, under the data sets' real keys."""

import csv
from pathlib import Path

import pytest

from eyechart.oodbench.data.label_maps import label_map

LABELS = Path(__file__).parents[2] / "golden" / "oodbench_labels.csv"
PRINTED = {"nuScenes": ".", "Cityscapes": " "}  # instead of _
SOURCES = pytest.mark.parametrize("dataset", PRINTED)


def table(dataset):
    with LABELS.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["dataset"] == dataset]


def spelled(labels, dataset):
    return [label.replace("_", PRINTED[dataset]) for label in labels]


@SOURCES
def test_what_is_kept_is_asked_for_by_the_printed_names(dataset) -> None:
    ours = label_map(dataset.lower())
    kept = [(row["original"], row["modified"]) for row in table(dataset) if not row["remark"]]
    assert list(zip(spelled(ours.originals, dataset), ours.names, strict=True)) == kept


@SOURCES
def test_what_is_remarked_upon_is_dropped(dataset) -> None:
    dropped = spelled(label_map(dataset.lower()).dropped, dataset)
    assert {row["original"] for row in table(dataset) if row["remark"]} <= {*dropped}


def test_the_real_keys_of_nuscenes_have_underscores() -> None:
    found = label_map("nuscenes")
    real = {key for key in (*found.originals, *found.dropped) if "_" in key}
    pedestrians = {f"human.pedestrian.{who}" for who in ("personal_mobility", "police_officer", "construction_worker")}
    objects = {f"movable_object.{what}" for what in ("barrier", "trafficcone", "pushable_pullable", "debris")}
    assert real == pedestrians | objects | {"static_object.bicycle_rack"}
