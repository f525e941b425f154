"""The speed of two models: paired rounds in turns, by a clock of the test, and what other processes took."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.inference.engines import speed
from eyechart.inference.engines.speed import IMAGES, ROUNDS, Speed, compare_speeds
from eyechart.models.types import Classifier, Floats, Model


class Clock:
    """A clock that stands still but for the seconds that models take."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, list[str]()

    def __call__(self) -> float:
        return self.now


class Timed(Classifier):
    """A classifier that takes so many seconds in each call; the first call is slow."""

    def __init__(self, name: str, clock: Clock, seconds: Sequence[float], batch_size: int = IMAGES) -> None:
        self.name, self.clock, self.seconds, self.batch_size = name, clock, [100.0, *seconds], batch_size
        self.sizes: list[int] = []

    def prepare(self, image: Image.Image) -> Any:
        self.clock.now += 1000  # preparation is in no round
        return np.zeros(3)

    def classify(self, images: Sequence[Any]) -> Floats:
        self.clock.calls.append(self.name)
        self.sizes.append(len(images))
        self.clock.now += self.seconds.pop(0)
        return np.zeros((len(images), 2), np.float32)


def compare_speed(original: Model, variant: Model, clock: Clock) -> Speed | None:
    (found,) = compare_speeds(original, [variant], open_sample("sample"), clock)
    return found


def test_rounds_are_taken_in_turns_and_the_ratio_is_the_median_of_the_pairs() -> None:
    clock = Clock()
    first = Timed("a", clock, [1, 2, 3, 4, 5, 6, 7, 8, 9])  # a machine that becomes slower
    second = Timed("b", clock, [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 9])
    result = compare_speed(first, second, clock)
    assert result is not None
    assert clock.calls == ["a", "b"] * (ROUNDS + 1)
    assert (result.ratio, result.rounds) == (2, (1, 2))
    assert (result.original, result.images_per_second) == (IMAGES / 5, IMAGES / 2.5)
    assert {*first.sizes} == {*second.sizes} == {IMAGES}
    assert result.threads >= 1


def test_a_model_that_answers_one_by_one_is_asked_one_by_one() -> None:
    clock = Clock()
    ones = Timed("b", clock, [0.25] * IMAGES * (ROUNDS + 1), batch_size=1)
    result = compare_speed(Timed("a", clock, [1] * ROUNDS), ones, clock)
    assert result is not None
    assert {*ones.sizes} == {1}
    assert result.ratio == pytest.approx(1 / (0.25 * IMAGES))


def test_a_model_without_images_of_its_own_has_no_speed() -> None:
    clock = Clock()

    class Words(Model):
        """A model that is no classifier."""

    assert compare_speed(Timed("a", clock, [1]), Words(), clock) is None
    assert clock.calls == []
    models = [Words(), Timed("b", clock, [1] * ROUNDS)]
    first, second = compare_speeds(Timed("a", clock, [2] * ROUNDS), models, open_sample("sample"), clock)
    assert first is None
    assert second is not None
    assert second.ratio == 2


def test_the_share_of_other_processes_is_that_of_all_processors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(speed, "PROCESSOR_TIMES", tmp_path / "stat")
    times = iter([(1.0, 0.0, 0, 0, 0), (2.0, 1.0, 0, 0, 0)])
    monkeypatch.setattr(speed.os, "times", lambda: next(times))
    ticks = speed.os.sysconf("SC_CLK_TCK")
    clock = Clock()

    class Busy(Timed):
        """Other processes take 6 of 10 seconds of the processors while it answers."""

        def classify(self, images: Sequence[Any]) -> Floats:
            if len(self.sizes) == ROUNDS:
                (tmp_path / "stat").write_text(f"cpu {8 * ticks} 0 0 {2 * ticks} 0 0 0 0 0 0\ncpu0 1\n")
            return super().classify(images)

    (tmp_path / "stat").write_text("cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 1\n")
    result = compare_speed(Busy("a", clock, [1] * ROUNDS), Timed("b", clock, [1] * ROUNDS), clock)
    assert result is not None
    assert result.others == pytest.approx(0.6)
    (tmp_path / "stat").unlink()
    result = compare_speed(Timed("a", clock, [1] * ROUNDS), Timed("b", clock, [1] * ROUNDS), clock)
    assert result is not None
    assert np.isnan(result.others)
