"""The openai client in an event loop of its own thread."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from threading import Thread, current_thread
from typing import Any, TypeVar

import msgspec

from eyechart.errors import ModelError
from eyechart.models.openai import errors
from eyechart.models.openai.messages import Completion, parse_completion
from eyechart.models.openai.options import NO_KEY, OpenAiOptions

T = TypeVar("T")
CONNECT_TIMEOUT = 4.0  # seconds in which a server must accept a connection
NOT_CONNECTED = frozenset({"ConnectError", "ConnectTimeout"})  # the names of httpx's errors before a request is sent
MIN_SECRET_LENGTH = 8  # letters; a shorter key is a word such as "EMPTY", which an answer may hold by itself


def _replace_text(value: Any, old: str, new: str) -> Any:
    """Return plain JSON with `old` replaced by `new` in every text."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {name: _replace_text(element, old, new) for name, element in value.items()}
    if isinstance(value, list):
        return [_replace_text(element, old, new) for element in value]
    return value


class Client:
    """Sends requests and reads completions; its messages never contain the key."""

    def __init__(self, options: OpenAiOptions) -> None:
        import openai

        self._errors, self.options = openai, options
        self._key = options.key()
        # A proxy or a redirection could lead away from this machine; the client's own retries would hide faults.
        http = openai.DefaultAsyncHttpxClient(trust_env=not options.is_local, follow_redirects=False)
        timeout = openai.Timeout(options.timeout, connect=min(CONNECT_TIMEOUT, options.timeout / 2))
        self._client = openai.AsyncOpenAI(
            api_key=self._key, base_url=options.base_url, timeout=timeout, max_retries=0, http_client=http
        )
        self.is_reached = False  # whether the server accepted any connection so far
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="openai", daemon=True)
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
        try:
            async with asyncio.timeout(self.options.timeout):
                # create() would look every part of a body up in its own types, which costs more than sending it
                reply = await self._client.post("/chat/completions", body=dict(body), cast_to=str)
            completion = self._redact(parse_completion(reply.encode()))
        except Exception as error:
            fault = self._read(error)
            self.is_reached = self.is_reached or not isinstance(fault, errors.UnreachableError)
            raise fault from None  # the client's own sentence may hold the key
        self.is_reached = True
        return completion

    def _redact(self, completion: Completion) -> Completion:
        """Return a completion with "[key]" in place of the key, which a server may repeat in its texts."""
        if self._key == NO_KEY or len(self._key) < MIN_SECRET_LENGTH:
            return completion
        plain: Any = msgspec.to_builtins(completion)
        return msgspec.convert(_replace_text(plain, self._key, "[key]"), Completion)

    def _read(self, error: Exception) -> Exception:
        fault = self._fault(error)
        arguments = [part.replace(self._key, "[key]") if isinstance(part, str) else part for part in fault.args]
        if self._key != NO_KEY:
            fault.args = tuple(arguments)
        return fault

    def _fault(self, error: Exception) -> Exception:
        if isinstance(error, self._errors.APIStatusError):
            return errors.error_from_status(error.status_code, error.response.headers, error.response.text)
        if (cause := type(error.__cause__ or error).__name__) in NOT_CONNECTED:
            said = errors.shorten(str(error.__cause__ or error))
            return errors.UnreachableError(f"the server accepts no connection ({said or cause})")
        if isinstance(error, TimeoutError | self._errors.APITimeoutError):
            return errors.TransientError(f"no answer within {self.options.timeout:g} seconds (timeout=…)")
        if isinstance(error, self._errors.APIConnectionError):
            said = errors.shorten(str(error.__cause__ or error))
            return errors.TransientError(f"the connection broke ({said or cause})")
        if isinstance(error, errors.TransientError | errors.RejectedError | ModelError):
            return error
        return ModelError(f"The openai client failed ({type(error).__name__}: {errors.shorten(str(error))}).")

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
        await self._client.close()
        await asyncio.get_running_loop().shutdown_default_executor()
