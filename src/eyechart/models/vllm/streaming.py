"""Streaming through vLLM: a thread prepares prompts, and the engine gets the next ones while it runs."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread
from typing import Any

from eyechart.errors import ModelError
from eyechart.models.runtime.batch_backoff import failure_from_error

PromptWithParams = tuple[dict[str, Any], Any]  # a prompt and vLLM's settings for its answer


class PromptRejectedError(Exception):
    """vLLM does not accept one prompt."""


@dataclass(frozen=True)
class _PreparedPrompt:
    """A prompt as vLLM takes it, with prepared images, or the error that rejects it."""

    index: int
    request: PromptWithParams
    prompt: Any


def stream_outputs(
    llms: Sequence[Any], requests: Iterable[PromptWithParams], max_pending: int
) -> Iterator[tuple[int, Any]]:
    """Yield the outputs of one or more engines, or a PromptRejectedError, with the prompts' indices, as they arrive.

    An engine has up to `max_pending` pending prompts, twice as many if it runs in a process of its own, and as many
    more are prepared. Pending prompts are aborted when the caller stops reading.
    """
    queues = [_EngineQueue(llm) for llm in llms]
    room = max_pending * min(2, len(llms))  # so that no copy waits until the others have been heard
    preparer = PromptPreparer(llms, requests, room * len(llms))
    try:
        with closing(preparer):
            while True:
                while len(shortest := min(queues, key=len)) < room and (
                    prompt := preparer.take(patiently=not any(queues))
                ):
                    try:
                        shortest.add(prompt)
                    except PromptRejectedError as error:
                        yield prompt.index, error
                if not any(queues):
                    break
                for queue in filter(None, queues):
                    yield from queue.step()
    finally:
        if any(queues) or not preparer.ended:
            for queue in queues:
                queue.clear()
    if preparer.failure:
        raise preparer.failure


@dataclass(frozen=True)
class _EngineQueue:
    """An engine and its pending prompts by vLLM's request names."""

    llm: Any
    pending: dict[str, _PreparedPrompt] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.pending)

    def add(self, prepared: _PreparedPrompt) -> None:
        """Add a prompt, or raise PromptRejectedError."""
        from vllm.multimodal.cache import MultiModalCacheMissError

        if isinstance(prepared.prompt, PromptRejectedError):
            raise prepared.prompt
        engine, name = self.llm.llm_engine, str(next(self.llm.request_counter))
        try:
            engine.add_request(name, prepared.prompt, prepared.request[1])
        except MultiModalCacheMissError:  # it was refused the prompt for which this image had been prepared
            engine.abort_request([name])
            engine.add_request(name, _rendered(self.llm, prepared.request[0], skip_mm_cache=True), prepared.request[1])
        except _refusals() as error:
            raise PromptRejectedError(_shown(error)) from error
        self.pending[name] = prepared

    def step(self) -> Iterator[tuple[int, Any]]:
        """Run one step, and yield the finished outputs. Raises ModelError if the model fails on them."""
        try:
            outputs = self.llm.llm_engine.step()
        except Exception as error:  # of vLLM's code for a family, or of a kernel
            reason = f"vLLM failed while it answered ({type(error).__name__}: {_shown(error)})"
            raise ModelError(f"{reason}. Try hf[…], or other options of vllm[…].") from error
        for output in outputs:
            if output.finished:
                yield self.pending.pop(output.request_id).index, output

    def clear(self) -> None:
        """Abort pending prompts, and free images that were prepared for prompts that were never added."""
        self.llm.llm_engine.abort_request([*self.pending])
        self.llm.llm_engine.reset_mm_cache()


def _rendered(llm: Any, prompt: dict[str, Any], **how: bool) -> Any:
    (rendered,) = llm.llm_engine.renderer.render_cmpl([prompt], **how)
    return rendered


class PromptPreparer:
    """A thread that reads prompts and prepares their images, a limited number of prompts ahead."""

    def __init__(self, llms: Sequence[Any], requests: Iterable[PromptWithParams], ahead: int) -> None:
        self.llms, self.asked = llms, requests
        self.ended = False
        self.failure: BaseException | None = None
        self._left, self._room = False, Semaphore(ahead)
        self._ready: SimpleQueue[_PreparedPrompt | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="vllm-feed", daemon=True)
        self._thread.start()

    def take(self, *, patiently: bool) -> _PreparedPrompt | None:
        """Return the next prompt; None if there is none, or none yet."""
        if self.ended:
            return None
        try:
            prepared = self._ready.get(block=patiently)
        except Empty:
            return None
        self.ended = prepared is None
        self._room.release()
        return prepared

    def close(self) -> None:
        """Stop reading, and wait for the prompt in preparation."""
        self._left = True
        self._room.release()
        self._thread.join()

    def _run(self) -> None:
        try:
            for prepared in self._making():
                self._ready.put(prepared)
        except BaseException as error:
            self.failure = error
        finally:
            self._ready.put(None)

    def _making(self) -> Iterator[_PreparedPrompt]:
        numbered = enumerate(self.asked)
        while self._room.acquire() and not self._left and (item := next(numbered, None)):
            index, (prompt, settings) = item
            yield _PreparedPrompt(index, (prompt, settings), self._prompt(prompt))

    def _prompt(self, prompt: dict[str, Any]) -> Any:
        try:
            return _rendered(self.llms[0], prompt, skip_mm_cache=len(self.llms) > 1)  # a cache is one engine's
        except _refusals() as error:
            return PromptRejectedError(_shown(error))
        except Exception as error:  # of a processor that fails on this image
            return PromptRejectedError(failure_from_error(error, "its images and words cannot be prepared").reason)


def _refusals() -> tuple[type[Exception], ...]:
    from vllm.exceptions import VLLMValidationError

    return VLLMValidationError, ValueError


def _shown(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
