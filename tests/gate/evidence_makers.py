"""Evidence made of a handful of outcomes, in memory."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.results.estimates import Estimate
from eyechart.results.evidence import RESAMPLES, Evidence, collect_evidence, pack_clusters
from eyechart.results.evidence import digest as plane_name
from eyechart.statistics.intervals import Interval
from eyechart.statistics.resampling import unit_bootstrap_shares

Make = Callable[..., Evidence]
LOWER, NEITHER = ("brier", "ece", "aurc"), ("oop", "mmd2")


def number(name: str = "acc1", value: float | None = 0.5, **more: Any) -> Estimate:
    """A number by its name."""
    better = None if name in NEITHER else name not in LOWER
    usual = {
        "labels": "ImGT",
        "n": 10,
        "interval": Interval(0.25, 0.75),
        "method": "wilson",
        "higher_is_better": better,
    }
    return Estimate(name=name, value=value, **(usual | more))


def shares(**outcomes: Any) -> list[Estimate]:
    """Numbers that are shares, by their names."""
    made = [(name, np.array(correct, np.float64)) for name, correct in outcomes.items()]
    return [
        number(name, float(np.nanmean(correct)), n=int((~np.isnan(correct)).sum()), correct=correct)
        for name, correct in made
    ]


@cache
def keys(size: int) -> tuple[str, ...]:
    """Name so many samples; simulations ask for the same number again and again."""
    return tuple(f"{index:05d}" for index in range(size))


@pytest.fixture(scope="session")
def make() -> Make:
    """Make the evidence of a case."""

    def made(estimates: list[Estimate], samples: int = 0, groups: Any = None, **other: Any) -> Evidence:
        found, planes = collect_evidence(estimates, groups)
        if groups is not None:
            other = {"clusters": plane_name(pack_clusters(groups))} | other
        size = samples or next((len(each.correct) for each in estimates if each.correct is not None), 10)
        whole = Evidence(
            case="imagenet/val/m[]",
            protocol="zero_shot",
            model="m[]",
            weights_sha256="0" * 64,
            fingerprint="f",
            label_hashes={"ImGT": "t"},
            variant={"parser_version": "1", "names": "mill"},
            limit=None,
            seed=42,
            samples=size,
            keys=keys(size),
            environment={"platform": "here"},
            metrics=found,
            arrays=planes,
        )
        return replace(whole, **other)

    return made


@pytest.fixture(scope="session")
def share() -> Callable[..., list[Estimate]]:
    """Make numbers that are shares, by their names."""
    return shares


@pytest.fixture(scope="session")
def named() -> Callable[..., Estimate]:
    """Make a number."""
    return number


@pytest.fixture
def drawn() -> Any:
    """A share given by its draws alone."""

    def drawn(right: Any) -> Estimate:
        right = np.array(right, np.float64)
        draws = unit_bootstrap_shares(right, np.ones_like(right), RESAMPLES, 42)
        return number("f1", float(right.mean()), bootstrap=lambda: draws)

    return drawn
