"""Models behind a server: what all backends share, whatever the wire format."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import chain
from typing import Any, ClassVar
from weakref import finalize

from eyechart.errors import ModelError
from eyechart.models.options import names_of
from eyechart.models.served import options
from eyechart.models.served.api import Api
from eyechart.models.served.client import Client
from eyechart.models.served.failures import HELLO, Probe, build_probe
from eyechart.models.served.half_price import BatchApi, BatchRunner
from eyechart.models.served.limiter import RequestLimiter
from eyechart.models.served.request_group import RequestGroup, write_or_fail
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Answer, Generator, Identity, Request, Usage

AHEAD = 2  # times as many requests are prepared as may be under way
HELLO_TOKENS = 16


class ServedGenerator(Generator):
    """Generates answers on a server."""

    provider: ClassVar[options.Provider]
    declared_options: ClassVar[type[options.CommonOptions]]

    structured = True
    loads = 0

    def __init__(self, spec: ModelSpec, *, offline: bool = False, **_: object) -> None:
        options.check_options(spec, self.provider, names_of(self.declared_options))
        given = self.declared_options.read(spec)
        self.options = options.parse_options(spec, given, self.provider)
        if _is_missing(self.provider.package):  # its import takes a second, so not before the first question
            raise ModuleNotFoundError(f"No module named '{self.provider.package}'", name=self.provider.package)
        self.spec, self.offline = spec, offline
        self.batch_size = self.options.concurrency
        self._gate = RequestLimiter(self.options.concurrency, self.options.budget)

    @abstractmethod
    def create_api(self) -> Api:
        """Return the API of the backend."""

    @cached_property
    def _line(self) -> Client:
        if self.offline and not self.options.is_local:
            raise ModelError(
                f"'{self.spec}' answers from {self.options.base_url}, but --eye-offline allows connections to this "
                "machine alone. Leave it out, or serve the model here."
            )
        self._api = self.create_api()
        line = Client(self._api)
        self._gate.rebind()
        finalize(self, line.close)
        return line

    @cached_property
    def identity(self) -> Identity:
        """The model's identity; the server is asked for its model name once, unless `served` gives it."""
        return Identity(
            backend=self.provider.backend,
            name=self.spec.options.get("served") or self._hello(),
            weights_sha256="",
            revision=self.spec.options.get("revision", ""),
            dtype="",
            device="",
            processor=self.options.identity,
            libraries={},  # what is sent does not depend on them, and answers that were paid for stay good
        )

    def _hello(self) -> str:
        """Send a short request with the settings of all requests, to find a wrong key or setting early."""
        group = RequestGroup(self._line, self._gate)
        write = partial(self._api.write, Request((HELLO,)), HELLO_TOKENS, None)
        answer = self._line.submit(group.answer(write)).result()
        if answer.error and not group.served:
            raise ModelError(f"'{self.spec}' does not answer at {self.options.base_url}: {answer.error}.")
        return group.served or self.options.model

    def generate(
        self, requests: Iterable[Request], max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[int, Answer]]:
        """Yield answers with their requests' indices as they arrive; requests are read when a slot is free.

        What ends the run (a key that is not accepted, a budget that is spent, a server that is gone) is raised after
        every answer that was still to come.
        """
        if self.options.batch:
            group = RequestGroup(self._line, self._gate, self.identity.name)
            yield from self._generate_batch(group, self.options.batch, requests, max_tokens, schema)
            return
        _ = self._line  # which creates the API
        first, requests = _peek(requests)
        write = partial(self._api.write, max_tokens=max_tokens, schema=schema)
        probe = build_probe(write, has_images=bool(first and first.images))
        yield from self._answers((partial(write, request) for request in requests), probe)

    def _answers(self, writes: Iterable[Callable[[], Mapping[str, Any]]], probe: Probe) -> Iterator[tuple[int, Answer]]:
        """Yield answers to the bodies that some functions write, with the functions' indices, as they arrive."""
        group = RequestGroup(self._line, self._gate, self.identity.name, probe)
        waiting: dict[Future[Answer], int] = {}
        try:
            for index, write in enumerate(writes):
                waiting[self._line.submit(group.answer(write))] = index
                yield from _done(waiting, group, patiently=len(waiting) >= AHEAD * self.options.concurrency)
                if group.ended:
                    break
            while waiting:
                yield from _done(waiting, group, patiently=True)
        finally:
            for task in waiting:
                task.cancel()
        if group.ended:
            raise group.ended

    def _generate_batch(
        self,
        group: RequestGroup,
        batch: options.BatchOptions,
        requests: Iterable[Request],
        max_tokens: int,
        schema: Mapping[str, Any] | None,
    ) -> Iterator[tuple[int, Answer]]:
        """Yield answers when the batches have ended that have their requests."""
        if not isinstance(self._api, BatchApi):
            raise ModelError(f"{self.provider.backend} has no batches here. Leave out batch=true.")
        bodies = (write_or_fail(partial(self._api.write, request, max_tokens, schema)) for request in requests)
        yield from BatchRunner(self._line, self._api, group, batch).answer(enumerate(bodies))

    @property
    def concurrency(self) -> int:
        """The number of concurrent requests that the server gets at present."""
        return self._gate.concurrency.limit

    @property
    def session_usage(self) -> Usage:
        """The tokens that this session used."""
        return self._gate.spent

    def on_cached_usage(self, usages: Mapping[str, Usage]) -> None:
        """Count the tokens of stored answers against the budget, those of each request once."""
        self._gate.on_cached_usage(usages)

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of tokens in USD, None without prices."""
        return self.options.budget.cost(usage)

    @property
    def model_note(self) -> str:
        """Where the prices are from, or why there are none."""
        return self.options.price_note

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        if line := self.__dict__.pop("_line", None):
            line.close()


def _done(waiting: dict[Future[Answer], int], group: RequestGroup, *, patiently: bool) -> Iterator[tuple[int, Answer]]:
    """Yield the finished requests; a ModelError is raised by the request group.

    The next answer is asked for when the one before is kept: that is what makes room.
    """
    ready, _ = wait(waiting, timeout=None if patiently else 0, return_when=FIRST_COMPLETED)
    for task in ready:
        index = waiting.pop(task)
        if not isinstance(task.exception(), ModelError):
            yield index, task.result()
            group.release()


def _peek(requests: Iterable[Request]) -> tuple[Request | None, Iterable[Request]]:
    """Return the first request, None if there is none, and all of them."""
    iterator = iter(requests)
    first = next(iterator, None)
    return first, iterator if first is None else chain((first,), iterator)


def _is_missing(package: str) -> bool:
    try:
        return find_spec(package) is None
    except ModuleNotFoundError:  # of the package around it
        return True
