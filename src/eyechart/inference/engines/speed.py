"""How fast models answer about the same prepared images, in turns on the same machine."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ImageError
from eyechart.inference.engines.local import call, preparation
from eyechart.inference.engines.preparation.prepare import prefetch_images
from eyechart.inference.requests.row_requests import BaseRequest, Classify, Encode
from eyechart.models.exported.model import divided_threads
from eyechart.models.types import Classifier, ImageEncoder, Model
from eyechart.statistics.intervals import Interval

ROUNDS = 9
IMAGES = 16  # of a round
PROCESSOR_TIMES = Path("/proc/stat")


class Speed(NamedTuple):
    """The images per second of a model and its original, medians of the rounds, and their ratio.

    `ratio` is the median of the ratios of paired rounds, and `rounds` the smallest and the largest of these. `others`
    is the share of the machine's processors that other processes took meanwhile, NaN if it is not known.
    """

    images_per_second: float
    original: float
    ratio: float
    rounds: Interval
    threads: int
    others: float


def compare_speeds(
    original: Model, variants: Sequence[Model], dataset: Dataset, clock: Callable[[], float] = perf_counter
) -> list[Speed | None]:
    """Return the speed of each variant beside the original; None for what is no classifier or image encoder.

    Images are read and prepared before. Every model answers once before the first round; in a round all of them answer,
    one after the other.
    """
    first, *others = [_answering(model, dataset) for model in (original, *variants)]
    measured = [answer for answer in others if answer is not None]
    if first is None or not measured:
        return [None] * len(variants)
    threads = divided_threads()
    with _torch_threads(threads):
        for answer in (first, *measured):
            answer()
        before = _processor_seconds()
        rounds = [[_time(answer, clock) for answer in (first, *measured)] for _ in range(ROUNDS)]
        share = _share_of_others(before, _processor_seconds())
    of_original, *seconds = zip(*rounds, strict=True)
    speeds = iter([_make_speed(of_original, times, threads, share) for times in seconds])
    return [None if answer is None else next(speeds) for answer in others]


def _make_speed(original: Sequence[float], variant: Sequence[float], threads: int, others: float) -> Speed:
    ratios = [first / second for first, second in zip(original, variant, strict=True)]
    ends = Interval(min(ratios), max(ratios))
    return Speed(IMAGES / median(variant), IMAGES / median(original), median(ratios), ends, threads, others)


def _answering(model: Model, dataset: Dataset) -> Callable[[], None] | None:
    """Return a function that lets a model answer about the images of a round; None for other kinds of models."""
    if not isinstance(model, Classifier | ImageEncoder):
        return None
    request: BaseRequest = Classify() if isinstance(model, Classifier) else Encode()
    step = max(1, len(dataset) // IMAGES)
    indices = [*range(0, len(dataset), step)][:IMAGES]
    prepared = prefetch_images(dataset, indices, len(indices), preparation(request, model))
    items = [item for batch in prepared for _, item in batch if not isinstance(item, ImageError)]
    if not items:
        return None
    items = [items[number % len(items)] for number in range(IMAGES)]

    def answer() -> None:
        for start in range(0, IMAGES, model.batch_size):
            call(request, model, items[start : start + model.batch_size])

    return answer


def _time(answer: Callable[[], None], clock: Callable[[], float]) -> float:
    start = clock()
    answer()
    return clock() - start


@contextmanager
def _torch_threads(threads: int) -> Iterator[None]:
    """Let PyTorch, where it is imported, compute with as many threads as the other engines do."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _processor_seconds() -> Sequence[float]:
    """Return the seconds of the machine's processors, of those that are busy, and of this process; () if unknown."""
    try:
        first = PROCESSOR_TIMES.read_text(encoding="ascii").partition("\n")[0]
        ticks = [int(word) / os.sysconf("SC_CLK_TCK") for word in first.split()[1:9]]
    except (OSError, ValueError):
        return ()
    return sum(ticks), sum(ticks) - ticks[3] - ticks[4], sum(os.times()[:4])


def _share_of_others(before: Sequence[float], after: Sequence[float]) -> float:
    if not before or not after or after[0] <= before[0]:
        return float("nan")
    total, busy, own = (second - first for first, second in zip(before, after, strict=True))
    return max(0.0, busy - own) / total
