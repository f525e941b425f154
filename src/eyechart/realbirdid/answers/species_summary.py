"""Summaries of species probabilities: the top taxon of each level, and the predicted node at every threshold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import DataError
from eyechart.realbirdid.statistics.hierarchy import (
    Tree,
    first_invalid_row,
    level_starts,
    node_probabilities,
    steps_from_node_probabilities,
)
from eyechart.realbirdid.statistics.threshold_steps import ThresholdSteps

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.floating]
BLOCK = 32  # rows: about 1 MB with 3,651 species, which fits into the processor's cache
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Level:
    """Answers (n,) of one level: the first index of the highest probability, this probability, the second highest one
    (0 if there is only one taxon), the entropy in nats, and the rest: the probability of all taxa but the best, which
    distinguishes certain images whose highest probability is 1 to 16 digits. -1 and NaN for an image without
    probabilities.
    """

    best: Ints
    probability: Floats
    second: Floats
    entropy: Floats
    rest: Floats


@dataclass(frozen=True)
class ProbabilitySummary:
    """Answers of the levels, the finest first, and the node predicted at every threshold.

    `of_species` (n,) is the probability of the true species, NaN for an image without one or without probabilities.
    """

    levels: tuple[Level, ...]
    threshold_steps: ThresholdSteps
    of_species: Floats


def summarise(
    read: Callable[[int, int], Rows],
    species: Ints,
    ancestors: Sequence[Ints],
    *,
    tree_levels: int | None = None,
    block: int = BLOCK,
) -> ProbabilitySummary:
    """Return the summary of probabilities, which are read in blocks.

    Args:
        read: A function that gives (stop - start, leaves) of the rows from start to stop, which add up to 1 (and are
            divided by their sum, in float64 like those of the taxa) or are all NaN.
        species: (n,), the true species of each row, -1 for none.
        ancestors: As for `Tree.from_levels`.
        tree_levels: How many of them, with the root, the tree of the thresholds has, by default all.
        block: The number of rows that are read at once.

    Raises:
        DataError: For a row that holds no probabilities.
    """
    tree, starts, rows = Tree.from_levels(ancestors), level_starts(ancestors), len(species)
    of_steps = Tree.from_levels(ancestors[:tree_levels])
    parts = [
        _block(tree, of_steps, starts, read(start, min(start + block, rows)), start, species[start : start + block])
        for start in range(0, max(rows, 1), block)
    ]
    levels = tuple(_concatenate([part.levels[index] for part in parts]) for index in range(len(ancestors)))
    steps = ThresholdSteps.concatenate([part.threshold_steps for part in parts])
    return ProbabilitySummary(levels, steps, np.concatenate([part.of_species for part in parts]))


def _block(
    tree: Tree, of_steps: Tree, starts: Sequence[int], leaves: Rows, first: int, species: Ints
) -> ProbabilitySummary:
    nodes = node_probabilities(tree, leaves)
    sums = nodes[:, -1].copy()
    odd = first_invalid_row(nodes[:, : tree.n_leaves], sums)
    if odd is not None:
        raise DataError(_error_message(first + odd, nodes[odd, : tree.n_leaves], sums[odd]))
    levels = tuple(_level(nodes[:, start:stop], sums) for start, stop in pairwise(starts))
    kept = nodes if of_steps.root == tree.root else np.append(nodes[:, : of_steps.root], nodes[:, -1:], axis=1)
    steps = steps_from_node_probabilities(of_steps, kept, np.maximum(levels[0].best, 0))
    of_species = nodes[np.arange(len(nodes)), np.maximum(species, 0)] / sums
    return ProbabilitySummary(levels, steps, np.where(species < 0, np.nan, of_species))


def _level(nodes: Floats, sums: Floats) -> Level:
    every, best = np.arange(len(nodes)), nodes.argmax(axis=1)
    entropy = np.log(sums) - _logs(nodes) / sums
    highest = nodes[every, best].copy()
    nodes[every, best] = 0  # temporarily, so that the others are the second highest and the sum
    second, rest = nodes.max(axis=1), nodes.sum(axis=1)
    nodes[every, best] = highest
    entropy[second == 0] = 0  # removes rounding errors where one taxon has all probability
    best[np.isnan(highest)] = -1
    without = best < 0
    second, rest = (np.where(without, np.nan, values) / sums for values in (second, rest))
    return Level(best, highest / sums, second, np.maximum(entropy, 0), rest)


def _logs(values: Floats) -> Floats:
    """Return the sums of p log p, with 0 log 0 = 0."""
    logs = np.maximum(values, TINY)
    np.log(logs, out=logs)
    logs *= values
    return np.asarray(logs.sum(axis=1))


def _concatenate(parts: Sequence[Level]) -> Level:
    names = ("best", "probability", "second", "entropy", "rest")
    return Level(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _error_message(row: int, values: Rows, total: float) -> str:
    problem = f"add up to {total:.6g}"
    if (values < 0).any():
        problem = f"include {values.min():.6g}"
    elif np.isnan(values).any():
        problem = f"include {int(np.isnan(values).sum())} that are not a number"
    return (
        f"The probabilities of row {row} (the first is 0) {problem}. Expected numbers from 0 that add up to 1, or "
        "not a number in the whole row for an image without an answer. Divide each row by its sum."
    )
