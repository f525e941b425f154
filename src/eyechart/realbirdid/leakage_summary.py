"""What an overlap is, in a few lines and as a list of images."""

import csv
from collections.abc import Iterator
from pathlib import Path

from eyechart.command_line import aligned
from eyechart.data.observation_table import IMAGE, OBSERVATION
from eyechart.realbirdid.leakage import Count, Overlap

HEADS = ("images", "number", "exact", "near", "found", "share", "95 %")
EXACT, NEAR = "exact", "near"
LISTED = (IMAGE, OBSERVATION, "answerable", "match", "by", "key", "ours", "row", "column", "theirs")


def write_matches(path: Path, found: Overlap) -> None:
    """Write a line an image that was found again."""
    birds = found.birds
    rows = (
        {
            IMAGE: birds.images[match.image],
            OBSERVATION: birds.observations[match.image],
            "answerable": int(birds.answerable[match.image]),
            "match": EXACT if match.exact else NEAR,
            "by": match.kind,
            "key": match.key,
            "ours": match.ours,
            "row": match.row,
            "column": match.column,
            "theirs": match.theirs,
        }
        for match in found.matches
    )
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, LISTED, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def said(found: Overlap) -> Iterator[str]:
    """Yield what was found, as lines."""
    columns = ", ".join(found.columns) or "its lines"
    yield f"{found.birds.path}: {len(found.birds.images):,} images with {len(found.birds.keys):,} different identifiers"
    yield f"{found.other}: {found.rows:,} rows, read {columns}"
    yield ""
    yield aligned([HEADS, *map(_cells, found.counts)])
    yield ""
    alone = len(found.best) - found.same_pictures
    yield f"Found by photo or address: {found.same_pictures:,}; by observation alone: {alone:,}."
    yield "exact: written alike; near: the same photo, observation or address in another form."


def _cells(count: Count) -> tuple[str, ...]:
    low, high = count.interval
    share = f"{count.share:.2%}" if count.images else "–"
    return (
        *(count.label, f"{count.images:,}", f"{count.exact:,}", f"{count.near:,}", f"{count.found:,}", share),
        f"{low:.2%} – {high:.2%}" if count.images else "–",
    )
