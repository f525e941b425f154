"""Image bits: how much an image adds to the probability of its label, beside a blank; and what is answered blind."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_fractions, check_integers, check_length, require
from eyechart.statistics.clusters import clustered_t_interval
from eyechart.statistics.intervals import Interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AboveChance:
    """The accuracy with a blank minus that by chance, over the same samples, with its interval."""

    accuracy: float
    chance: float
    value: float
    ci: Interval


def image_bits(log_scores: ArrayLike, blank_log_scores: ArrayLike) -> Floats:
    """Return log2 P(y | image) - log2 P(y | blank) of each image.

    A model that ignores images has 0 everywhere. Over all labels y of an image, P(y | blank) · 2^bits sums up to 1. The
    mean over images is no information of a model that is trained without images, since the blank is one image that the
    model has not seen. Images of other labels have a mean below 0, not 0.

    Args:
        log_scores: (n,) natural logarithm of the probability of each image's label, at most 0; NaN if it is unknown.
        blank_log_scores: (m, n) the same with each of m blanks of one kind, or (n,) with one. Their probabilities are
            averaged, not their logarithms. A floor of the logarithms must be the same on both sides.

    Returns:
        (n,) bits; NaN if a side is unknown.

    Raises:
        ValueError: If the lengths differ, there is no blank or a logarithm is above 0.

    Source: K. Ethayarajh, Y. Choi and S. Swayamdipta, International Conference on Machine Learning (2022), Equation 4,
    pointwise V-information, here with a blank instead of a model that is trained blind.

    >>> image_bits(np.log([0.8, 0.1]), np.log([0.2, 0.2])).round(6).tolist()
    [2.0, -1.0]
    """
    seen = np.asarray(log_scores, np.float64)
    blank = np.atleast_2d(np.asarray(blank_log_scores, np.float64))
    require(seen.ndim == 1, "image_bits", "log_scores", "an array of 1 dimension", seen)
    require(blank.ndim == 2 and len(blank) > 0, "image_bits", "blank_log_scores", "of at least one blank", blank)
    check_length("image_bits", "blank_log_scores", blank.T, len(seen))
    for name, values in (("log_scores", seen), ("blank_log_scores", blank)):
        require(not (values > 0).any(), "image_bits", name, "at most 0", np.nanmax(values, initial=0))
    bits: Floats = (seen - np.logaddexp.reduce(blank, axis=0) + np.log(len(blank))) / np.log(2)
    return bits


def above_chance(outcomes: ArrayLike, chance: ArrayLike, units: ArrayLike | None = None) -> AboveChance:
    """Return how much more is answered without the image than by chance.

    Args:
        outcomes: (n,) of 0 and 1, or means of several blanks in [0, 1]: whether each question was answered right.
        chance: (n,) of each question, the probability of a right answer by chance: 1 / options, or 1 for the images of
            the commonest label and 0 for others where a model could always name that label.
        units: (n,) ints of at least 0, the sampling unit of each question; every question is its own without it.

    Returns:
        The accuracy, chance and their difference, with Student's 95 % interval over units.

    Raises:
        ValueError: If the lengths differ or a number is no fraction.

    Source: own definition; `clustered_t_interval` gives the interval.

    >>> found = above_chance([1, 0, 1, 1], [0.25] * 4)
    >>> found.accuracy, found.chance, found.value
    (0.75, 0.25, 0.5)
    """
    right = check_fractions("above_chance", "outcomes", outcomes, ndim=1)
    expected = check_fractions("above_chance", "chance", chance, ndim=1)
    check_length("above_chance", "chance", expected, len(right))
    unit = np.arange(len(right)) if units is None else check_integers("above_chance", "units", units, ndim=1, least=0)
    difference = right - expected
    if not len(right):
        return AboveChance(float("nan"), float("nan"), float("nan"), Interval(float("nan"), float("nan")))
    ci = clustered_t_interval(difference, unit)
    return AboveChance(float(right.mean()), float(expected.mean()), float(difference.mean()), ci)
