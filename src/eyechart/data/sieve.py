"""Of millions of texts, the few that may hold one of some keys of `identifiers`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyechart.data.identifiers import UUID

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = "(?:photos?|observations?|occurrences?)(?:/|%2f|:)"
_NUMBERS = (rf"(?i)(?:{_NAMES}|^)0*(?P<id>[0-9]+)", rf"(?is)^.*{_NAMES}0*(?P<id>[0-9]+)")
_UUIDS = rf"(?s)^.*(?P<id>{UUID})"
SORTS = ("number", "uuid", "host", "word")


@dataclass(frozen=True)
class Sieve:
    """Finds all texts whose key is wanted, and some others; hosts are a pattern, "" for none."""

    numbers: pa.StringArray
    uuids: pa.StringArray
    words: pa.StringArray
    hosts: str

    @classmethod
    def of(cls, keys: Iterable[str]) -> Sieve:
        """Sort the keys by what of them stands in every text that has them."""
        import pyarrow as pa

        found: dict[str, set[str]] = {sort: set() for sort in SORTS}
        for key in keys:
            sort, values = _sorted(key)
            found[sort].update(values)
        numbers, uuids, words = (pa.array(sorted(found[sort]), pa.string()) for sort in ("number", "uuid", "word"))
        hosts = "|".join(map(re.escape, sorted(found["host"])))
        return cls(numbers, uuids, words, f"(?i){hosts}" if hosts else "")

    def candidates(self, texts: pa.StringArray) -> list[int]:
        """Return the places of the texts to look at."""
        from pyarrow import compute

        texts = compute.utf8_trim_whitespace(texts)
        found = [_extracted(texts, pattern, self.numbers) for pattern in _NUMBERS if len(self.numbers)]
        if len(self.uuids):
            found.append(_extracted(compute.ascii_lower(texts), _UUIDS, self.uuids))
        if len(self.words):
            found.append(compute.is_in(compute.utf8_lower(texts), value_set=self.words))
        if self.hosts:
            found.append(compute.fill_null(compute.match_substring_regex(texts, self.hosts), False))
        either = np.logical_or.reduce([one.to_numpy(zero_copy_only=False) for one in found])
        places: list[int] = np.flatnonzero(either).tolist()
        return places


def _sorted(key: str) -> tuple[str, tuple[str, ...]]:
    kind, _, value = key.partition(":")
    if kind == "url":
        return "host", (value.partition("/")[0].partition(":")[0],)
    if value.isdecimal():
        return "number", (value,)
    return ("uuid", (value,)) if re.fullmatch(UUID, value) else ("word", (value, key))


def _extracted(texts: pa.StringArray, pattern: str, values: pa.StringArray) -> pa.BooleanArray:
    from pyarrow import compute

    return compute.is_in(compute.struct_field(compute.extract_regex(texts, pattern), "id"), value_set=values)
