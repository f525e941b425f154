"""Results of resampling of an earlier run: an equal run computes none again and writes the same bytes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.realbirdid.data.registered import open_realbirdid

pytestmark = pytest.mark.deep

# A run in which resampling is an error.
NO_RESAMPLES = """
from eyechart.statistics.bootstrap_samples import BootstrapSamples

def refuse(self):
    raise AssertionError("a resample was drawn")

BootstrapSamples.__iter__ = BootstrapSamples.table = refuse
"""


@pytest.fixture(scope="module")
def probabilities() -> Any:
    """Probabilities of the species of the packaged birds."""
    birds = open_realbirdid("sample-drawn")
    return np.random.default_rng(0).dirichlet(np.full(birds.classes, 0.2), len(birds)).astype(np.float32)


def written(world: Any) -> dict[str, bytes]:
    """The evidence and tables of the latest run by their paths."""
    run: Path = world.folder / ".eyechart" / "runs" / "latest"
    names = ("evidence", "predictions", "curves")
    return {str(path.relative_to(run)): path.read_bytes() for name in names for path in (run / name).glob("*")}


def test_an_equal_run_draws_no_resamples_and_writes_the_same(world: Any, probabilities: Any) -> None:
    np.save(world.folder / "P.npy", probabilities)
    birds = ("sample-drawn", "--eye-model=replay[path=P.npy,of=species]")
    world.installed(*birds)
    records, files = world.records, written(world)
    assert any(metric["ci_method"] == "bootstrap" for record in records for metric in record["metrics"])
    world.installed(*birds, world.plugin(NO_RESAMPLES))
    assert world.records == records
    assert written(world) == files

    np.save(world.folder / "P.npy", probabilities[:, ::-1].copy())
    refused = world.installed(*birds, world.plugin(NO_RESAMPLES), code=1)
    assert "a resample was drawn" in refused
