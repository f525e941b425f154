"""Images that processes prepare: the items of threads to the last bit, whatever happens to a process."""

import os
from itertools import chain

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ImageError
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.engines.preparation import feed
from eyechart.inference.engines.preparation.feed import Feeds, PreparationProcesses
from eyechart.inference.requests.row_requests import Classify
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec
from tests.inference.engines.preparation.started import start, wait

COUNT, SIZE = 50, 7


@pytest.mark.deep
def test_only_the_image_that_ends_processes_is_an_error(started: PreparationProcesses, shades: Dataset) -> None:
    wait(started, shades)
    found = dict(chain.from_iterable(started.prefetch(shades, range(COUNT - 1), SIZE)))
    assert [index for index, item in found.items() if isinstance(item, ImageError)] == [13]
    assert all(item["shade"][0] == index for index, item in found.items() if index != 13)
    assert "ended without an answer" in str(found[13])
    assert "13.png" in str(found[13])


@pytest.mark.deep
def test_processes_that_cannot_start_leave_the_work_to_threads(module: str, shades: Dataset) -> None:
    processes = start(f"{module}[starts=false]")
    with pytest.warns(RuntimeWarning, match="processes that prepare images cannot start"):
        processes.threads.submit(processes.is_ready, wait=True).result()
    found = [*chain.from_iterable(processes.prefetch(shades, range(10), SIZE))]
    assert {item["process"] for _, item in found} == {os.getpid()}
    processes.close()


def test_only_many_images_for_an_accelerator_start_processes(
    module: str, shades: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "MANY_IMAGES", COUNT)
    monkeypatch.setattr(feed, "count_decoders", lambda: 2)
    indices = [index for index in range(COUNT) if index != 13]
    for device, expected in (("cpu", [False, False]), ("cuda", [False, True])):
        engine, model = LocalEngine(), create_model(parse_spec(f"{module}[]"), device=device, offline=True)
        for there in expected:
            answers = [*engine.answer_images(Classify(), model, shades, indices)]
            assert (model.made_from in engine.feeds.started) == there
            rows = {index: row for part in answers for index, row in zip(part.indices, part.values, strict=True)}
            assert {index: row.tolist() for index, row in rows.items()} == {index: [index, 1] for index in indices[:-1]}
            assert [index for part in answers for index in part.errors] == [COUNT - 1]
        engine.release(model)
        assert not engine.feeds.started
        assert Feeds().processes(model, 1) is None
