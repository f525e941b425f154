"""Tests of `eyechart.inference.engines.preparation.prepare`."""

import os
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError, ImageError
from eyechart.inference.engines.preparation.feed import PreparationProcesses
from eyechart.inference.engines.preparation.prepare import prefetch_images
from tests.inference.engines.preparation.started import wait

COUNT, SIZE = 50, 7


@pytest.mark.deep
def test_processes_prepare_what_threads_prepare(started: PreparationProcesses, shades: Dataset) -> None:
    wait(started, shades)
    indices = [index for index in range(COUNT) if index != 13]
    found = [*started.prefetch(shades, indices, SIZE)]
    expected = [*prefetch_images(shades, indices, SIZE, started.model.prepare)]
    assert [[index for index, _ in batch] for batch in found] == [[index for index, _ in batch] for batch in expected]
    for (_, item), (_, other) in zip([*chain.from_iterable(found)], [*chain.from_iterable(expected)], strict=True):
        if isinstance(other, ImageError):
            assert str(item) == str(other)
            continue
        np.testing.assert_array_equal(item["shade"], other["shade"])
        assert torch.equal(item["half"], other["half"])
        item["shade"] += 1  # an array of its own
    assert os.getpid() not in {item["process"] for _, item in [*chain.from_iterable(found)][:-1]}


@pytest.mark.deep
def test_files_that_are_gone_are_the_same_error(started: PreparationProcesses, shades: Dataset, tmp_path: Path) -> None:
    wait(started, shades)
    (tmp_path / "images" / "05.png").unlink()
    with pytest.raises((DataError, ImageError)) as threads:
        [*prefetch_images(shades, range(9), SIZE, started.model.prepare)]
    with pytest.raises(type(threads.value)) as processes:
        [*started.prefetch(shades, range(9), SIZE)]
    assert str(processes.value) == str(threads.value)
