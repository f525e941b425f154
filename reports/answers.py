"""Read the answers of one case from the csv of its run, and score them again without a model."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ReportError
from eyechart.metrics.clusters import clustered_wilson
from eyechart.metrics.intervals import wilson
from eyechart.metrics.paired import change_interval
from eyechart.records import Record

from .render import CHANGE, NumberCell
from .run_files import read_verified

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CATEGORIES = ("A", "S", "S+", "S-", "M", "M+", "M-", "N")  # in the order of the published tables


@dataclass(frozen=True)
class ScoredLabels:
    """One label set: each image's labels, its finest category, and its correctness (1, 0, or NaN: not scored)."""

    labels: tuple[tuple[int, ...], ...]
    category: NDArray[np.str_]
    correct: Floats

    @cached_property
    def single_label(self) -> Ints:
        """Return the class of each image that has exactly one label, else -1."""
        return np.array([labels[0] if len({*labels}) == 1 else -1 for labels in self.labels], np.int64)

    @cached_property
    def annotated(self) -> Bools:
        """Return the mask (n,) of the images that the label set annotates."""
        return np.asarray(self.category != "")

    def mask(self, category: str) -> Bools:
        """Return the mask (n,) of the images of a category, coarse (`S`) or fine (`S+`)."""
        return self.annotated if category == "A" else np.char.startswith(self.category, category)

    def has_any(self, classes: Sequence[int]) -> Bools:
        """Return the mask (n,) of the images that have one of these classes among their labels."""
        return np.array([not {*classes}.isdisjoint(labels) for labels in self.labels], bool)


@dataclass(frozen=True)
class TextColumns:
    """Further columns of text answers: the out-of-prompt kind ("" for none) and the position in the request."""

    kind: NDArray[np.str_]
    position: Ints
    out_of_prompt: Floats  # 1: out of the prompt, 0: not, NaN: no answer


@dataclass(frozen=True)
class ImageAnswers:
    """The answers to every image of a case: keys, original labels (-1: none), and the scores by label set."""

    keys: tuple[str, ...]
    original: Ints
    label_sets: Mapping[str, ScoredLabels]
    empty_label_rules: Mapping[str, str]
    text: TextColumns | None = None

    def score_original_labels(self, labels: str) -> Floats:
        """Return the correctness (n,) of the original labels as predictions: 1, 0, or NaN where there is none.

        It follows from the categories: the original label is among the valid ones exactly in S+ and M+.
        """
        truth = self.label_sets[labels]
        empty = {"correct": 1.0, "wrong": 0.0}.get(self.empty_label_rules.get(labels, ""), np.nan)
        scored = np.where(truth.mask("N"), empty, np.char.endswith(truth.category, "+").astype(float))
        return np.where(truth.annotated & (self.original >= 0), scored, np.nan)


def proportion(correct: Floats, mask: Bools | None = None) -> NumberCell:
    """Return the mean of the defined values in a mask as a proportion with its Wilson interval."""
    values = correct if mask is None else correct[mask]
    values = values[~np.isnan(values)]
    hits, n = int(values.sum()), len(values)
    return proportion_of_counts(hits, n)


def proportion_of_counts(hits: int, n: int) -> NumberCell:
    """Return hits / n with its Wilson interval; a cell without a value if n is 0."""
    ci = wilson(hits, n)
    return NumberCell(hits / n, n, (ci.low, ci.high)) if n else NumberCell(None, 0)


def clustered_proportion(correct: Floats | Bools, clusters: Ints) -> NumberCell:
    """Return the share of n samples with Wilson's interval over clusters (n,), such as images.

    The cell has no value if there are no samples.
    """
    if not len(correct):
        return NumberCell(None, 0)
    ci = clustered_wilson(correct, clusters)
    return NumberCell(float(np.mean(correct)), len(correct), (ci.low, ci.high))


def paired_change(before: Floats, after: Floats, mask: Bools | None = None) -> NumberCell:
    """Return the mean change over the images that both score, with its paired interval."""
    before_values, after_values = (values if mask is None else values[mask] for values in (before, after))
    differences = (after_values - before_values)[~np.isnan(after_values - before_values)]
    ci = change_interval(before_values, after_values)
    return (
        NumberCell(float(differences.mean()), len(differences), (ci.low, ci.high), style=CHANGE)
        if len(differences)
        else NumberCell(None, 0)
    )


def read_epochs(
    record: Record, folder: Path, labels: Sequence[str], empties: Mapping[str, str]
) -> tuple[ImageAnswers, ...]:
    """Return a case's answers under some label sets, one item per epoch; refuse a file with another digest."""
    if record.predictions is None:
        raise ReportError(f"The record of {record.case} in {folder} names no answers. Run the case again.")
    path = folder / record.predictions.path
    rows = list(csv.DictReader(StringIO(read_verified(path, folder, record.predictions), newline="")))
    try:
        rounds: dict[str, list[dict[str, str]]] = {} if rows else {"": []}
        for row in rows:
            rounds.setdefault(row.get("epoch", ""), []).append(row)
        return tuple(parse_rows(epoch, labels, empties) for epoch in rounds.values())
    except (KeyError, TypeError, ValueError) as error:
        raise ReportError(f"{path} cannot be read as answers ({error}). Run the case again.") from error


def parse_rows(rows: Sequence[Mapping[str, str]], labels: Sequence[str], empties: Mapping[str, str]) -> ImageAnswers:
    """Return the rows of a sample table as arrays."""
    return ImageAnswers(
        tuple(row["key"] for row in rows),
        np.array([int(row["label"] or -1) for row in rows], np.int64),
        {name: parse_scored_labels(rows, name) for name in labels},
        empties,
        parse_text_columns(rows) if rows and "out_of_prompt" in rows[0] else None,
    )


def parse_text_columns(rows: Sequence[Mapping[str, str]]) -> TextColumns:
    """Return the columns that only text answers have."""
    kind = np.array([row["out_of_prompt"] for row in rows], dtype="U7")
    unanswered = np.array([bool(row["error"]) or not row["request"] for row in rows])
    position = np.array([int(row["position"] or 0) for row in rows], np.int64)
    return TextColumns(kind, position, np.where(unanswered, np.nan, (kind != "").astype(float)))


def parse_scored_labels(rows: Sequence[Mapping[str, str]], name: str) -> ScoredLabels:
    """Return the three columns of one label set."""
    return ScoredLabels(
        tuple(tuple(int(label) for label in row[f"{name}.labels"].split(";") if label) for row in rows),
        np.array([row[f"{name}.category"] for row in rows], dtype="U2"),
        np.array([float(row[f"{name}.correct"] or "nan") for row in rows], np.float64),
    )
