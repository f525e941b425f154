"""A group of requests: which are retried, which fail, and when the whole group ends."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any

from eyechart.errors import ModelError
from eyechart.models.runtime.batch_backoff import failure_from_error
from eyechart.models.served import faults
from eyechart.models.served.api import Completion
from eyechart.models.served.client import Client
from eyechart.models.served.failures import Probe
from eyechart.models.served.limiter import RequestLimiter
from eyechart.models.served.remedies import add_remedy
from eyechart.models.types import Answer

CONNECT_ATTEMPTS = 2  # to a server that has accepted no connection so far
CONNECT_SECONDS = 2.0  # after which there is no further one of these


class RequestGroup:
    """Requests that end together: the first error that concerns all of them stops those not yet sent.

    A request holds its room until its answer is taken, and so kept: a killed run loses no more answers than may be
    under way at once. Where a key, or a price within a budget, is not known yet, the first one goes alone.

    A request that fails is an error of its own, however many fail one after another, as long as the server answers the
    `probe`: a short request with the settings of the others about an ordinary image. So the outcome depends neither on
    the order of requests nor on what earlier runs asked. Without a probe, every failure is an error of its own.
    """

    def __init__(self, line: Client, gate: RequestLimiter, expected: str = "", probe: Probe | None = None) -> None:
        self.line, self.gate, self.expected, self.probe = line, gate, expected, probe
        self.ended: ModelError | None = None
        self._end, self._probing = asyncio.Event(), asyncio.Lock()
        alone = gate.budget.is_limited or not gate.has_answers
        self._room = asyncio.Semaphore(1 if alone else gate.most)
        self._closed = gate.most - 1 if alone else 0
        self.served = ""
        gate.concurrency.forget_latency()

    async def answer(self, write: Callable[[], Mapping[str, Any]]) -> Answer:
        """Answer one request; a ModelError ends the group."""
        try:
            body = await asyncio.to_thread(write_or_fail, write)
            await self._room.acquire()
            try:
                if isinstance(body, Answer):
                    return body
                async with self.gate.slot():
                    return await self._persist(body)
            except BaseException:
                self._room.release()
                raise
            finally:
                self._widen()
        except ModelError as error:
            self.ended = self.ended or error
            self.gate.shut = error if isinstance(error, faults.EndpointError) else self.gate.shut
            self._end.set()
            raise

    def release(self) -> None:
        """Free a slot after an answer was taken; may be called from any thread."""
        self.line.call_soon(self._room.release)

    def _widen(self) -> None:
        """Allow parallel requests after the first answer."""
        while self._closed:
            self._closed -= 1
            self._room.release()

    async def _persist(self, body: Mapping[str, Any]) -> Answer:
        attempt, start = 0, monotonic()
        while True:
            if self.ended:
                raise self.ended
            try:
                return self.settle(await self._send(body))
            except faults.RejectedError as fault:
                return await self._give_up(str(fault), count=not fault.known)
            except faults.RefusedError as fault:
                if not await self._is_probe_answered():
                    raise
                return await self._give_up(fault.reason, count=True)
            except faults.TransientError as fault:
                attempt += 1
                self._check_reached(fault, attempt, monotonic() - start)
                seconds = fault.pause(attempt, self.line.options.retries, self.line.options.backoff)
                if seconds is None:
                    return await self._give_up(add_remedy(f"{fault}, {attempt} times"), count=True)
                with suppress(TimeoutError):  # the end of the group ends the wait
                    await asyncio.wait_for(self._end.wait(), seconds)

    async def _send(self, body: Mapping[str, Any]) -> Completion:
        """Send one request once, and adapt the number of concurrent requests to what comes back."""
        limit = self.gate.concurrency
        epoch, start = limit.on_request(self.gate.under_way), monotonic()
        try:
            completion = await self.line.send(body)
        except faults.OverloadedError:
            limit.on_overload(epoch)
            raise
        limit.on_response(epoch, monotonic() - start)
        return completion

    def _check_reached(self, fault: faults.TransientError, attempts: int, seconds: float) -> None:
        """Raise ModelError if the server never accepted a connection; one that was reached before may come back."""
        limit = min(CONNECT_ATTEMPTS, self.line.options.retries + 1)
        if not self.line.is_reached and (attempts >= limit or seconds >= CONNECT_SECONDS):
            raise ModelError(
                f"There is no server at {self.line.options.base_url}: {fault}, {attempts} times. Start the server, or "
                "correct base_url, and run the same command again."
            )

    def settle(self, completion: Completion, *, is_probe: bool = False) -> Answer:
        """Charge a completion and return its answer; raise ModelError for the answer of another model."""
        self.gate.charge(completion.answer.usage)
        self.served = completion.model or self.served
        if self.expected and completion.model not in ("", self.expected):
            raise ModelError(
                f"The server answers as {completion.model}, but this run began with {self.expected}. "
                "Answers so far are kept; name the model more exactly (not by an alias), and run again."
            )
        if is_probe:
            self.gate.failures.on_probe_answered()
        else:
            self.gate.failures.on_answer()
        return completion.answer

    async def _give_up(self, reason: str, *, count: bool) -> Answer:
        """Return the error of one request; raise ModelError if the server answers none, which `count` makes possible.

        A refusal for a known reason, such as a content filter, is an answer of a server that works.
        """
        failures = self.gate.failures
        failures.on_failure(counts=count)
        if self.probe and failures.is_doubtful:
            async with self._probing:
                if failures.is_doubtful and not await self._is_probe_answered():
                    raise ModelError(
                        f"The server answered none of the last {failures.in_a_row} requests, nor {self.probe.text}; "
                        f"the last: {reason}. Answers so far are kept: see to the server, and run the same command "
                        "again."
                    )
        return Answer("", (), False, error=reason, retry=count)

    async def _is_probe_answered(self) -> bool:
        """Send the probe once; raise what concerns all requests, such as a key that is not accepted."""
        if not self.probe:
            return False
        try:
            self.settle(await self._send(await asyncio.to_thread(self.probe.write)), is_probe=True)
        except (faults.RejectedError, faults.TransientError) as fault:
            return isinstance(fault, faults.RejectedError) and fault.known
        return True


def write_or_fail(write: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any] | Answer:
    """Return the body of one request, or an answer with the reason why it cannot be written."""
    try:
        return write()
    except Exception as error:
        reason = failure_from_error(error, "its images and words cannot be written as a message").reason
        return faults.no_answer(reason)
