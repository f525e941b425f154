"""What is computed for an image depends on its row alone: not on its place, other rows, or the memory layout.

Equal rows then have equal numbers, of which neither a rank nor a threshold can tell one from the other.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from eyechart.classification.answers.image_answers import BestClasses
from eyechart.inference.requests.class_weights import cosine_similarity, normalize, unit_vectors
from eyechart.models.conse.encoder import convex_combination
from eyechart.oodbench.division.flags import purified_probabilities
from eyechart.realbirdid.protocols.helpers.name_scores import conditional_probabilities, softmax
from eyechart.realbirdid.statistics.hierarchy import Tree, node_probabilities
from eyechart.statistics.proper_scores import log_scores
from eyechart.statistics.softmax import softmax_sums

WIDTHS = (6, 9, 130, 1283)
ROWS = (2, 65, 130)  # one more than blocks of 64, so that the last row stands alone in its block


@cache
def weights(width: int) -> Any:
    return normalize(np.random.default_rng(0).normal(size=(width + 3, width)).astype(np.float32))


def tree(leaves: int) -> Tree:
    """Leaves in groups of three, and those in groups of two."""
    species = np.arange(leaves)
    return Tree.from_levels([species, species // 3, species // 6])


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "normalize": normalize,
    "unit_vectors": unit_vectors,
    "cosine_similarity": lambda table: cosine_similarity(table, weights(table.shape[1])),
    "best classes": lambda table: BestClasses.of_scores(table).scores,
    "softmax_sums": lambda table: np.stack(softmax_sums(table), axis=1),
    "log_scores": lambda table: log_scores(table, np.full((len(table), 1), 3))[:, None],
    "softmax": softmax,
    "softmax of some names": lambda table: softmax(table, np.arange(table.size).reshape(table.shape) >= 0),
    "conditional_probabilities": lambda table: conditional_probabilities(np.abs(table), np.ones(table.shape, bool)),
    "node_probabilities": lambda table: node_probabilities(tree(table.shape[1]), softmax(table)),
    "purified_probabilities": lambda table: purified_probabilities(
        table, *(np.tile(np.arange(table.shape[1]) % 5 == index, (len(table), 1)) for index in (0, 3))
    ),
    "convex_combination": lambda table: convex_combination(table, weights(table.shape[1])[: table.shape[1]], 5),
}
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "by rows": np.ascontiguousarray,
    "by columns": np.asfortranarray,
    "every other column": lambda table: np.repeat(table, 2, axis=1)[:, ::2],
    "chosen columns": lambda table: table[:, list(range(table.shape[1]))],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_equal_rows_have_equal_numbers_at_every_place_and_alone(function: str, layout: str) -> None:
    compute, lay_out = FUNCTIONS[function], LAYOUTS[layout]
    for width in WIDTHS:
        row = 5 * np.random.default_rng(width).normal(size=(1, width)).astype(np.float32)
        alone = compute(row)
        for rows in ROWS:
            found = compute(lay_out(np.repeat(row, rows, axis=0)))
            np.testing.assert_array_equal(found, np.repeat(alone, rows, axis=0))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_other_rows_change_nothing(function: str) -> None:
    compute = FUNCTIONS[function]
    for width in WIDTHS:
        table = 5 * np.random.default_rng(width).normal(size=(67, width)).astype(np.float32)
        alone = np.concatenate([compute(table[row : row + 1]) for row in range(len(table))])
        np.testing.assert_array_equal(compute(table), alone)
        np.testing.assert_array_equal(compute(table[::-1]), alone[::-1])
