"""The sheet of a second annotation pass: one HTML file with pictures and names that does not tell whose they are."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from eyechart.data.dataset import Dataset
from eyechart.errors import ReportError
from eyechart.paths import STORE

from ..render import one_line
from ..runs import CaseRun, Runs
from .files import Item, SheetKey, key_path, write_key
from .items import DisputedCase, create_items, find_case, find_second_case, parse_categories
from .sheet import LARGE, Sheet, open_checked_split, pictures, write_sheet

TITLE = "What is in the picture?"


@dataclass(frozen=True)
class SheetOptions:
    """What is asked for on the command line."""

    labels: str
    model: str
    protocol: str | None = None
    second: str | None = None
    second_protocol: str | None = None
    category: str = "S-,M-"
    names: str | None = None
    data: str | None = None
    store: Path = STORE
    limit: int | None = None
    part: str = "1/1"
    seed: int = 42

    def select_rows(self, rows: list[int]) -> list[int]:
        """The part that is asked for of the first images."""
        found = re.fullmatch(r"0*([1-9]\d*)/0*([1-9]\d*)", self.part)
        if found is None or int(found[1]) > int(found[2]):
            raise ReportError(f"--part is '{self.part}', expected K/N with K from 1 to N, such as 2/5.")
        if self.limit is not None and self.limit < 1:
            raise ReportError(f"--limit is {self.limit}, expected a number of images from 1 up.")
        return rows[: self.limit][int(found[1]) - 1 :: int(found[2])]


def write(pool: Runs, wish: SheetOptions, out: Path) -> str:
    """Write the sheet and, beside it, its key; return what there is to say."""
    asked = find_disputed_case(pool, wish)
    rows = wish.select_rows(asked.rows(wish.seed))
    if not rows:
        raise ReportError(no_images_message(asked, wish))
    dataset = open_data(asked.entry, wish.data, wish.store)
    key = SheetKey(
        source=asked.source(),
        names=wish.names or ("split" if dataset.names else "mill"),
        seed=wish.seed,
        items=tuple(create_items(asked, rows, dataset, wish.names, wish.seed)),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_key(key, key_path(out))
    sheet = Sheet("annotation", TITLE, key.sheet, {"items": [candidate_names(item) for item in key.items]})
    write_sheet(out, sheet, pictures(dataset, rows))
    return summary(key, out)


def summary(key: SheetKey, out: Path) -> str:
    """What was written, and what to do with it."""
    of = ", ".join(f"{category}: {n}" for category, n in sorted(Counter(item.category for item in key.items).items()))
    size = out.stat().st_size
    advice = "" if size < LARGE else " This is much for a browser: make several sheets with --part=1/N, --part=2/N, …"
    return (
        f"{out}: {len(key.items)} pictures ({of}), {size / 1e6:.1f} MB.{advice}\n"
        f"{key_path(out)}: who suggested what. Keep it from the annotators, and beside the run or the answers.\n"
        f"Then: python -m eyechart.reports table F7 RUN… --annotations=answers-{key.sheet}.json"
    )


def find_disputed_case(pool: Runs, wish: SheetOptions) -> DisputedCase:
    """The cases that are meant."""
    pool.select_labels(wish.labels)  # refuses a ground truth that no record has
    scored = [entry for group in pool.groups for entry in group.scored_under(wish.labels)]
    entry = find_case(scored, wish.model, wish.protocol, wish.labels)
    second = wish.second and find_second_case(pool, entry, wish.second, wish.second_protocol, wish.labels)
    return DisputedCase(entry, wish.labels, parse_categories(wish.category), second or None)


def no_images_message(asked: DisputedCase, wish: SheetOptions) -> str:
    """Why there is no image to look at."""
    said = "; ".join(f"{one.category}: {one.disputed} of {one.images}" for one in asked.counts())
    return (
        f"{asked.entry.record.case} has no image for the sheet (part {wish.part}): those with a valid prediction that "
        f"{wish.labels} disputes are {said}. Choose other categories with --category, or fewer parts."
    )


def open_data(entry: CaseRun, root: str | None, store: Path) -> Dataset:
    """Open the split that a case answered, where it was then unless another root is given."""
    record, saw = entry.record, entry.record.data.fingerprint
    name, given = f"{record.benchmark}/{record.split}", root or record.data.root or None
    return open_checked_split(
        name, given, store, fingerprint=saw, limit=record.limit, seed=record.seed, offline=root is None
    )


def candidate_names(item: Item) -> list[str]:
    """What the sheet knows of an image: the names, in their order."""
    return [one_line(candidate.name) for candidate in item.candidates]
