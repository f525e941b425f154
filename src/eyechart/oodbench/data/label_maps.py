"""Packaged label maps: how a data set's own labels are asked for, and which are left out and why."""

from collections.abc import Mapping
from csv import DictReader
from dataclasses import dataclass
from functools import cached_property, lru_cache
from io import StringIO
from pathlib import Path


@dataclass(frozen=True)
class LabelMap:
    """The kept labels, in the order of the published table, with the names they are asked by; the dropped, with why."""

    originals: tuple[str, ...]
    names: tuple[str, ...]
    dropped: Mapping[str, str]

    @cached_property
    def index_by_label(self) -> dict[str, int]:
        """The class of every kept label."""
        return {original: index for index, original in enumerate(self.originals)}


@lru_cache
def label_map(source: str) -> LabelMap:
    """Return the map of `nuscenes` (arXiv 2602.18094, Table 4) or `cityscapes` (Table 5)."""
    text = Path(__file__).with_name(f"{source}_labels.csv").read_text(encoding="utf-8")
    rows = list(DictReader(StringIO(text, newline="")))
    kept = [row for row in rows if row["modified"]]
    return LabelMap(
        tuple(row["original"] for row in kept),
        tuple(row["modified"] for row in kept),
        {row["original"]: row["remark"] for row in rows if not row["modified"]},
    )
