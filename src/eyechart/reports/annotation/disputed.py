"""Write the sheet of a second annotation pass: one HTML file with pictures and candidate names, without sources."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.open_split import list_splits
from eyechart.errors import ReportError
from eyechart.files.folders import STORE
from eyechart.reports.annotation.answer_files import AnyKey, SheetKey, key_path, write_key
from eyechart.reports.annotation.disputed_items import (
    DISPUTED,
    DisputedCase,
    create_items,
    find_case,
    find_second_case,
    parse_categories,
)
from eyechart.reports.annotation.sheet import LARGE, Sheet, open_checked_split, pictures, write_sheet
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.render import one_line

TITLE = "What is in the picture?"


@dataclass(frozen=True)
class SheetOptions:
    """The options of `eyechart annotate`."""

    labels: str
    model: str
    protocol: str | None = None
    second: str | None = None
    second_protocol: str | None = None
    category: str = ",".join(DISPUTED)
    names: str | None = None
    data: str | None = None
    store: Path = STORE
    limit: int | None = None
    part: str = "1/1"
    seed: int = 42

    def select_rows(self, rows: list[int]) -> list[int]:
        """Return the requested part of the first `limit` rows."""
        if self.limit is not None and self.limit < 1:
            raise ReportError(f"--limit is {self.limit}, expected a number of images from 1 up.")
        return select_part(rows[: self.limit], self.part)


def select_part(rows: list[int], part: str) -> list[int]:
    """Return the rows of the K-th of N annotators; `part` is K/N."""
    match = re.fullmatch(r"0*([1-9]\d*)/0*([1-9]\d*)", part)
    if match is None or int(match[1]) > int(match[2]):
        raise ReportError(f"--part is '{part}', expected K/N with K from 1 to N, such as 2/5.")
    return rows[int(match[1]) - 1 :: int(match[2])]


def write(runs: Runs, options: SheetOptions, out: Path) -> str:
    """Write the sheet and its key, and return the message to print."""
    disputed = _find_disputed_case(runs, options)
    rows = options.select_rows(disputed.rows(options.seed))
    if not rows:
        numbers = "; ".join(f"{count.category}: {count.disputed} of {count.images}" for count in disputed.counts())
        raise ReportError(
            f"{disputed.case.record.case} has no image for the sheet (part {options.part}). Images with a valid "
            f"prediction that {options.labels} disputes: {numbers}. Choose other categories with --category, or fewer "
            "parts."
        )
    dataset = open_data(disputed.case, options.data, options.store)
    key = SheetKey(
        source=disputed.source(),
        names=options.names or ("split" if dataset.names else "mill"),
        seed=options.seed,
        items=tuple(create_items(disputed, rows, dataset, options.names, options.seed)),
    )
    categories = Counter(item.category for item in key.items)
    counts = ", ".join(f"{category}: {n}" for category, n in sorted(categories.items()))
    return write_files(key, dataset, rows, out, counts, "F7")


def write_files(key: AnyKey, dataset: Dataset, rows: Sequence[int], out: Path, counts: str, table: str) -> str:
    """Write a sheet and its key, and return which files they are and how to continue with a table."""
    out.parent.mkdir(parents=True, exist_ok=True)
    write_key(key, key_path(out))
    names = [[one_line(candidate.name) for candidate in item.candidates] for item in key.items]
    write_sheet(out, Sheet("annotation", TITLE, key.sheet, {"items": names}), pictures(dataset, rows))
    size = out.stat().st_size
    advice = "" if size < LARGE else " This is much for a browser: make several sheets with --part=1/N, --part=2/N, …"
    return (
        f"{out}: {len(key.items)} pictures ({counts}), {size / 1e6:.1f} MB.{advice}\n"
        f"{key_path(out)}: the sources of the suggestions. Do not give it to annotators; keep it with "
        "the run or the answers.\n"
        f"Then: eyechart table {table} RUN… --annotations=answers-{key.sheet}.json"
    )


def _find_disputed_case(runs: Runs, options: SheetOptions) -> DisputedCase:
    """Return the case and the second case that the options name."""
    runs.select_labels(options.labels)  # refuses a ground truth that no record has
    candidates = [case for group in runs.groups for case in group.scored_under(options.labels)]
    case = find_case(candidates, options.model, options.protocol, options.labels)
    second = options.second and find_second_case(runs, case, options.second, options.second_protocol, options.labels)
    return DisputedCase(case, options.labels, parse_categories(options.category), second or None)


def open_data(case: CaseRun, root: str | None, store: Path) -> Dataset:
    """Open the split that a case answered, at its recorded root unless another is given."""
    record, fingerprint = case.record, case.record.data.fingerprint
    name, path = f"{record.benchmark}/{record.split}", root or record.data.root or None
    return open_checked_split(
        name,
        list_splits(path),
        store,
        fingerprint=fingerprint,
        limit=record.limit,
        seed=record.seed,
        offline=root is None,
    )
