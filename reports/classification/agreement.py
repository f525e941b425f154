"""Agreement of models, Figure 9 of arXiv 2603.06578: Spearman of per-class recall, phi of correctness."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eyechart.errors import ReportError
from eyechart.metrics.agreement import phi_matrix, spearman_matrix
from eyechart.metrics.intervals import fisher_interval
from eyechart.metrics.recall import per_class_recall

from ..answers import Floats, Ints
from ..render import CORRELATION, NumberCell, Row, Table
from ..runs import CaseRun, ComparableCases, Runs
from .best_variant import best_variants
from .estimators import check_same_images

SPEARMAN, PHI = "Spearman, recall per class", "phi, correctness"


@dataclass(frozen=True)
class Matrix:
    """One coefficient between every two models, with the number of classes or images."""

    kind: str
    group: ComparableCases
    labels: str
    names: tuple[str, ...]
    values: Floats
    counts: Ints

    def cell(self, row: int, column: int) -> NumberCell:
        """Return one coefficient with its interval; phi is Pearson's correlation of two binary vectors."""
        value, n = float(self.values[row, column]), int(self.counts[row, column])
        method: Literal["spearman", "pearson"] = "spearman" if self.kind == SPEARMAN else "pearson"
        ci = fisher_interval(value, n, method)
        bounds = None if np.isnan(ci.low) else (ci.low, ci.high)
        return NumberCell(None if np.isnan(value) else value, n, bounds, style=CORRELATION)


def f9(runs: Runs, labels: str | None) -> list[Table]:
    """Return Figure 9 as tables: one matrix per coefficient; the original labels count as a model."""
    return [matrix_table(matrix) for matrix in matrices(runs, labels)]


def matrices(runs: Runs, labels: str | None) -> list[Matrix]:
    """Return both matrices of every group and label set with at least two rows."""
    selected = [
        (selected, name)
        for group, names in runs.select_labels(labels)
        for name in names
        if len((selected := best_variants(group, name)).scored_under(name)) + (name != group.reference) > 1
        and selected.scored_under(name)
    ]
    if not selected:
        raise ReportError(
            "F9 correlates two or more models on the same images, or one with the original labels under a second "
            "label set; these runs have neither. Create them with: pytest -k imagenet --eye-model=A --eye-model=B"
        )
    return [matrix for group, name in selected for matrix in spearman_and_phi(group, name)]


def spearman_and_phi(group: ComparableCases, labels: str) -> list[Matrix]:
    """Return Spearman over recalls of single-label images, and phi over correctness of images with valid labels."""
    cases = group.scored_under(labels)
    scored = cases[0].answers.label_sets[labels]
    names, outcomes = correctness_rows(group, cases, labels)
    recalls = np.array(
        [
            per_class_recall(row, scored.single_label, int(scored.single_label.max(initial=-1)) + 1).values
            for row in outcomes
        ]
    )
    valid = outcomes[:, scored.mask("S") | scored.mask("M")]
    return [
        Matrix(SPEARMAN, group, labels, names, spearman_matrix(recalls), count_common(recalls)),
        Matrix(PHI, group, labels, names, phi_matrix(valid), count_common(valid)),
    ]


def correctness_rows(group: ComparableCases, cases: Sequence[CaseRun], labels: str) -> tuple[tuple[str, ...], Floats]:
    """Return one row of correctness per model, the original labels last; under themselves they are left out."""
    rows = [case.answers.label_sets[labels].correct for case in check_same_images(cases)]
    tasks = group.task_names()
    model_names = [case.model for case in cases]
    names = [e.model if model_names.count(e.model) == 1 else f"{e.model} ({tasks[id(e)]})" for e in cases]
    if labels != group.reference:
        rows.append(cases[0].answers.score_original_labels(labels))
        names.append(group.reference)
    return tuple(names), np.array(rows)


def count_common(rows: Floats) -> Ints:
    """Return the number of columns that are defined in both of every two rows."""
    defined = (~np.isnan(rows)).astype(np.int64)
    return defined @ defined.T


def matrix_table(matrix: Matrix) -> Table:
    """Return a matrix as a table, with a long table for csv."""
    size = range(len(matrix.names))
    rows: list[Row] = [
        (name, *(matrix.cell(index, column) for column in size)) for index, name in enumerate(matrix.names)
    ]
    return Table(
        f"{matrix.group.title}: {matrix.kind}, under {matrix.labels}",
        ("", *matrix.names),
        tuple(rows),
        (*matrix_notes(matrix), *matrix.group.notes()),
        data=long_table(matrix),
    )


def matrix_notes(matrix: Matrix) -> list[str]:
    """Return the explanation of a matrix."""
    unit = "classes; only images with one label count" if matrix.kind == SPEARMAN else "images with a valid label"
    notes = [f"n: {unit}. Brackets: 95 % intervals by Fisher's transformation. A dash: one of the two is constant."]
    if matrix.labels != matrix.group.reference:
        notes.append(f"The row {matrix.group.reference} treats the original labels as predictions.")
    return notes


def long_table(matrix: Matrix) -> Table:
    """Return one pair of models per row."""
    pairs = [(row, column) for row in range(len(matrix.names)) for column in range(row + 1, len(matrix.names))]
    rows: list[Row] = [
        (matrix.kind, matrix.names[row], matrix.names[column], matrix.cell(row, column)) for row, column in pairs
    ]
    context = {"split": matrix.group.title, "labels": matrix.labels}
    return Table("", ("coefficient", "model", "other", "value"), tuple(rows), context=context)
