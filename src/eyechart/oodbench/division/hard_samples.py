"""Hard samples: the image–category pairs that a detector predicts correctly, but with low confidence.

Source: arXiv 2602.18094, appendix C, Algorithm 1. The paper does not state how many proposals (k) and which percentage
of them (q) it keeps, and how it treats false positives. Here k is 1, because each pair is asked about once; q is 20,
which keeps about as many pairs as its Table 8 has (2,641) if most pairs of COCO val2017 are detected; and false
positives are removed before the mining (`keep_annotated`): their probabilities are low, so they would be most of the
hardest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_integers, check_whole_number, require

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_GAMMA = 2.0
_TOP_K = 1
_TOP_Q = 20.0


@dataclass(frozen=True)
class Proposals:
    """Predictions of a detector: image indices `rows` (m,), `categories` (m,) and `probabilities` (m,) in (0, 1]."""

    rows: Ints
    categories: Ints
    probabilities: Floats

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class HardSamples:
    """Distinct hard pairs, the hardest first: `rows`, `categories` and focal `hardness`, all (pairs,)."""

    rows: Ints
    categories: Ints
    hardness: Floats

    def __len__(self) -> int:
        return len(self.rows)


def hardness(probabilities: ArrayLike, gamma: float = _GAMMA) -> Floats:
    """Return the focal loss of predictions, (1 - p)^γ · (-log p): 0 for full confidence, large for low confidence.

    Args:
        probabilities: (m,) of the predicted categories, in (0, 1].
        gamma: Of at least 0.

    Returns:
        (m,) values of at least 0, in nats.

    Raises:
        ValueError: For a probability outside (0, 1] or a negative gamma.

    Source: arXiv 2602.18094, equation 27; T.-Y. Lin et al., ICCV 2017, 2980-2988.

    >>> hardness([1.0, 0.5, 0.1]).round(3).tolist()
    [0.0, 0.173, 1.865]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    require(p.ndim == 1, "hardness", "probabilities", "an array of 1 dimension", p)
    outside = p[~((p > 0) & (p <= 1))]
    require(outside.size == 0, "hardness", "probabilities", "above 0 and at most 1", outside[0] if outside.size else 0)
    require(0 <= gamma < inf, "hardness", "gamma", "at least 0 and finite", gamma)
    return np.asarray((1 - p) ** gamma * np.abs(np.log(p)))


def propose_top_categories(probabilities: ArrayLike) -> Proposals:
    """Return one proposal per image: its most probable category, the first one in case of a tie.

    Args:
        probabilities: (n, k) in [0, 1] of an encoder or classifier; a row with NaN has no proposal.

    Returns:
        Proposals in the order of the images.

    Raises:
        ValueError: For another shape, no category, or a largest probability outside (0, 1].

    Source: arXiv 2602.18094, Algorithm 1, with the image as its only candidate box; own definition.

    >>> found = propose_top_categories([[0.2, 0.8], [float("nan"), 0.1], [0.6, 0.4]])
    >>> found.rows.tolist(), found.categories.tolist(), found.probabilities.tolist()
    ([0, 2], [1, 0], [0.8, 0.6])
    """
    p = np.asarray(probabilities, dtype=np.float64)
    fits = p.ndim == 2 and p.shape[-1] > 0
    require(fits, "propose_top_categories", "probabilities", "an array of 2 dimensions with at least one category", p)
    rows = np.flatnonzero(~np.isnan(p).any(1))
    best = p[rows].argmax(1)
    values = p[rows, best]
    hardness(values)
    return Proposals(rows, best, values)


def keep_annotated(proposals: Proposals, present: ArrayLike) -> tuple[Proposals, int]:
    """Return the proposals whose category is annotated in their image, and the number of the others.

    Args:
        proposals: With rows below n and categories below k.
        present: (n, k), the categories of each image.

    Returns:
        The proposals that are true positives, in their order, and the number of false positives.

    Raises:
        ValueError: If `present` is not a boolean matrix, or a row or category is outside it.

    Source: own definition; the paper asks about categories that are present (section 3), and does not state how it
    treats false positives.

    >>> _, others = keep_annotated(propose_top_categories([[0.2, 0.8], [0.6, 0.4]]), [[True, False], [True, False]])
    >>> others
    1
    """
    table = np.asarray(present)
    fits = table.ndim == 2 and table.dtype.kind == "b"
    require(fits, "keep_annotated", "present", "a boolean array of 2 dimensions", table)
    rows = check_integers("keep_annotated", "rows", proposals.rows, ndim=1, below=table.shape[0], least=0)
    categories = check_integers(
        "keep_annotated", "categories", proposals.categories, ndim=1, below=table.shape[1], least=0
    )
    kept = table[rows, categories]
    return Proposals(rows[kept], categories[kept], proposals.probabilities[kept]), int((~kept).sum())


def mine_hard_samples(
    proposals: Proposals, keys: Sequence[str], *, k: int = _TOP_K, q: float = _TOP_Q, gamma: float = _GAMMA
) -> HardSamples:
    """Return the hardest q percent per category, of the k hardest proposals per image and category.

    The number of proposals per category is rounded up, so that each category keeps at least one. Ties are broken by the
    key of the image, so that the order of proposals and images does not matter. If a pair has several proposals, the
    hardest one is kept.

    Args:
        proposals: With rows below n.
        keys: (n,) of the images, all different.
        k: Of at least 1.
        q: In (0, 100] percent.
        gamma: As in `hardness`.

    Returns:
        HardSamples by descending hardness, then key, then category.

    Raises:
        ValueError: For different lengths, repeated keys, or an argument out of range.

    Source: arXiv 2602.18094, Algorithm 1.

    >>> found = Proposals(np.array([0, 0, 1, 2]), np.array([5, 5, 5, 7]), np.array([0.9, 0.3, 0.2, 0.8]))
    >>> hard = mine_hard_samples(found, ["a", "b", "c"], q=50)
    >>> hard.rows.tolist(), hard.categories.tolist(), hard.hardness.round(3).tolist()
    ([1, 2], [5, 7], [1.03, 0.009])
    """
    k = check_whole_number("mine_hard_samples", "k", k, least=1)
    require(0 < q <= 100, "mine_hard_samples", "q", "above 0 and at most 100", q)
    require(
        len({*keys}) == len(keys), "mine_hard_samples", "keys", "all different", f"{len(keys) - len({*keys})} repeated"
    )
    rows = check_integers("mine_hard_samples", "rows", proposals.rows, ndim=1, below=len(keys), least=0)
    categories = check_integers("mine_hard_samples", "categories", proposals.categories, ndim=1, least=0)
    scores = hardness(proposals.probabilities, gamma)
    for name, values in (("categories", categories), ("probabilities", scores)):
        require(len(values) == len(rows), "mine_hard_samples", name, f"of length {len(rows)}, one a proposal", values)
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    order = np.lexsort((categories, ranks[rows], -scores))
    order = order[_ranks_within(rows[order], categories[order]) < k]
    order = order[_hardest(categories[order], q)]
    order = order[_ranks_within(rows[order], categories[order]) == 0]
    return HardSamples(rows[order], categories[order], scores[order])


def _hardest(categories: Ints, q: float) -> NDArray[np.bool_]:
    """Return which proposals, sorted by descending hardness, are in the first q percent of their category."""
    kept = [ceil(round(q * count / 100, 9)) for count in np.bincount(categories).tolist()]
    return np.asarray(_ranks_within(categories) < np.array([*kept, 0])[categories])


def _ranks_within(*groups: Ints) -> Ints:
    """Return the position of each item within its group."""
    order = np.lexsort(groups)
    like = np.logical_and.reduce([group[order][1:] == group[order][:-1] for group in groups])
    starts = np.flatnonzero(np.append(True, ~like))
    indices = np.empty(len(order), np.int64)
    indices[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return indices
