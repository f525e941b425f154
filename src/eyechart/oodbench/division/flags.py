"""Flags of OODBench (arXiv 2602.18094): the image–category pairs that a detector fails on, and the sets that follow."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Float64s = NDArray[np.float64]
THRESHOLD = 0.05
MAX_PAIRS = 3000  # per set, with two questions each
OUTSCORED, UNLIKELY = 1, 2


@dataclass(frozen=True)
class Flags:
    """The failures of one detector on n images and k categories.

    `probability` (n, k) is the purified probability of each present category, NaN elsewhere. `outscored` (n,) marks
    images where an absent category has a higher logit than all present ones (case 1), and `top_absent` (n, k) the
    absent categories with the highest logit there. `unlikely` (n, k) marks present categories with a probability below
    the threshold (case 2). `present` (n, k) is the argument of `compute_flags`.
    """

    probability: Float64s
    outscored: Bools
    top_absent: Bools
    unlikely: Bools
    present: Bools

    @property
    def codes(self) -> Ints:
        """Codes (n, k): 1 for case 1, 2 for case 2, 3 for both, 0 for neither and for categories that are not present.

        Source: arXiv 2602.18094, section 4; the codes are our own definition.

        >>> compute_flags([[2.0, 1.0, 0.0]], [[False, True, False]], [[True, False, True]], 0.05).codes
        array([[0, 1, 0]])
        """
        both = OUTSCORED * (self.outscored[:, None] & self.present) + UNLIKELY * self.unlikely
        return both.astype(np.int64)


def purified_probabilities(logits: ArrayLike, present: ArrayLike, absent: ArrayLike) -> Float64s:
    """Return the probability of each present category under a softmax without the image's other present categories.

    Args:
        logits: (n, k).
        present: (n, k) bool: which categories are present.
        absent: (n, k) bool: which are absent; categories that are neither are not annotated and are left out of the
            softmax.

    Returns:
        Fractions (n, k), NaN for categories that are not present; 1 if no category is absent.

    Raises:
        ValueError: For different shapes, a category both present and absent, and a logit that is not finite.

    Source: arXiv 2602.18094, section 4, "Purify".

    >>> purified_probabilities([[2.0, 2.0, 2.0]], [[True, True, False]], [[False, False, True]]).tolist()
    [[0.5, 0.5, nan]]
    """
    score, here, away = _check_arrays(logits, present, absent)
    others = np.sort(
        np.where(away, score, -np.inf), axis=1
    )  # sorted, so that the sum does not depend on the order of categories
    rest = logsumexp(others, axis=1, keepdims=True)
    return np.where(here, expit(score - rest), np.nan)


def compute_flags(logits: ArrayLike, present: ArrayLike, absent: ArrayLike, threshold: float = THRESHOLD) -> Flags:
    """Return the failures of one detector: outscored images (case 1) and unlikely present categories (case 2).

    Args:
        logits: As for `purified_probabilities`.
        present: As for `purified_probabilities`.
        absent: As for `purified_probabilities`.
        threshold: A probability, in [0, 1].

    Returns:
        Flags; a tie is not a failure.

    Raises:
        ValueError: As `purified_probabilities`, and for a threshold out of range.

    Source: arXiv 2602.18094, section 4, the two cases of failure detection.

    >>> found = compute_flags([[4.0, 0.0, 1.0]], [[True, True, False]], [[False, False, True]], 0.3)
    >>> found.outscored.tolist(), found.unlikely.tolist()
    ([False], [[False, True, False]])
    >>> compute_flags([[2.0, 1.0, 2.0]], [[False, True, False]], [[True, False, True]]).top_absent
    array([[ True, False,  True]])
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"The 'threshold' parameter of compute_flags must be in [0, 1]. Got {threshold} instead.")
    score, here, away = _check_arrays(logits, present, absent)
    probability = purified_probabilities(score, here, away)
    best = np.where(here, score, -np.inf).max(axis=1, initial=-np.inf)
    others = np.where(away, score, -np.inf)
    top = others.max(axis=1, initial=-np.inf)
    beaten = here.any(axis=1) & (top > best)
    strangers = beaten[:, None] & away & (score == top[:, None])
    return Flags(probability, beaten, strangers, probability < threshold, here)


def _check_arrays(logits: ArrayLike, present: ArrayLike, absent: ArrayLike) -> tuple[Float64s, Bools, Bools]:
    """Return the three arguments as arrays of one shape.

    Raises:
        ValueError: As `purified_probabilities`.

    Source: own definition.

    >>> _check_arrays([[float("nan")]], [[True]], [[False]])
    Traceback (most recent call last):
    ValueError: The 'logits' parameter of compute_flags must be finite for present and absent categories. Got nan.
    """
    score = np.ascontiguousarray(logits, np.float64)  # the memory layout would change the order of sums
    here, away = np.ascontiguousarray(present, np.bool_), np.ascontiguousarray(absent, np.bool_)
    if score.ndim != 2 or score.shape != here.shape or score.shape != away.shape:
        raise ValueError(
            "The 'logits', 'present' and 'absent' parameters of compute_flags must have one shape (images, "
            f"categories). Got {score.shape}, {here.shape} and {away.shape} instead."
        )
    if (here & away).any():
        raise ValueError("A category is both present and absent in one image. Expected at most one of the two.")
    odd = score[(here | away) & ~np.isfinite(score)]
    if odd.size:
        raise ValueError(
            "The 'logits' parameter of compute_flags must be finite for present and absent categories. "
            f"Got {odd.flat[0]}."
        )
    return score, here, away


def combine_flags(failed: Sequence[ArrayLike]) -> tuple[Bools, Bools]:
    """Return the pairs that all detectors fail on (OOD-H), and those that some but not all fail on (OOD-S).

    Args:
        failed: One boolean array per detector, all of one shape.

    Returns:
        Two boolean arrays; with one detector, OOD-S is empty; with two, it is the symmetric difference.

    Raises:
        ValueError: If there is no detector.

    Source: arXiv 2602.18094, section 4 and appendix E.2.

    >>> hard, simple = combine_flags([[True, True, False], [True, False, False]])
    >>> hard.tolist(), simple.tolist()
    ([True, False, False], [False, True, False])
    """
    if not failed:
        raise ValueError("The 'failed' parameter of combine_flags must hold one array per detector. Got none instead.")
    every = np.stack([np.asarray(mask, np.bool_) for mask in failed])
    hard: Bools = np.all(every, axis=0)
    simple: Bools = np.any(every, axis=0) & ~hard
    return hard, simple


def draw_sample(names: Iterable[str], most: int, seed: int, what: str) -> list[int]:
    """Return a random sample of at most `most` indices that does not depend on the order of the names.

    Args:
        names: Of the items, all different.
        most: The most that are drawn.
        seed: A whole number.
        what: Distinguishes samples with the same seed.

    Returns:
        Indices, ascending.

    Raises:
        ValueError: For a negative `most`.

    Source: arXiv 2602.18094, appendix A (random downsampling); the order by hash is our own definition.

    >>> chosen = draw_sample(["a", "b", "c"], 2, 42, "OOD-H")
    >>> chosen == sorted(2 - index for index in draw_sample("cba", 2, 42, "OOD-H"))
    True
    """
    if most < 0:
        raise ValueError(f"The 'most' parameter of draw_sample must be at least 0. Got {most} instead.")
    order = sorted((sha256(f"{seed}|{what}|{name}".encode()).digest(), index) for index, name in enumerate(names))
    return sorted(index for _, index in order[:most])
