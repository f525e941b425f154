"""Batches of requests that are halved when memory runs out; a request that fails by itself becomes an error."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from warnings import warn

from eyechart.errors import EyechartError
from eyechart.models.runtime.torch_runtime import empty_cache, out_of_memory

T = TypeVar("T")
Item = TypeVar("Item")
REQUEST_ERRORS = (RuntimeError, ValueError, ArithmeticError, LookupError)  # what a model raises about an odd image
MAX_REASON_LENGTH = 300  # characters of a library's message


@dataclass(frozen=True)
class Failure:
    """The reason why one request has no answer; `retry` says whether a later run should try again."""

    reason: str
    retry: bool = False


def failure_from_error(error: Exception, what: str) -> Failure:
    """Return the failure of one request from a library's error; raise errors that concern all requests.

    A warning that was turned into an error is among the latter: it says nothing about the request.
    """
    if isinstance(error, EyechartError | ImportError | Warning) or _is_device_broken(error):
        raise error
    message = " ".join(str(error).split())[:MAX_REASON_LENGTH]
    return Failure(f"{what} ({type(error).__name__}{': ' if message else ''}{message})", retry=out_of_memory(error))


def _is_device_broken(error: Exception) -> bool:
    """Return whether an error means that the accelerator cannot be used again in this process."""
    if out_of_memory(error):
        return False
    return type(error).__name__ == "AcceleratorError" or "CUDA error" in str(error)


@dataclass
class BatchBackoff:
    """Halves batches when memory runs out, with a warning, and returns to `size` after a request that never fits."""

    size: int
    name: str
    current_size: int = field(init=False)

    def __post_init__(self) -> None:
        self.current_size = self.size

    def run(
        self, batch: Sequence[Item], compute: Callable[[list[Item]], T]
    ) -> Iterator[tuple[list[Item], T | Failure]]:
        """Yield each part of a batch with its result, or the failure of a single request.

        An error that is about the data is searched for by halves, so that one odd image costs nobody else an answer.
        """
        waiting = deque([[*batch]])
        while waiting:
            # 1. Memory ran out before: a larger part is cut to the size that fitted.
            part = waiting.popleft()
            if len(part) > self.current_size:
                waiting.extendleft([part[self.current_size :], part[: self.current_size]])
                continue
            try:
                yield part, compute(part)
                continue
            except Exception as raised:
                # 2. An error that is neither about the data nor about memory concerns all requests, and ends the run.
                if not (isinstance(raised, REQUEST_ERRORS) or out_of_memory(raised)) or _is_device_broken(raised):
                    raise
                error = raised.with_traceback(None)  # its frames hold the tensors of the batch
            # 3. Without memory, half as many requests are tried, and all later batches are of that size. With an odd
            #    image, both halves are tried at the same size, until the image is alone and becomes an error.
            if out_of_memory(error):
                empty_cache()
                yield from self._halve(part, error, waiting)
            elif len(part) > 1:
                middle = len(part) // 2
                waiting.extendleft([part[middle:], part[:middle]])
            else:
                yield part, failure_from_error(error, f"{self.name} cannot answer this request")

    def _halve(
        self, part: list[Item], error: Exception, waiting: deque[list[Item]]
    ) -> Iterator[tuple[list[Item], Failure]]:
        if len(part) == 1:
            self.current_size = self.size  # this request alone is too large: others need not suffer from it
            message = " ".join(str(error).split())[:MAX_REASON_LENGTH]
            reason = (
                f"Memory ran out on a single request to {self.name} ({message}). Use a smaller model, dtype=bfloat16, "
                "another device or a smaller image"
            )
            yield part, Failure(reason, retry=True)
        else:
            self.current_size = len(part) // 2
            warn(
                f"Memory ran out with {len(part)} requests at once; going on with {self.current_size}.",
                RuntimeWarning,
                5,
            )
            waiting.appendleft(part)
