"""Evidence made of a handful of outcomes, in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.gate.evidence import Evidence, Given, packed, proofs
from eyechart.gate.evidence import named as plane_name
from eyechart.records import Metric

Make = Callable[..., Evidence]


def number(name: str = "acc1", value: float | None = 0.5, labels: str = "ImGT", category: str = "A") -> Metric:
    """A number by its name."""
    return Metric(name=name, labels=labels, category=category, value=value, n=10, ci=(0.25, 0.75), ci_method="wilson")


def shares(**outcomes: Any) -> list[Given]:
    """Numbers that are shares, by their names."""
    made = [(name, np.array(given, np.float64)) for name, given in outcomes.items()]
    counts = [int((~np.isnan(given)).sum()) for _, given in made]
    return [
        Given(replace(number(name, float(np.nanmean(given))), n=n), given)
        for (name, given), n in zip(made, counts, strict=True)
    ]


@pytest.fixture(scope="session")
def make() -> Make:
    """Make the evidence of a case."""

    def made(given: list[Given], samples: int = 0, groups: Any = None, **other: Any) -> Evidence:
        found, planes = proofs(given, groups)
        if groups is not None:
            other = {"clusters": plane_name(packed(groups))} | other
        size = samples or next((len(each.outcomes) for each in given if each.outcomes is not None), 10)
        whole = Evidence(
            case="imagenet/val/m[]",
            protocol="zero_shot",
            model="m[]",
            weights_sha256="0" * 64,
            fingerprint="f",
            truths={"ImGT": "t"},
            variant={"parser": "1", "names": "mill"},
            limit=None,
            seed=42,
            samples=size,
            keys=tuple(f"{place:05d}" for place in range(size)),
            environment={"platform": "here"},
            proofs=found,
            planes=planes,
        )
        return replace(whole, **other)

    return made


@pytest.fixture(scope="session")
def share() -> Callable[..., list[Given]]:
    """Make numbers that are shares, by their names."""
    return shares


@pytest.fixture(scope="session")
def named() -> Callable[..., Metric]:
    """Make a number."""
    return number
