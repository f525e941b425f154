"""How the cost of a case's draws grows with its images: a number's draws, asked for again as for every other number."""

from collections.abc import Iterator

import numpy as np

from eyechart.statistics.resampling import bootstrap_counts, unit_bootstrap_shares

from .paired import ratio

FEW, MANY, NUMBERS = 50_000, 500_000, 4


def facts(pairs: int) -> Iterator[str]:
    """How much longer ten times the images take, and how much a number costs beside making its draws anew."""
    few, many = (np.random.default_rng(0).integers(0, 2, n) for n in (FEW, MANY))
    found = ratio(lambda: shares(few), lambda: shares(many), pairs)
    yield "draws of {:,} beside {:,} images, {} numbers: {:.1f} times as long ({:.1f}–{:.1f})".format(
        MANY, FEW, NUMBERS, *found
    )
    again = ratio(
        lambda: sum(1 for _ in bootstrap_counts(MANY, 1000, 1)),
        lambda: sum(1 for _ in bootstrap_counts(MANY, 1000, rng())),
        1,
    )
    yield f"draws of {MANY:,} images: read again {again[0]:.1f} times as fast as made anew"


def shares(right: np.ndarray) -> None:
    """The draws of some numbers of one case."""
    for _ in range(NUMBERS):
        unit_bootstrap_shares(right, np.ones(len(right)), 1000, 1)


def rng() -> np.random.Generator:
    """A generator, whose draws nobody keeps."""
    return np.random.default_rng(1)
