"""How alike models are, Figure 9 of arXiv 2603.06578: recall per class by Spearman, correctness by phi."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eyechart.errors import ReportError
from eyechart.metrics.agreement import phi_matrix, spearman_matrix
from eyechart.metrics.intervals import fisher
from eyechart.metrics.recall import per_class_recall

from ..answers import Floats, Ints
from ..render import CORRELATION, Number, Row, Table
from ..runs import Entry, Group, Pool
from .chosen import headline
from .columns import aligned

SPEARMAN, PHI = "Spearman, recall per class", "phi, correctness"


@dataclass(frozen=True)
class Matrix:
    """One coefficient between every two models, and over how many classes or images."""

    kind: str
    group: Group
    labels: str
    names: tuple[str, ...]
    values: Floats
    counts: Ints

    def number(self, one: int, other: int) -> Number:
        """An entry with its interval; phi is Pearson's correlation of two binary vectors."""
        value, n = float(self.values[one, other]), int(self.counts[one, other])
        how: Literal["spearman", "pearson"] = "spearman" if self.kind == SPEARMAN else "pearson"
        ci = fisher(value, n, how)
        bounds = None if np.isnan(ci.low) else (ci.low, ci.high)
        return Number(None if np.isnan(value) else value, n, bounds, style=CORRELATION)


def f9(pool: Pool, labels: str | None) -> list[Table]:
    """Figure 9 as tables: one matrix a coefficient, with the original labels as a model of their own."""
    return [matrix_table(matrix) for matrix in matrices(pool, labels)]


def matrices(pool: Pool, labels: str | None) -> list[Matrix]:
    """Both coefficients for every group and ground truth with something to correlate."""
    chosen = [
        (chosen, name)
        for group, names in pool.chosen(labels)
        for name in names
        if len((chosen := headline(group, name)).under(name)) + (name != group.reference) > 1 and chosen.under(name)
    ]
    if not chosen:
        raise ReportError(
            "F9 correlates two or more models on the same images, or one with the original labels under a second "
            "ground truth; these runs have neither. Make them with: pytest -k imagenet --eye-model=A --eye-model=B"
        )
    return [matrix for group, name in chosen for matrix in both(group, name)]


def both(group: Group, labels: str) -> list[Matrix]:
    """Recall of single-label images by Spearman, correctness of images with valid labels by phi."""
    entries = group.under(labels)
    truth = entries[0].answers.truths[labels]
    names, outcomes = outcomes_of(group, entries, labels)
    recalls = np.array(
        [per_class_recall(row, truth.one, int(truth.one.max(initial=-1)) + 1).values for row in outcomes]
    )
    valid = outcomes[:, truth.mask("S") | truth.mask("M")]
    return [
        Matrix(SPEARMAN, group, labels, names, spearman_matrix(recalls), common(recalls)),
        Matrix(PHI, group, labels, names, phi_matrix(valid), common(valid)),
    ]


def outcomes_of(group: Group, entries: Sequence[Entry], labels: str) -> tuple[tuple[str, ...], Floats]:
    """A row of outcomes a model, the original labels last; under those themselves they would be right throughout."""
    rows = [entry.answers.truths[labels].correct for entry in aligned(entries)]
    tasks = group.tasks()
    twice = [entry.model for entry in entries]
    names = [e.model if twice.count(e.model) == 1 else f"{e.model} ({tasks[id(e)]})" for e in entries]
    if labels != group.reference:
        rows.append(entries[0].answers.originals_scored(labels))
        names.append(group.reference)
    return tuple(names), np.array(rows)


def common(rows: Floats) -> Ints:
    """How many columns every two rows both have."""
    seen = (~np.isnan(rows)).astype(np.int64)
    return seen @ seen.T


def matrix_table(matrix: Matrix) -> Table:
    """A matrix as a table, and as a long one for csv."""
    size = range(len(matrix.names))
    rows: list[Row] = [(name, *(matrix.number(one, to) for to in size)) for one, name in enumerate(matrix.names)]
    return Table(
        f"{matrix.group.title}: {matrix.kind}, under {matrix.labels}",
        ("", *matrix.names),
        tuple(rows),
        (*said(matrix), *matrix.group.notes()),
        data=long_table(matrix),
    )


def said(matrix: Matrix) -> list[str]:
    """What a reader of a matrix must know."""
    what = "classes; only images with one label count" if matrix.kind == SPEARMAN else "images with a valid label"
    notes = [f"n: {what}. Brackets: 95 % intervals by Fisher's transformation. A dash: one of the two never varies."]
    if matrix.labels != matrix.group.reference:
        notes.append(f"The row {matrix.group.reference} treats the original labels as predictions.")
    return notes


def long_table(matrix: Matrix) -> Table:
    """One pair of models a row."""
    pairs = [(one, other) for one in range(len(matrix.names)) for other in range(one + 1, len(matrix.names))]
    rows: list[Row] = [
        (matrix.kind, matrix.names[one], matrix.names[other], matrix.number(one, other)) for one, other in pairs
    ]
    context = {"split": matrix.group.title, "labels": matrix.labels}
    return Table("", ("coefficient", "model", "other", "value"), tuple(rows), context=context)
