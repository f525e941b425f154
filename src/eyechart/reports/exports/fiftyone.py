"""Splits of runs as data sets of FiftyOne: `samples.json` and `metadata.json`, read as `LegacyFiftyOneDataset`.

An image has its expected answer, and for each case the prediction and whether it is correct under each label set.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.file_index import FileSource
from eyechart.reports.page.sample_groups import SampleLoader
from eyechart.reports.runs import CaseRun, ComparableCases, Runs

CORRECT, TARGET = "correct", "ground_truth"
OUTCOMES: Mapping[float, bool] = {1.0: True, 0.0: False}
LOST, GAINED = "lost", "gained"


def export_fiftyone(runs: Runs, loader: SampleLoader, before: Runs | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield the files of each split.

    `loader` opens the images, and its `notes` get the splits without any: their images go by their keys. With the runs
    before, images whose outcome changed are tagged `lost` or `gained` with the name of the case's field.
    """
    outcomes_before = {identity(case): outcomes(case) for case in (before.cases if before else ())}
    for group in runs.groups:
        folder = re.sub(r"[^\w.-]+", "-", group.title)
        info = {
            "eyechart": {
                "split": group.benchmark,
                "cases": {field: case.record.case for field, case in _named_cases(group).items()},
            }
        }
        metadata = {"name": folder, "media_type": "image", "info": info}
        yield f"{folder}/metadata.json", encode(metadata)
        if not loader.knows_images(group):
            loader.notes.append(
                f"{group.title}: no images are known, so keys stand for paths. --data=ROOT opens images."
            )
        samples = describe_samples(group, _image_paths(loader.open_dataset(group)), outcomes_before)
        yield f"{folder}/samples.json", encode({"samples": samples})


def encode(value: object) -> bytes:
    """Return a value as JSON in the order of its fields."""
    return json.dumps(value, indent=1, ensure_ascii=False).encode()


def identity(case: CaseRun) -> tuple[str, str]:
    """Return what a case has in common with that of an earlier run."""
    return case.record.case, case.record.protocol


def outcomes(case: CaseRun) -> dict[str, float]:
    """Return whether the first answer to each image is correct, by key; NaN for one that does not count."""
    frame = case.samples(("key", CORRECT)).drop_duplicates("key")
    return dict(zip(frame["key"], frame[CORRECT], strict=True))


def _named_cases(group: ComparableCases) -> dict[str, CaseRun]:
    """Return the cases by the names of their fields, which have only letters, digits and underscores."""
    named: dict[str, CaseRun] = {}
    for case in group.cases:
        stem = "_".join(re.findall(r"[A-Za-z0-9]+", f"{case.model} {case.record.protocol}"))
        name, number = stem, 2
        while name in named:
            name, number = f"{stem}_{number}", number + 1
        named[name] = case
    return named


def _image_paths(dataset: Dataset | None) -> dict[str, str]:
    """Return the path of each image that is a file of its own, by key."""
    source = dataset.source if dataset else None
    if dataset is None or not isinstance(source, FileSource):
        return {}
    root = source.root.resolve()
    entries = zip(dataset.keys, (source.entries[row] for row in dataset.selected), strict=True)
    return {key: str(Path(root / entry.path)) for key, entry in entries if entry.size == -1}


def describe_samples(
    group: ComparableCases, paths: Mapping[str, str], before: Mapping[tuple[str, str], Mapping[str, float]]
) -> list[dict[str, Any]]:
    """Return the images of a split with the answers of all its cases."""
    samples: dict[str, dict[str, Any]] = {}
    for field, case in _named_cases(group).items():
        rows: Sequence[Mapping[str, Any]] = case.samples().drop_duplicates("key").to_dict("records")
        earlier = before.get(identity(case), {})
        for row in rows:
            key = row["key"]
            sample = samples.setdefault(key, {"filepath": paths.get(key, key), "tags": [], "key": key})
            if row["target"]:
                sample.setdefault(TARGET, label(row["target"]))
            if row["prediction"]:
                sample[field] = label(row["prediction"], dict(_correct_values(row)))
            change = row[CORRECT] - earlier.get(key, float("nan"))
            sample["tags"] += [f"{LOST if change < 0 else GAINED}:{field}"] if abs(change) == 1 else []
    return [*samples.values()]


def label(text: str, attributes: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Return a classification of FiftyOne with attributes."""
    return {"_cls": "Classification", "tags": [], "label": text, **attributes}


def _correct_values(row: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield whether an answer is correct under the first label set and each other one, where it counts."""
    for name, value in row.items():
        first, _, last = name.rpartition(".")
        if last == CORRECT and value in OUTCOMES and not first.startswith("kept"):
            yield re.sub(r"\W+", "_", name), OUTCOMES[value]
