"""Pairs of a case."""

from typing import Any


def pairs(found: Any, name: str) -> set[tuple[int, int]]:
    """The image and the category of every pair of a set."""
    mask = dict(found.set_masks())[name]
    rows, categories = (part[found.indices[mask]].tolist() for part in (found.division.rows, found.division.categories))
    return {*zip(rows, categories, strict=True)}
