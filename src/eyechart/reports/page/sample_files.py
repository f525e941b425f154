"""Write a sample group as chunks: columns that are loaded whole for filtering, and texts in parts for reading."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.data.index.file_index import FileSource
from eyechart.protocol.imported import recorded_protocol
from eyechart.reports.page.chunks import TextNumbers, pack, pack_flags, pack_floats, pack_ragged, truncate, write_chunk
from eyechart.reports.page.prompt_texts import prompt_texts
from eyechart.reports.page.sample_groups import CaseSamples, SampleGroup
from eyechart.reports.page.samples import Samples
from eyechart.reports.page.thumbnails import PART as PICTURE_PART
from eyechart.reports.page.thumbnails import Pictures

PART = 250  # items whose texts lie together
OUT_OF_PROMPT, FAILED, UNPARSED = 0, 1, 2  # bits


def write_sample_group(folder: Path, number: int, group: SampleGroup, pictures: Pictures) -> dict[str, Any]:
    """Write all chunks of a group, and return its entry of the index."""
    names, folder_name = TextNumbers(), f"a{number}"
    for index, (name, outcomes) in enumerate(group.label_sets.items()):
        labels = pack_ragged(outcomes.labels.map(lambda row: [*map(names, row)]))
        categories = TextNumbers()
        kinds = pack(outcomes.categories.map(categories).array(np.int64))
        write_chunk(
            folder,
            f"{folder_name}/t{index}",
            {"name": name, "labels": labels, "categories": kinds, "categoryNames": categories.all()},
        )
    for index, case_samples in enumerate(group.cases):
        write_chunk(folder, f"{folder_name}/e{index}", case_columns(case_samples, group, names))
    parts = range(0, len(group.items), PART)
    classes = [
        [ranked.map(names).array(np.int32) for ranked, _ in case_samples.samples.best] for case_samples in group.cases
    ]
    for index, start in enumerate(parts):
        rows = slice(start, start + PART)
        texts = [_case_texts(case_samples, best, rows) for case_samples, best in zip(group.cases, classes, strict=True)]
        write_chunk(folder, f"{folder_name}/p{index}", {"cases": texts})
    keys = [key for key, _ in group.items]
    images = {
        "pictures": pack([group.picture_index.get(key, -1) for key in keys]),
        "pictureFiles": pictures.files,
        "picturePart": PICTURE_PART,
    }
    write_chunk(folder, f"{folder_name}/items", {"keys": keys} | images | _question_columns(group))
    write_chunk(folder, f"{folder_name}/names", names.all())
    write_chunk(folder, f"{folder_name}/originals", _original_files(group))
    prompts = [prompt_texts(case_samples.case, group.dataset) for case_samples in group.cases]
    write_chunk(folder, f"{folder_name}/prompts", prompts)
    return _group_summary(group, folder_name)


def _question_columns(group: SampleGroup) -> dict[str, Any]:
    """Return the questions; {} if items are only images."""
    questions = TextNumbers()
    numbers = [questions(question) for _, question in group.items]
    return {"questionNumbers": pack(numbers), "questionTexts": questions.all()} if any(numbers) else {}


def _original_files(group: SampleGroup) -> dict[str, Any]:
    """Return the address of the data root and the path of each image below it; {} where images are no files."""
    source = group.dataset.source if group.dataset else None
    if group.dataset is None or not isinstance(source, FileSource):
        return {}
    root = source.root.resolve()
    entries = {key: source.entries[row] for key, row in zip(group.dataset.keys, group.dataset.selected, strict=True)}
    known_entries = [entries.get(key) for key, _ in group.items]
    paths = [str(root / entry.path) if entry and entry.size == -1 else "" for entry in known_entries]
    start = os.path.commonpath([*filter(None, paths)]) if any(paths) else ""
    start = start if start not in paths else str(Path(start).parent)
    return {"root": Path(start).as_uri(), "paths": [path.removeprefix(start) for path in paths]} if start else {}


def _group_summary(group: SampleGroup, folder_name: str) -> dict[str, Any]:
    """Return the entry of a group in the index."""
    return {
        "name": group.name,
        "title": group.title,
        "folder": folder_name,
        "n": len(group.items),
        "part": PART,
        "unit": recorded_protocol(group.cases[0].case.record.protocol).sample_unit or group.cases[0].samples.unit,
        "labelSets": [*group.label_sets],
        "images": group.dataset is not None,
        "cases": [case_summary(case_samples) for case_samples in group.cases],
    }


def case_summary(case_samples: CaseSamples) -> dict[str, Any]:
    """Return the entry of a case in the index."""
    samples, case = case_samples.samples, case_samples.case
    return {
        "model": case.model,
        "protocolName": case_samples.protocol_name,
        "promptSettings": case.prompt_settings,
        "case": case.record.case,
        "before": case_samples.previous is not None,
        "outOfPrompt": any(samples.kinds),
        "score": recorded_protocol(case.record.protocol).score_name if samples.confidence is not None else "",
    }


def case_columns(case_samples: CaseSamples, group: SampleGroup, names: TextNumbers) -> dict[str, Any]:
    """Return all columns of a case that items are filtered by."""
    before = case_samples.previous
    numbers = {
        name: {"lost": pack(change.lost), "gained": pack(change.gained)}
        for name, change in case_samples.changes.items()
    }
    columns = sample_columns(case_samples.samples, group, names) | {"changes": numbers}
    scores = {"confidence": case_samples.samples.confidence, "loss": case_samples.samples.loss}
    columns |= {name: pack_floats(values) for name, values in scores.items() if values is not None}
    return columns | {"before": sample_columns(before, group, names) if before else None}


def sample_columns(samples: Samples, group: SampleGroup, names: TextNumbers) -> dict[str, Any]:
    """Return answers, outcomes under each label set, and flags."""
    answers = samples.answers.map(names).array(np.int64) if samples.answers else None
    has_failed = samples.errors.map(bool).array(np.bool_)
    is_missing = np.zeros_like(has_failed) if answers is None else (answers == 0) & ~has_failed  # unknown: not missing
    flags = {OUT_OF_PROMPT: samples.kinds.map(bool).array(np.bool_), FAILED: has_failed, UNPARSED: is_missing}
    return {
        "answers": None if answers is None else pack(answers),
        "outcomes": {
            str(n): pack(samples.label_sets[t].outcomes)
            for n, t in enumerate(group.label_sets)
            if t in samples.label_sets
        },
        "flags": pack(pack_flags(flags)),
    }


def _case_texts(case_samples: CaseSamples, classes: list[NDArray[np.int32]], rows: slice) -> dict[str, Any]:
    """Return the completions of a case and their details; empty columns are left out.

    `classes` are the number of each item's class at each rank, 0 for none.
    """
    samples, before = case_samples.samples, case_samples.previous
    columns: dict[str, list[Any]] = {
        "raw": [truncate(text) for text in samples.raw[rows]],
        "errors": [truncate(text) for text in samples.errors[rows]],
        "kinds": samples.kinds[rows],
        "best": [ranks[rows].tolist() for ranks in classes],
        "scores": [scores[rows] for _, scores in samples.best],
        "more": [[[truncate(label), truncate(value)] for label, value in row] for row in samples.more[rows]],
        "asked": [*samples.prompt_slots[rows]],
        "rawBefore": [
            truncate(old) if old != new else None for old, new in zip(before.raw[rows], samples.raw[rows], strict=True)
        ]
        if before
        else [],
    }
    return {name: values for name, values in columns.items() if any(values)}
