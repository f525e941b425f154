"""Pools of actors on a Ray cluster: each answers with one model and is fed with work units by this process."""

import logging
import os
import socket
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any

from eyechart.errors import EyechartError, ModelError
from eyechart.inference.engines.pools import Pools, differences
from eyechart.inference.engines.processes.placement import gpus_per_process, refuse_own_copies
from eyechart.inference.engines.work_units import (
    IN_FLIGHT,
    LOST,
    Ended,
    Job,
    Received,
    WorkUnit,
    answer_work_units,
    can_take,
)
from eyechart.inference.requests.text_requests import Generate
from eyechart.messages.install_commands import install_command
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Identity, Model

ROOM_TIMEOUT = 3.0  # seconds until the resources of an actor that ended are free
POLL = 5.0  # seconds between two looks at a cluster without room, and at whether the pool is closed
PATIENCE = 600.0  # seconds without any actor before a case ends
CONNECTING = Lock()
PASSED_ON = ("EYECHART", "HF_", "PYTHONPATH", "TORCH", "TRANSFORMERS", "VLLM_")  # environment variables


@dataclass(frozen=True)
class RayOptions:
    """The address of a cluster, "local" for this machine alone, and the number of actors of each model, 0 for auto.

    `gpus` are the GPUs of an actor by backend, for backends that do not have the default.
    """

    address: str
    actors: int = 0
    gpus: Mapping[str, float] = field(default_factory=dict)
    offline: bool = False


class RayPools:
    """Starts the actors of models on a Ray cluster."""

    def __init__(self, options: RayOptions) -> None:
        self.options = options

    def __call__(self, model: Model, spec: ModelSpec, others: Pools) -> "ActorPool":
        """Start the actors of a model. A second model of this thread, which helps the first one, gets room first."""
        refuse_own_copies(spec, "--eye-ray")
        ray = connect(self.options)
        placement = _place_actors(ray, spec, self.options)
        make_room = partial(_make_room_for, ray, spec, placement.resources, others)
        helps = others.others_of_thread(spec)
        if helps:
            make_room()
        pool = ActorPool.start(ray, spec, model.identity, placement, self.options.offline)
        pool.make_room = make_room if helps else None
        pool.others_at_work = partial(others.others_at_work, spec)
        return pool


def _make_room_for(ray: Any, helper: ModelSpec, resources: Mapping[str, float], others: Pools) -> None:
    """End idle actors of other models until one actor of a helper can be placed."""
    needs = {"CPU": resources.get("num_cpus", 0.0), "GPU": resources.get("num_gpus", 0.0)}
    deadline = 0.0  # what is not free now stays so, until an actor ends
    for spec in [*others.shared]:
        if spec == helper:
            continue
        with others.hold_idle(spec) as pool:
            if not isinstance(pool, ActorPool):
                continue
            while pool.actors and not _has_room(ray, needs, deadline):
                pool.end_one()
                deadline = monotonic() + ROOM_TIMEOUT
            if not pool.actors:
                others.forget(spec)


def connect(options: RayOptions) -> Any:
    """Connect to the cluster once, and return the module `ray`. Raises ModelError if there is none."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ModelError(f"--eye-ray needs the package 'ray'. Install it with: {install_command('ray')}") from error
    with CONNECTING:
        if not ray.is_initialized():
            _start_session(ray, options.address)
    return ray


def _start_session(ray: Any, address: str) -> None:
    """Connect to the cluster at an address. Raises ModelError if there is none."""
    _check_address(address)
    try:
        ray.init(
            address=address,
            logging_level=logging.ERROR,
            log_to_driver=False,
            configure_logging=False,
            include_dashboard=False if address == "local" else None,
        )
    except (ConnectionError, ValueError) as error:
        raise _no_cluster(address, _first_line(error)) from error


def _check_address(address: str) -> None:
    """Raise ModelError if nothing listens at HOST:PORT: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError as error:
            raise _no_cluster(address, error.strerror or _first_line(error)) from error


def _no_cluster(address: str, reason: str) -> ModelError:
    """Return the error for an address without a cluster."""
    return ModelError(
        f"--eye-ray={address}: there is no Ray cluster ({reason}). Start one with 'ray start --head', or use "
        "--eye-ray=local for this machine alone."
    )


def _first_line(error: BaseException) -> str:
    """Return the first line of an error's message, without its full stop."""
    return next(iter(str(error).splitlines()), type(error).__name__).rstrip(".: ")


@dataclass(frozen=True)
class _Placement:
    """How many actors a model has, what Ray reserves for each, and the environment variables of each."""

    count: int
    resources: Mapping[str, float]
    variables: Mapping[str, str] = field(default_factory=dict)


def _place_actors(ray: Any, spec: ModelSpec, options: RayOptions) -> _Placement:
    """Return the placement of a model's actors: each has GPUs, or its part of the threads of a node without GPUs.

    More actors than there is room for wait for it. Ray reports them as demand, so that a cluster that grows adds nodes.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    wanted = options.gpus.get(spec.backend, 0.0)
    if wanted or any(node.get("GPU", 0) for node in nodes):
        amount = wanted or gpus_per_process(spec)
        room = sum(int(node.get("GPU", 0) // max(1, amount)) for node in nodes)
        return _Placement(options.actors or max(1, room), {"num_gpus": amount, "num_cpus": 1})
    processors = [int(node["CPU"]) for node in nodes if node.get("CPU")] or [1]
    count = options.actors or len(processors)
    threads = max(1, min(min(processors), sum(processors) // count))
    # one processor is reserved, whatever threads it has, so that the encoder of a protocol fits beside the model
    return _Placement(count, {"num_cpus": 1}, {"OMP_NUM_THREADS": str(threads)})


def _has_room(ray: Any, needs: Mapping[str, float], deadline: float) -> bool:
    """Return whether the cluster has free resources; an actor that ended frees its own until the deadline."""
    while True:
        free = ray.available_resources()
        if all(free.get(name, 0.0) >= amount for name, amount in needs.items()):
            return True
        if monotonic() > deadline:
            return False
        sleep(0.1)


@dataclass
class ActorPool:
    """The actors of one model. An actor gets work units after its model has the expected identity.

    Ray restarts a lost actor; until it is back, it has no work units.
    """

    ray: Any
    name: str
    identity: Identity
    actors: list[Any]
    jobs: int = 0
    loads: int = 0
    ready: "list[_Ready]" = field(default_factory=list)
    checks: dict[Any, Any] = field(default_factory=dict)
    workers: "dict[Any, _Ready]" = field(default_factory=dict)
    job: Job | None = None
    sent: tuple[int, list[Any]] = (0, [])
    actual: Identity | None = None  # that of a process on the cluster, with its device
    waited: float = 0.0  # seconds without any actor
    closed: bool = False
    make_room: Callable[[], None] | None = None
    others_at_work: Callable[[], bool] = lambda: False

    @classmethod
    def start(cls, ray: Any, spec: ModelSpec, identity: Identity, placement: _Placement, offline: bool) -> "ActorPool":
        """Start the actors of a model."""
        from eyechart.inference.engines.ray.actor import ModelActor

        variables = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
        environment = {"env_vars": {**variables, **placement.variables}}
        actor_class = ray.remote(ModelActor).options(
            max_restarts=-1,
            max_task_retries=0,
            max_concurrency=IN_FLIGHT,
            runtime_env=environment,
            **placement.resources,
        )
        actors = [actor_class.remote(spec, offline, Path.cwd()) for _ in range(placement.count)]
        pool = cls(ray, str(spec), identity, actors)
        for actor in actors:
            pool.check(actor)
        return pool

    @property
    def size(self) -> int:
        """The number of actors that are not refused."""
        return len(self.actors)

    @property
    def streams(self) -> bool:
        """Whether a work unit of the job has so many answers that they come one by one."""
        return self.job is not None and isinstance(self.job.request, Generate)

    def check(self, actor: Any) -> None:
        """Ask an actor for the identity of its model; the answer comes when Ray has placed and started it."""
        self.checks[actor.describe.options(max_task_retries=-1).remote()] = actor

    def answer(self, job: Job, work_units: Sequence[WorkUnit], model: Model) -> Iterator[Received[Any]]:
        """Yield the answers to the work units of a job."""
        self.jobs += 1
        self.job, self.sent = job, (self.jobs, [self.ray.put(bytes(ForkingPickler.dumps(job.sent_once)))])
        try:
            yield from answer_work_units(work_units, self)
        finally:
            for ref, worker in self.workers.items():
                self.ray.cancel(ref)
                worker.work_units.clear()
            self.workers.clear()
            model.remote_loads, model.remote_identity = self.count_loads(), self.actual

    def submit(self, work_unit: WorkUnit) -> bool:
        """Give a work unit to the actor with the fewest work units; return False if none has room for it."""
        free = [worker for worker in self.ready if can_take(worker.work_units.values(), work_unit)]
        worker = min(free, key=lambda worker: len(worker.work_units), default=None)
        if worker is None:
            return False
        assert self.job
        message = (*self.sent, work_unit.numbers, self.job.images(work_unit))
        if self.streams:
            ref = worker.actor.stream.options(num_returns="streaming").remote(*message)
        else:
            ref = worker.actor.answer.remote(*message)
        worker.work_units[ref] = work_unit
        self.workers[ref] = worker
        return True

    def wait(self) -> Iterator[Received[Any] | Ended]:
        """Wait for answers, lost actors and actors that are ready."""
        if self.closed:  # by another thread: the session was interrupted
            raise ModelError(f"{self.name}: its processes were ended. Run the same command again.")
        done, _ = self.ray.wait([*self.workers, *self.checks], num_returns=1, timeout=POLL)
        if done or self.ready or self.others_at_work():  # those end some time, and leave their room
            self.waited = 0.0
        else:
            self.waited += POLL
            if self.make_room:
                self.make_room()
        if self.waited >= PATIENCE:
            raise ModelError(
                f"{self.name}: Ray placed no process of the model for {PATIENCE:.0f} s. Look at `ray status`: the "
                "cluster may have no free GPU or processor. All answers so far are stored; run the same command again."
            )
        for ref in done:
            if ref in self.checks:
                self.admit(ref, self.checks.pop(ref))
            elif ref in self.workers:
                yield from self.receive(ref, self.workers[ref])

    def admit(self, ref: Any, actor: Any) -> None:
        """Let an actor have work units if its model is the expected one. Raises ModelError if no actor is left."""
        try:
            identity, node = self.result(ref)
        except self.ray.exceptions.ActorDiedError as error:
            self.refuse(actor, f"a process cannot start ({_first_line(error)})")
        except self.ray.exceptions.RayActorError:  # it was lost once more
            self.check(actor)
        else:
            if wrong := differences(self.identity, identity):
                self.refuse(actor, f"the model on the node {node} is not that of this machine: {wrong}")
            else:
                self.ready.append(_Ready(actor))
                self.actual = identity

    def refuse(self, actor: Any, reason: str) -> None:
        """End an actor, with a warning. Raises ModelError if it is the last."""
        self.actors.remove(actor)
        self.ray.kill(actor)
        if not self.actors:
            raise ModelError(f"{self.name}: {reason}. Install the same packages and weights on all nodes.")
        warnings.warn(f"{self.name}: {reason}. This process is not used.", RuntimeWarning, stacklevel=2)

    def receive(self, ref: Any, worker: "_Ready") -> Iterator[Received[Any] | Ended]:
        """Yield the answers of a work unit that have come, and its end."""
        try:
            answers = self.result(next(ref) if self.streams else ref)
        except StopIteration:
            answers = []
        except self.ray.exceptions.RayActorError:
            yield from self.lose(worker)
            return
        yield from (Received(*answer) for answer in answers)
        if not (self.streams and answers):
            del self.workers[ref]
            yield Ended(worker.work_units.pop(ref))

    def lose(self, worker: "_Ready") -> Iterator[Ended]:
        """Yield the work units of a lost actor; it has work units again when it is back."""
        self.ready.remove(worker)
        self.check(worker.actor)
        for index, (ref, work_unit) in enumerate(worker.work_units.items()):
            del self.workers[ref]
            yield Ended(work_unit, LOST, first=index == 0)

    def result(self, ref: Any) -> Any:
        """Return a value from the cluster; an error of eyechart is raised as it was there."""
        try:
            return self.ray.get(ref)
        except self.ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, EyechartError):
                raise cause from None
            raise ModelError(f"{self.name}: {type(cause).__name__} on the cluster: {cause}.") from error

    def count_loads(self) -> int:
        """Return how often the actors read the weights of the model, as far as they still answer."""
        refs = [worker.actor.loads.remote() for worker in self.ready]
        done, _ = self.ray.wait(refs, num_returns=len(refs), timeout=10) if refs else ([], [])
        loads = 0
        for ref in done:
            with suppress(self.ray.exceptions.RayActorError):  # the actor was lost or ended meanwhile
                loads += self.result(ref)
        return loads

    def end_one(self) -> None:
        """End one actor, which has no work unit."""
        actor = self.actors.pop()
        self.ready = [worker for worker in self.ready if worker.actor is not actor]
        self.checks = {ref: other for ref, other in self.checks.items() if other is not actor}
        self.ray.kill(actor)

    def close(self) -> None:
        """End the actors."""
        self.closed = True
        for actor in self.actors:
            self.ray.kill(actor)


@dataclass(eq=False)
class _Ready:
    """An actor that can answer, and its work units by the references to their answers."""

    actor: Any
    work_units: dict[Any, WorkUnit] = field(default_factory=dict)
