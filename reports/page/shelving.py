"""An album as chunks: columns that are looked at whole, to filter by, and texts in parts, to read."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .albums import Album, Exhibit
from .chunks import Names, codes, cut, packed, ragged, write_chunk
from .said import Said

PART = 250  # items whose texts lie together
OUT_OF_PROMPT, FAILED, SILENT = 0, 1, 2  # bits


def write_album(folder: Path, number: int, album: Album) -> dict[str, Any]:
    """Write all chunks of an album, and return what the index says of it."""
    names, home = Names(), f"a{number}"
    for place, (name, held) in enumerate(album.truths.items()):
        labels = ragged([names(label) for label in row] for row in held.labels)
        categories = Names()
        kinds = packed([categories(category) for category in held.categories])
        write_chunk(
            folder, f"{home}/t{place}", {"name": name, "labels": labels, "kinds": kinds, "of": categories.all()}
        )
    for place, exhibit in enumerate(album.exhibits):
        write_chunk(folder, f"{home}/e{place}", exhibit_columns(exhibit, album, names))
    parts = range(0, len(album.items), PART)
    for place, start in enumerate(parts):
        write_chunk(folder, f"{home}/p{place}", part(album, names, slice(start, start + PART)))
    keys = [key for key, _ in album.items]
    pictures = [album.pictures[key][1] if key in album.pictures else "" for key in keys]
    write_chunk(folder, f"{home}/items", {"keys": keys, "pictures": pictures} | asked(album))
    write_chunk(folder, f"{home}/names", names.all())
    return described(album, home)


def asked(album: Album) -> dict[str, Any]:
    """The questions, where items are more than images."""
    questions = Names()
    numbers = [questions(question) for _, question in album.items]
    return {"asked": packed(numbers), "questions": questions.all()} if any(numbers) else {}


def described(album: Album, home: str) -> dict[str, Any]:
    """What the index says of an album."""
    return {
        "name": album.name,
        "title": album.title,
        "home": home,
        "n": len(album.items),
        "part": PART,
        "unit": album.exhibits[0].said.unit,
        "truths": [*album.truths],
        "images": album.dataset is not None,
        "exhibits": [about(exhibit) for exhibit in album.exhibits],
    }


def about(exhibit: Exhibit) -> dict[str, Any]:
    """What the index says of a case."""
    said, entry = exhibit.said, exhibit.entry
    return {
        "model": entry.model,
        "task": exhibit.task,
        "wording": entry.wording,
        "case": entry.record.case,
        "before": exhibit.before is not None,
        "outOfPrompt": any(said.kinds),
    }


def exhibit_columns(exhibit: Exhibit, album: Album, names: Names) -> dict[str, Any]:
    """Everything of a case that items are filtered by."""
    before = exhibit.before
    numbers = {name: {"lost": packed(each.lost), "gained": packed(each.gained)} for name, each in exhibit.moved.items()}
    found = said_columns(exhibit.said, album, names) | {"moved": numbers}
    return found | {"before": said_columns(before, album, names) if before else None}


def said_columns(said: Said, album: Album, names: Names) -> dict[str, Any]:
    """Answers, outcomes under each ground truth, and what went wrong."""
    pairs = zip(said.answers or ("?",) * len(said.items), said.errors, strict=True)  # unknown answers are none to miss
    silent = (not (answer or error) for answer, error in pairs)
    flags = {OUT_OF_PROMPT: map(bool, said.kinds), FAILED: map(bool, said.errors), SILENT: silent}
    return {
        "answers": packed([names(answer) for answer in said.answers]) if said.answers else None,
        "outcomes": {str(n): packed(said.truths[t].outcomes) for n, t in enumerate(album.truths) if t in said.truths},
        "flags": packed(codes(flags)),
    }


def part(album: Album, names: Names, rows: slice) -> dict[str, Any]:
    """The texts of some items, case by case."""
    return {"exhibits": [texts(exhibit, names, rows) for exhibit in album.exhibits]}


def texts(exhibit: Exhibit, names: Names, rows: slice) -> dict[str, Any]:
    """What a case said in its own words, and what belongs to it; columns that are empty are left out."""
    said, before = exhibit.said, exhibit.before
    columns: dict[str, list[Any]] = {
        "raw": [cut(text) for text in said.raw[rows]],
        "errors": [cut(text) for text in said.errors[rows]],
        "kinds": [*said.kinds[rows]],
        "best": [[[names(name), score] for name, score in row] for row in said.best[rows]],
        "more": [[[cut(one), cut(other)] for one, other in row] for row in said.more[rows]],
        "rawBefore": [*others(before, said, rows)] if before else [],
    }
    return {name: values for name, values in columns.items() if any(values)}


def others(before: Said, said: Said, rows: slice) -> Iterator[Any]:
    """What was said before, where that was something else."""
    pairs: Sequence[tuple[str, str]] = [*zip(before.raw[rows], said.raw[rows], strict=True)]
    yield from (cut(old) if old != new else None for old, new in pairs)
