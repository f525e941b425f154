"""Models behind an OpenAI-compatible server: `openai[MODEL,base_url=http://localhost:8000/v1]`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any, ClassVar
from weakref import finalize

from eyechart.errors import ModelError
from eyechart.models.model_option import AnyOption
from eyechart.models.openai import messages, options
from eyechart.models.openai.client import Client
from eyechart.models.openai.limiter import RequestLimiter
from eyechart.models.openai.request_group import RequestGroup
from eyechart.models.types import Answer, Generator, Identity, Request, Usage
from eyechart.spec import ModelSpec

AHEAD = 2  # times as many requests are prepared as may be under way
HELLO = Request(("Answer with the word OK.",))
HELLO_TOKENS = 16


class OpenAiGenerator(Generator):
    """Generates answers on a server."""

    declared_options: ClassVar[tuple[AnyOption, ...]] = options.DECLARED

    structured = True
    loads = 0

    @property
    def thinks(self) -> bool:
        """Whether answers begin with thinking, which counts as part of them."""
        return self.options.reasoning

    def __init__(self, spec: ModelSpec, *, offline: bool = False, **_: object) -> None:
        self.options = options.parse_options(spec)
        if find_spec("openai") is None:  # its import takes a second, so not before the first question
            raise ModuleNotFoundError("No module named 'openai'", name="openai")
        self.spec, self.offline = spec, offline
        self.batch_size = self.options.concurrency
        self._gate = RequestLimiter(self.options.concurrency, self.options.budget)

    @cached_property
    def _line(self) -> Client:
        if self.offline and not self.options.is_local:
            raise ModelError(
                f"'{self.spec}' answers from {self.options.base_url}, but --eye-offline allows connections to this "
                "machine alone. Leave it out, or serve the model here."
            )
        line = Client(self.options)
        self._gate.rebind()
        finalize(self, line.close)
        return line

    @cached_property
    def identity(self) -> Identity:
        """The model's identity; the server is asked for its model name once, unless `served` gives it."""
        return Identity(
            backend="openai",
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
        answer = self._line.submit(group.answer(partial(self._body, HELLO, HELLO_TOKENS, None))).result()
        if answer.error and not group.served:
            raise ModelError(f"'{self.spec}' does not answer at {self.options.base_url}: {answer.error}.")
        return group.served or self.options.model

    def _body(self, request: Request, max_tokens: int, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        turn = {"model": self.options.model, "messages": [messages.build_message(request)]}
        return turn | self.options.decoding(max_tokens) | messages.response_format(schema)

    def generate(
        self, requests: Iterable[Request], max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[int, Answer]]:
        """Yield answers with their requests' indices as they arrive; requests are read when a slot is free.

        What ends the run (a key that is not accepted, a budget that is spent, a server that is gone) is raised after
        every answer that was still to come.
        """
        group = RequestGroup(self._line, self._gate, self.identity.name)
        waiting: dict[Future[Answer], int] = {}
        try:
            for place, request in enumerate(requests):
                coroutine = group.answer(partial(self._body, request, max_tokens, schema))
                waiting[self._line.submit(coroutine)] = place
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

    @property
    def session_usage(self) -> Usage:
        """The tokens that this session used."""
        return self._gate.spent

    def on_cached_usage(self, question: str, usage: Usage, usages: Sequence[Usage] = ()) -> None:
        """Count the tokens of a question's cached answers against the budget, once."""
        self._gate.on_cached_usage(question, usage, usages)

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of tokens in USD, None without prices."""
        return self.options.budget.cost(usage)

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
        place = waiting.pop(task)
        if not isinstance(task.exception(), ModelError):
            yield place, task.result()
            group.release()
