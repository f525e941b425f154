"""A provider's client in an event loop of its own thread."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import replace
from threading import Thread, current_thread
from typing import Any, TypeVar

from eyechart.errors import ModelError
from eyechart.models.served import faults
from eyechart.models.served.api import Api, Completion
from eyechart.models.served.options import NO_KEY

T = TypeVar("T")
NOT_CONNECTED = frozenset({"ConnectError", "ConnectTimeout"})  # the names of httpx's errors before a request is sent
LATE = frozenset({"TimeoutError", "TimeoutException", "APITimeoutError"})
BROKEN = frozenset({"RequestError", "APIConnectionError"})
MIN_SECRET_LENGTH = 8  # letters; a shorter key is a word such as "EMPTY", which an answer may hold by itself


class Client:
    """Sends requests and reads completions; its messages never contain the key."""

    def __init__(self, api: Api) -> None:
        self._api, self.options, self._key = api, api.options, api.key
        self.is_reached = False  # whether the server accepted any connection so far
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="served", daemon=True)
        self._thread.start()

    def submit(self, task: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine in the client's thread and return its future."""
        return asyncio.run_coroutine_threadsafe(task, self._loop)

    def call_soon(self, do: Callable[[], None]) -> None:
        """Call a function in the client's thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(do)

    async def send(self, body: Mapping[str, Any]) -> Completion:
        """Send one request once; raise TransientError, RejectedError or ModelError."""
        return await self.call(self._exchange(body))

    async def _exchange(self, body: Mapping[str, Any]) -> Completion:
        return self._redact(self._api.parse(await self._api.send(body)))

    async def call(self, task: Coroutine[Any, Any, T]) -> T:
        """Await what the client does, and raise its errors as in `send`."""
        try:
            async with asyncio.timeout(self.options.timeout):
                result = await task
        except Exception as error:
            fault = self._read(error)
            self.is_reached = self.is_reached or not isinstance(fault, faults.UnreachableError)
            raise fault from None  # the client's own sentence may hold the key
        self.is_reached = True
        return result

    def parse(self, body: bytes) -> Completion:
        """Return the completion in a body, without the key; raise as in `send`."""
        try:
            return self._redact(self._api.parse(body))
        except Exception as error:
            raise self._read(error) from None

    def _redact(self, completion: Completion) -> Completion:
        """Return a completion with "[key]" instead of the key, which a server may repeat in its texts."""
        if self._key == NO_KEY or len(self._key) < MIN_SECRET_LENGTH:
            return completion
        text, error, thinking, model = (
            content.replace(self._key, "[key]")
            for content in (
                completion.answer.text,
                completion.answer.error,
                completion.answer.thinking,
                completion.model,
            )
        )
        return Completion(replace(completion.answer, text=text, error=error, thinking=thinking), model)

    def _read(self, error: Exception) -> Exception:
        fault = _fault(error, self.options.timeout)
        arguments = [part.replace(self._key, "[key]") if isinstance(part, str) else part for part in fault.args]
        if self._key != NO_KEY:
            fault.args = tuple(arguments)
        return fault

    def close(self) -> None:
        """Close the connection; pending requests end."""
        if self._loop.is_closed() or current_thread() is self._thread:
            return
        self.submit(self._hang_up()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _hang_up(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._api.close()
        await asyncio.get_running_loop().shutdown_default_executor()


def _fault(error: Exception, timeout: float) -> Exception:
    """Return the fault behind an error of any client; they name their classes alike, and none is a base of all."""
    if isinstance(error, faults.TransientError | faults.RejectedError | ModelError):
        return error
    response = getattr(error, "response", None)
    if response is not None and isinstance(getattr(response, "status_code", None), int):
        return faults.error_from_status(response.status_code, response.headers, response.text)
    names = {parent.__name__ for parent in type(error).__mro__}
    cause = error.__cause__ or error
    reason = faults.shorten(str(cause)) or type(cause).__name__
    if type(cause).__name__ in NOT_CONNECTED:
        return faults.UnreachableError(f"the server accepts no connection ({reason})")
    if names & LATE:
        return faults.TransientError(f"no answer within {timeout:g} seconds (timeout=…)")
    if names & BROKEN:
        return faults.TransientError(f"the connection broke ({reason})")
    return ModelError(f"The client failed ({type(error).__name__}: {faults.shorten(str(error))}).")
