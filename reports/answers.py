"""The answers of one case, read back from the csv that its run left, and re-scored without a model."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ReportError
from eyechart.metrics.clusters import clustered_wilson
from eyechart.metrics.intervals import wilson
from eyechart.metrics.paired import change_interval
from eyechart.records import File, Record

from .render import CHANGE, NumberCell

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CATEGORIES = ("A", "S", "S+", "S-", "M", "M+", "M-", "N")  # in the order of the published tables


@dataclass(frozen=True)
class ScoredLabels:
    """One ground truth: each image's labels, its finest category, and whether the model was right (NaN: unscored)."""

    labels: tuple[tuple[int, ...], ...]
    category: NDArray[np.str_]
    correct: Floats

    @cached_property
    def single_label(self) -> Ints:
        """The class of each image that has exactly one label, else -1."""
        return np.array([labels[0] if len({*labels}) == 1 else -1 for labels in self.labels], np.int64)

    @cached_property
    def annotated(self) -> Bools:
        """Which images it speaks of."""
        return np.asarray(self.category != "")

    def mask(self, category: str) -> Bools:
        """The images of a category, coarse or fine."""
        return self.annotated if category == "A" else np.char.startswith(self.category, category)

    def has_any(self, classes: Sequence[int]) -> Bools:
        """The images that have one of these classes among their labels."""
        return np.array([not {*classes}.isdisjoint(labels) for labels in self.labels], bool)


@dataclass(frozen=True)
class TextColumns:
    """What answers in words have besides: the kind of one out of the prompt (or nothing), and the place asked at."""

    kind: NDArray[np.str_]
    position: Ints
    out_of_prompt: Floats  # out of the prompt (1), not (0), or no answer at all (NaN)


@dataclass(frozen=True)
class ImageAnswers:
    """Every image of a case: its key, its original label (-1: none), and each ground truth."""

    keys: tuple[str, ...]
    original: Ints
    label_sets: Mapping[str, ScoredLabels]
    empty_label_rules: Mapping[str, str]
    text: TextColumns | None = None

    def score_original_labels(self, labels: str) -> Floats:
        """How right the original labels would be if a model had said them: 1, 0, or NaN where there is none.

        It follows from the categories: an original label is among the admissible ones exactly in S+ and M+.
        """
        truth = self.label_sets[labels]
        empty = {"correct": 1.0, "wrong": 0.0}.get(self.empty_label_rules.get(labels, ""), np.nan)
        scored = np.where(truth.mask("N"), empty, np.char.endswith(truth.category, "+").astype(float))
        return np.where(truth.annotated & (self.original >= 0), scored, np.nan)


def proportion(correct: Floats, mask: Bools | None = None) -> NumberCell:
    """The accuracy over the scored images of a mask, with Wilson's interval."""
    values = correct if mask is None else correct[mask]
    values = values[~np.isnan(values)]
    hits, n = int(values.sum()), len(values)
    return proportion_of_counts(hits, n)


def proportion_of_counts(hits: int, n: int) -> NumberCell:
    """A share of n images with Wilson's interval; nothing of none."""
    ci = wilson(hits, n)
    return NumberCell(hits / n, n, (ci.low, ci.high)) if n else NumberCell(None, 0)


def clustered_proportion(correct: Floats | Bools, clusters: Ints) -> NumberCell:
    """Return the share of n samples with Wilson's interval over clusters (n,), such as images; nothing of none."""
    if not len(correct):
        return NumberCell(None, 0)
    ci = clustered_wilson(correct, clusters)
    return NumberCell(float(np.mean(correct)), len(correct), (ci.low, ci.high))


def paired_change(before: Floats, after: Floats, mask: Bools | None = None) -> NumberCell:
    """The change over the images that both score, with its paired interval."""
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
    """Return a case's answers under some ground truths, one item a round; refuse a file that the run did not write."""
    if record.predictions is None:
        raise ReportError(f"The record of {record.case} in {folder} names no answers. Run the case again.")
    path = folder / record.predictions.path
    rows = list(csv.DictReader(StringIO(read_verified(path, folder, record.predictions), newline="")))
    try:
        rounds: dict[str, list[dict[str, str]]] = {} if rows else {"": []}
        for row in rows:
            rounds.setdefault(row.get("repeat", ""), []).append(row)
        return tuple(parse_rows(epoch, labels, empties) for epoch in rounds.values())
    except (KeyError, TypeError, ValueError) as error:
        raise ReportError(f"{path} cannot be read as answers ({error}). Run the case again.") from error


def read_verified(path: Path, folder: Path, file: File) -> str:
    """The text of a run's file, if it lies in the run's folder and has the bytes that were written."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ReportError(f"The run {folder} names the file {path}, which lies outside of it. Use the run's own files.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}). Run the case again.") from error
    if (digest := sha256(content).hexdigest()) != file.sha256:
        raise ReportError(
            f"{path} has changed since the run: its sha256 is {digest[:12]}…, expected {file.sha256[:12]}…. "
            "Restore the file, or run the case again."
        )
    return content.decode()


def parse_rows(rows: Sequence[Mapping[str, str]], labels: Sequence[str], empties: Mapping[str, str]) -> ImageAnswers:
    """The rows as arrays."""
    return ImageAnswers(
        tuple(row["key"] for row in rows),
        np.array([int(row["label"] or -1) for row in rows], np.int64),
        {name: parse_scored_labels(rows, name) for name in labels},
        empties,
        parse_text_columns(rows) if rows and "oop" in rows[0] else None,
    )


def parse_text_columns(rows: Sequence[Mapping[str, str]]) -> TextColumns:
    """The columns of answers in words."""
    kind = np.array([row["oop"] for row in rows], dtype="U7")
    unanswered = np.array([bool(row["error"]) or not row["request"] for row in rows])
    position = np.array([int(row["place"] or 0) for row in rows], np.int64)
    return TextColumns(kind, position, np.where(unanswered, np.nan, (kind != "").astype(float)))


def parse_scored_labels(rows: Sequence[Mapping[str, str]], name: str) -> ScoredLabels:
    """One ground truth's three columns."""
    return ScoredLabels(
        tuple(tuple(int(label) for label in row[f"{name}.labels"].split(";") if label) for row in rows),
        np.array([row[f"{name}.category"] for row in rows], dtype="U2"),
        np.array([float(row[f"{name}.correct"] or "nan") for row in rows], np.float64),
    )
