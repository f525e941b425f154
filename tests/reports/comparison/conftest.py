"""Runs in which each model is wrong about some of many images."""

import numpy as np
import pytest

from tests.reports.comparison.tables_of_runs import CONSE, SIZE, TIMM, TRUTHS, WRONG


@pytest.fixture
def run(make_run):
    """A run in which each model is wrong about some of the images."""

    def run(name, wrong, truths=TRUTHS, labels=("ImGT", "ReGT"), **how):
        said = {
            model: (protocol(model), [WRONG if row in indices else truth[0] for row, truth in enumerate(truths)])
            for model, indices in wrong.items()
        }
        return make_run(name, models=said, truths=truths, labels=labels, **how)

    return run


def protocol(model):
    return "supervised" if model.startswith("timm") else "zero_shot"


@pytest.fixture
def pair(run):
    """Two runs of two models that are wrong about random images, some of which ended in an error."""

    def pair(seed):
        draw = np.random.default_rng(seed)
        for name in ("one", "other"):
            wrong = {model: set(draw.permutation(SIZE)[:30].tolist()) for model in (CONSE, TIMM)}
            yield run(f"{name}{seed}", wrong, errors={int(draw.integers(SIZE)): "timeout"})

    return lambda seed: tuple(pair(seed))
