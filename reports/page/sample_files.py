"""An album as chunks: columns that are looked at whole, to filter by, and texts in parts, to read."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .chunks import TextNumbers, pack, pack_flags, pack_ragged, truncate, write_chunk
from .sample_groups import CaseSamples, SampleGroup
from .samples import Samples

PART = 250  # items whose texts lie together
OUT_OF_PROMPT, FAILED, SILENT = 0, 1, 2  # bits


def write_sample_group(folder: Path, number: int, album: SampleGroup) -> dict[str, Any]:
    """Write all chunks of an album, and return what the index says of it."""
    names, home = TextNumbers(), f"a{number}"
    for place, (name, held) in enumerate(album.label_sets.items()):
        labels = pack_ragged([names(label) for label in row] for row in held.labels)
        categories = TextNumbers()
        kinds = pack([categories(category) for category in held.categories])
        write_chunk(
            folder, f"{home}/t{place}", {"name": name, "labels": labels, "kinds": kinds, "of": categories.all()}
        )
    for place, exhibit in enumerate(album.cases):
        write_chunk(folder, f"{home}/e{place}", case_columns(exhibit, album, names))
    parts = range(0, len(album.items), PART)
    for place, start in enumerate(parts):
        write_chunk(folder, f"{home}/p{place}", part_texts(album, names, slice(start, start + PART)))
    keys = [key for key, _ in album.items]
    pictures = [album.pictures[key][1] if key in album.pictures else "" for key in keys]
    write_chunk(folder, f"{home}/items", {"keys": keys, "pictures": pictures} | question_columns(album))
    write_chunk(folder, f"{home}/names", names.all())
    return group_summary(album, home)


def question_columns(album: SampleGroup) -> dict[str, Any]:
    """The questions, where items are more than images."""
    questions = TextNumbers()
    numbers = [questions(question) for _, question in album.items]
    return {"asked": pack(numbers), "questions": questions.all()} if any(numbers) else {}


def group_summary(album: SampleGroup, home: str) -> dict[str, Any]:
    """What the index says of an album."""
    return {
        "name": album.name,
        "title": album.title,
        "home": home,
        "n": len(album.items),
        "part": PART,
        "unit": album.cases[0].samples.unit,
        "truths": [*album.label_sets],
        "images": album.dataset is not None,
        "exhibits": [case_summary(exhibit) for exhibit in album.cases],
    }


def case_summary(exhibit: CaseSamples) -> dict[str, Any]:
    """What the index says of a case."""
    said, entry = exhibit.samples, exhibit.case
    return {
        "model": entry.model,
        "task": exhibit.task,
        "wording": entry.prompt_settings,
        "case": entry.record.case,
        "before": exhibit.previous is not None,
        "outOfPrompt": any(said.kinds),
    }


def case_columns(exhibit: CaseSamples, album: SampleGroup, names: TextNumbers) -> dict[str, Any]:
    """Everything of a case that items are filtered by."""
    before = exhibit.previous
    numbers = {name: {"lost": pack(each.lost), "gained": pack(each.gained)} for name, each in exhibit.changes.items()}
    found = sample_columns(exhibit.samples, album, names) | {"moved": numbers}
    return found | {"before": sample_columns(before, album, names) if before else None}


def sample_columns(said: Samples, album: SampleGroup, names: TextNumbers) -> dict[str, Any]:
    """Answers, outcomes under each ground truth, and what went wrong."""
    pairs = zip(said.answers or ("?",) * len(said.items), said.errors, strict=True)  # unknown answers are none to miss
    silent = (not (answer or error) for answer, error in pairs)
    flags = {OUT_OF_PROMPT: map(bool, said.kinds), FAILED: map(bool, said.errors), SILENT: silent}
    return {
        "answers": pack([names(answer) for answer in said.answers]) if said.answers else None,
        "outcomes": {str(n): pack(said.truths[t].outcomes) for n, t in enumerate(album.label_sets) if t in said.truths},
        "flags": pack(pack_flags(flags)),
    }


def part_texts(album: SampleGroup, names: TextNumbers, rows: slice) -> dict[str, Any]:
    """The texts of some items, case by case."""
    return {"exhibits": [case_texts(exhibit, names, rows) for exhibit in album.cases]}


def case_texts(exhibit: CaseSamples, names: TextNumbers, rows: slice) -> dict[str, Any]:
    """What a case said in its own words, and what belongs to it; columns that are empty are left out."""
    said, before = exhibit.samples, exhibit.previous
    columns: dict[str, list[Any]] = {
        "raw": [truncate(text) for text in said.raw[rows]],
        "errors": [truncate(text) for text in said.errors[rows]],
        "kinds": [*said.kinds[rows]],
        "best": [[[names(name), score] for name, score in row] for row in said.best[rows]],
        "more": [[[truncate(one), truncate(other)] for one, other in row] for row in said.more[rows]],
        "rawBefore": [*changed_texts(before, said, rows)] if before else [],
    }
    return {name: values for name, values in columns.items() if any(values)}


def changed_texts(before: Samples, said: Samples, rows: slice) -> Iterator[Any]:
    """What was said before, where that was something else."""
    pairs: Sequence[tuple[str, str]] = [*zip(before.raw[rows], said.raw[rows], strict=True)]
    yield from (truncate(old) if old != new else None for old, new in pairs)
