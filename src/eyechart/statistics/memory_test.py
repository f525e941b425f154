"""Whether a model has learnt a published draw: its answers under that draw beside those under further draws."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from eyechart.statistics._checks import check_integers, check_length, check_outcomes, require
from eyechart.statistics.intervals import Interval

Floats = NDArray[np.float64]
PERMUTATIONS = 9999
_CHUNK = 500  # permutations at once
_TIE = 1e-9


@dataclass(frozen=True)
class MemoryTest:
    """The result of a memory test.

    `effect` is the accuracy under the published draw minus the mean of those under the redraws, with its interval.
    `learnt` is the share of questions, of those that are otherwise answered wrong, that the effect amounts to.
    `detectable` is the smallest share that would have been found with a probability of 80 %.
    """

    p: float
    published: float
    redrawn: float
    effect: float
    ci: Interval
    learnt: float
    detectable: float


def memory_test(
    published: ArrayLike,
    redrawn: ArrayLike,
    units: ArrayLike | None = None,
    permutations: int = PERMUTATIONS,
    alpha: float = 0.05,
    seed: int = 0,
) -> MemoryTest:
    """Test whether a model answers better under a published draw than under further draws of the same kind.

    If it has not learnt the published draw, that draw and the redraws of a question are exchangeable. The statistic is
    the number of correct answers under the published draw; in each permutation every question takes the answer under
    one of its draws by chance. The p-value is exact, P(p ≤ a) ≤ a for every a: answers that agree make it larger.

    Limits: it is a test of memory only if the published draw was made in the same way as the redraws. A publisher who
    chose hard options by hand has made another kind of draw. An effect that is not significant is no proof that nothing
    was learnt: `detectable` says how much could have been missed.

    Args:
        published: (n,) of 0 and 1, the outcome of each question under the published draw.
        redrawn: (n, r) of 0 and 1, its outcomes under r redraws, at least one; 4 are usually enough.
        units: (n,) ints of at least 0, the image of each question for the interval. Questions of one unit are permuted
            together, which is right if they share a draw and harmless if not.
        permutations: At least 99; the smallest p-value is 1 / (permutations + 1).
        alpha: In (0, 1), one-sided, for `detectable`.
        seed: Of the permutations.

    Returns:
        The p-value, one-sided, and the effect, a fraction, with a 95 % interval over units.

    Raises:
        ValueError: If the shapes do not fit, an outcome is something else or there are too few permutations.

    Source: J. Hemerik and J. Goeman, TEST 27 (2018) 811-825, exact tests by random permutations; B. Phipson and G. K.
    Smyth, Statistical Applications in Genetics and Molecular Biology 9 (2010) Article 39, the p-value.

    >>> found = memory_test([1] * 30, [[0, 1]] * 30)
    >>> found.p, found.effect, found.learnt
    (0.0001, 0.5, 1.0)
    """
    first = check_outcomes("memory_test", "published", published, ndim=1)
    others = check_outcomes("memory_test", "redrawn", redrawn, ndim=2)
    check_length("memory_test", "redrawn", others, len(first))
    complete = not np.isnan(first).any() and not np.isnan(others).any()
    require(complete, "memory_test", "redrawn", "without NaN: leave out questions without an answer", redrawn)
    require(others.shape[1] > 0, "memory_test", "redrawn", "of at least one redraw", others)
    unit = np.arange(len(first)) if units is None else check_integers("memory_test", "units", units, ndim=1, least=0)
    check_length("memory_test", "units", unit, len(first))
    require(permutations >= 99, "memory_test", "permutations", "at least 99", permutations)
    require(0 < alpha < 1, "memory_test", "alpha", "between 0 and 1", alpha)
    n = len(first)
    if not n:
        unknown = float("nan")
        return MemoryTest(1.0, unknown, unknown, unknown, Interval(unknown, unknown), unknown, unknown)
    _, index = np.unique(unit, return_inverse=True)
    draws = np.column_stack([first, others])
    sums = np.stack([np.bincount(index, column) for column in draws.T], axis=1).astype(np.float64)
    effect = float(first.mean() - others.mean())
    error, quantile = _standard_error(first - others.mean(axis=1), index, effect)
    half = error * quantile
    wrong = 1 - float(others.mean())
    return MemoryTest(
        p=_permutation_p(sums, permutations, np.random.default_rng(seed)),
        published=float(first.mean()),
        redrawn=float(others.mean()),
        effect=effect,
        ci=Interval(max(-1.0, effect - half), min(1.0, effect + half)),
        learnt=max(0.0, effect) / wrong if wrong else float("nan"),
        detectable=min(1.0, float(ndtri(1 - alpha) + ndtri(0.8)) * error / wrong) if wrong else float("nan"),
    )


def _permutation_p(sums: Floats, permutations: int, generator: np.random.Generator) -> float:
    """Return the p-value of the correct answers of units under each draw (u, 1 + r), the published one first."""
    moving = sums[np.ptp(sums, axis=1) > 0]  # a unit whose draws agree is the same under every permutation
    observed, reached = moving[:, 0].sum(), 0
    for start in range(0, permutations, _CHUNK):
        size = min(_CHUNK, permutations - start)
        chosen = generator.integers(sums.shape[1], size=(size, len(moving)))
        reached += int((moving[np.arange(len(moving)), chosen].sum(axis=1) >= observed - _TIE).sum())
    return (1 + reached) / (permutations + 1)


def _standard_error(differences: Floats, index: NDArray[np.intp], effect: float) -> tuple[float, float]:
    """Return the standard error of the mean difference over units, and Student's quantile of its 95 % interval."""
    deviations = np.bincount(index, differences - effect)
    count = len(deviations)
    if count < 2:
        return float("nan"), float("nan")
    error = float(np.sqrt((deviations**2).sum() * count / (count - 1))) / len(differences)
    return error, float(stdtrit(count - 1, 0.975))
