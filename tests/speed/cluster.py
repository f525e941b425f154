"""How well a Ray cluster on this machine is kept busy: `python -m tests.speed.cluster [ACTORS] [NAP] [BATCHES]`.

The actors sleep NAP seconds for each batch of 64 images and return 1,000 numbers for each, so that all else is the cost
of the engine. Efficiency is the time that the naps take on all actors, divided by the time of the job on a warm pool.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

from eyechart.inference.engines.interface import Engine
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.engines.pools import PoolEngine
from eyechart.inference.engines.ray import RayOptions, RayPools
from eyechart.inference.requests import Classify
from eyechart.inference.runner import Runner
from eyechart.inference.store import Store
from eyechart.models.registry import create_model
from eyechart.spec import parse_spec

from .sleeping import BATCH, many_images


class Cost(NamedTuple):
    """Seconds of wall time, and of this process."""

    wall: float
    cpu: float


class Bench:
    """Jobs of one model, each about other images, in one store."""

    def __init__(self, folder: Path, engine: Engine, nap: float) -> None:
        self.folder, self.engine = folder, engine
        self.model = create_model(parse_spec(f"tests.speed.sleeping:Sleeping[nap={nap}]"), device="cpu", offline=True)
        self.jobs = 0

    def run(self, batches: int) -> Cost:
        """Answer about so many batches of images, none of which is stored."""
        self.jobs += 1
        place = self.folder / str(self.jobs)
        place.mkdir(parents=True)
        dataset = many_images(place, batches * BATCH)
        runner = Runner(Store(place / "store"), None, 0, lambda *_: None, self.engine)
        return cost(lambda: runner.run(Classify(), self.model, dataset))


def cost(job: Callable[[], object]) -> Cost:
    """The cost of a job."""
    wall, cpu = perf_counter(), process_time()
    job()
    return Cost(perf_counter() - wall, process_time() - cpu)


def main(actors: int = 8, nap: float = 0.5, batches: int = 0) -> None:
    """Print the figures."""
    batches = batches or 40 * actors
    engine = PoolEngine(RayPools(RayOptions("local", actors)))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder) / "ray", engine, nap)
        start = bench.run(1).wall
        bench.run(2 * actors)  # until all actors have answered
        second = min(bench.run(1).wall for _ in range(3)) - nap
        found = bench.run(batches)
        print(f"{actors} actors, {batches} batches of {BATCH}, naps of {nap} s")
        print(f"- start: {start:.1f} s; another question on the warm model: {second:.2f} s more than its nap")
        print(f"- efficiency: {nap * batches / actors / found.wall:.3f}")
        print(f"- this process: {1000 * found.cpu / batches:.2f} ms of CPU for each batch")
        if actors == 1:
            alone = Bench(Path(folder) / "local", LocalEngine(), nap).run(batches)
            print(f"- time divided by that of the local engine: {found.wall / alone.wall:.3f}")
    engine.close()


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, float, int), sys.argv[1:], strict=False)))
