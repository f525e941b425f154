"""How well a Ray cluster here is kept busy: `python -m tests.speed.cluster [ACTORS] [NAP] [BATCHES] [SIZE]`.
`… computing` compares two actors that compute with one.

The actors sleep NAP seconds for each batch of SIZE images and return 1,000 numbers for each, so that all else is the
cost of the engine. Efficiency is the time of the naps on all actors, divided by the time of the job on a warm pool.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
import psutil
import ray

from eyechart.inference.engines.interface import Engine
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.engines.pools import PoolEngine
from eyechart.inference.engines.ray.cluster_pool import ActorPool, RayOptions, RayPools
from eyechart.inference.requests.row_requests import Classify
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec
from tests.plugins.ray_cluster import start_cluster

from .sleeping import many_images


class Cost(NamedTuple):
    """Seconds of wall time, and of this process."""

    wall: float
    cpu: float


class Bench:
    """Jobs of one model, each about other images, in one store."""

    def __init__(self, folder: Path, engine: Engine, nap: float, size: int, kind: str = "Sleeping") -> None:
        self.folder, self.engine, self.size = folder, engine, size
        spec = parse_spec(f"tests.speed.sleeping:{kind}[nap={nap},batch_size={size}]")
        self.model = create_model(spec, device="cpu", offline=True)
        self.jobs = 0

    def run(self, batches: int) -> tuple[Cost, Cost]:
        """Answer about so many batches of images, none of which is stored; return the costs until all are, and after.

        What comes after the last answer is to seal the entry and to read it, which depends on the disk.
        """
        self.jobs += 1
        location = self.folder / str(self.jobs)
        location.mkdir(parents=True)
        dataset = many_images(location, batches * self.size)
        times = [(perf_counter(), process_time())]
        runner = Runner(
            Store(location / "store"),
            None,
            0,
            lambda *_: times.append((perf_counter(), process_time())),
            lambda: self.engine,
        )
        runner.run(Classify(), self.model, dataset)
        times[2:-1] = []
        (begin, _, last), end = times, (perf_counter(), process_time())
        return Cost(*np.subtract(last, begin).tolist()), Cost(*np.subtract(end, last).tolist())


@contextmanager
def connection() -> Iterator[None]:
    """End the connection to a cluster before the cluster: Ray would end this process without a word."""
    try:
        yield
    finally:
        ray.shutdown()


def count_ready(engine: PoolEngine) -> int:
    """Return the number of actors that can answer."""
    (shared,) = engine.pools.shared.values()
    assert isinstance(shared.pool, ActorPool)
    return len(shared.pool.ready)


def actor_processes() -> list[psutil.Process]:
    """Return the processes of actors on this machine."""
    named = [(process, process.info["cmdline"] or [""]) for process in psutil.process_iter(["cmdline"])]
    return [process for process, words in named if words[0].startswith("ray::ModelActor")]


def actor_cpu() -> float:
    """Return the CPU seconds of all actors."""
    return sum(sum(process.cpu_times()[:2]) for process in actor_processes())


def main(actors: int = 8, nap: float = 0.5, batches: int = 0, size: int = 64) -> None:
    """Print the figures."""
    batches = batches or 40 * actors
    with (
        tempfile.TemporaryDirectory() as folder,
        start_cluster(
            {"num_cpus": 0}, {"num_cpus": actors}
        ) as cluster,  # one for each actor, whatever this machine has
        connection(),
        closing(PoolEngine(RayPools(RayOptions(cluster.address, actors)))) as engine,
    ):
        bench = Bench(Path(folder) / "ray", engine, nap, size)
        start = bench.run(1)[0].wall
        while count_ready(engine) < actors:
            bench.run(2 * actors)
        second = min(sum(cost.wall for cost in bench.run(1)) for _ in range(3)) - nap
        before = actor_cpu()
        found, after = bench.run(batches)
        print(f"{actors} actors, {batches} batches of {size}, naps of {nap} s")
        print(f"- start: {start:.1f} s; another question on the warm model: {second:.2f} s more than its nap")
        print(f"- efficiency until the last answer is stored: {nap * batches / actors / found.wall:.3f}")
        print(f"- CPU of this process for each batch: {1000 * found.cpu / batches:.2f} ms, and of actors: "
              f"{1000 * (actor_cpu() - before) / batches:.2f} ms")  # fmt: skip
        print(
            f"- to seal and read the entry: {after.wall:.2f} s, CPU for each batch {1000 * after.cpu / batches:.2f} ms"
        )
        if actors == 1:
            alone, _ = Bench(Path(folder) / "local", LocalEngine(), nap, size).run(batches)
            print(f"- time divided by that of the local engine: {found.wall / alone.wall:.3f}")


def computing(batches: int = 60, work: float = 5, size: int = 64) -> None:
    """Print how much faster two actors compute than one."""
    walls = []
    for actors in (1, 2):
        with (
            tempfile.TemporaryDirectory() as folder,
            start_cluster({"num_cpus": 0}, {"num_cpus": 2}) as cluster,
            connection(),
            closing(PoolEngine(RayPools(RayOptions(cluster.address, actors)))) as engine,
        ):
            bench = Bench(Path(folder), engine, work, size, "Computing")
            bench.run(1)
            while count_ready(engine) < actors:
                bench.run(2 * actors)
            walls.append(min(bench.run(batches)[0].wall for _ in range(3)))
    print(f"{batches} batches of a model that computes: two actors take {walls[0] / walls[1]:.2f} times less than one")


if __name__ == "__main__":
    computing() if sys.argv[1:] == ["computing"] else main(
        *(kind(text) for kind, text in zip((int, float, int, int), sys.argv[1:], strict=False))
    )
