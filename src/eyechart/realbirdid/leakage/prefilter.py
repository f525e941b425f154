"""A fast filter for the texts, among millions, that may hold one of some keys of `identifiers`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyechart.realbirdid.data.identifiers import UUID

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = "(?:photos?|observations?|occurrences?)(?:/|%2f|:)"
_FIRST = rf"(?i)(?:{_NAMES}|^[\s\pZ\pC]*)0*(?P<id>[0-9]+)"
_LAST = rf"(?is)^.*{_NAMES}0*(?P<id>[0-9]+)"
_SEVERAL = rf"(?is){_NAMES}.*{_NAMES}"  # without a group it is ten times as fast
_UUIDS = rf"(?s)^.*(?P<id>{UUID})"
_KEY_TYPES = ("number", "uuid", "host", "word")


@dataclass(frozen=True)
class Prefilter:
    """Select all texts that have one of the keys, and some false positives; `hosts` is a pattern, "" for none."""

    numbers: pa.StringArray
    uuids: pa.StringArray
    words: pa.StringArray
    hosts: str

    @classmethod
    def from_keys(cls, keys: Iterable[str]) -> Prefilter:
        """Return the filter of some keys, by the part of each key that every text with it contains."""
        import pyarrow as pa

        values_by_type: dict[str, set[str]] = {sort: set() for sort in _KEY_TYPES}
        for key in keys:
            sort, values = _classify_key(key)
            values_by_type[sort].update(values)
        numbers, uuids, words = (
            pa.array(sorted(values_by_type[sort]), pa.string()) for sort in ("number", "uuid", "word")
        )
        hosts = "|".join(map(re.escape, sorted(values_by_type["host"])))
        return cls(numbers, uuids, words, f"(?i){hosts}" if hosts else "")

    def candidates(self, texts: pa.StringArray) -> list[int]:
        """Return the indices of the candidate texts."""
        from pyarrow import compute

        masks = [self._match_numbers(texts)] if len(self.numbers) else []
        if len(self.uuids):
            masks.append(_match_values(compute.ascii_lower(texts), _UUIDS, self.uuids))
        if len(self.words):
            bare = compute.utf8_lower(compute.utf8_trim_whitespace(texts))
            masks.append(compute.is_in(bare, value_set=self.words))
        if self.hosts:
            masks.append(_match_pattern(texts, self.hosts))
        either = np.logical_or.reduce([mask.to_numpy(zero_copy_only=False) for mask in masks])
        indices: list[int] = np.flatnonzero(either).tolist()
        return indices

    def _match_numbers(self, texts: pa.StringArray) -> pa.BooleanArray:
        """Match the first number of each text, and the last one of texts with several identifiers."""
        from pyarrow import compute

        several = _match_pattern(texts, _SEVERAL)
        mask = _match_values(texts, _FIRST, self.numbers)
        if several.true_count:
            last = _match_values(compute.if_else(several, texts, None), _LAST, self.numbers)
            mask = compute.or_(mask, last)
        return mask


def _classify_key(key: str) -> tuple[str, tuple[str, ...]]:
    kind, _, value = key.partition(":")
    if kind == "url":
        return "host", (value.partition("/")[0].partition(":")[0],)
    if value.isdecimal():
        return "number", (value,)
    return ("uuid", (value,)) if re.fullmatch(UUID, value) else ("word", (value, key))


def _match_pattern(texts: pa.StringArray, pattern: str) -> pa.BooleanArray:
    from pyarrow import compute

    return compute.fill_null(compute.match_substring_regex(texts, pattern), False)


def _match_values(texts: pa.StringArray, pattern: str, values: pa.StringArray) -> pa.BooleanArray:
    from pyarrow import compute

    return compute.is_in(compute.struct_field(compute.extract_regex(texts, pattern), "id"), value_set=values)
