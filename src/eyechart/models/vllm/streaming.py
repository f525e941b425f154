"""What keeps a vLLM engine busy: prompts are made in a thread beside it, and it is given the next ones as it goes."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread
from typing import Any

from eyechart.models.batch_backoff import failure_from_error

PromptWithParams = tuple[dict[str, Any], Any]  # a prompt and vLLM's settings for its answer


class PromptRejectedError(Exception):
    """One prompt that vLLM does not take."""


@dataclass(frozen=True)
class PreparedPrompt:
    """A prompt as vLLM takes it, its images prepared, or why it takes it not."""

    place: int
    request: PromptWithParams
    prompt: Any


def stream_outputs(llms: Sequence[Any], asked: Iterable[PromptWithParams], most: int) -> Iterator[tuple[int, Any]]:
    """Give what one engine or several copies of it say, or a RefusedError, with the prompts' places, as it comes.

    Up to `most` prompts are under way in an engine, twice as many where it works in a process of its own, and as many
    more are made. What is left when nobody listens is forgotten.
    """
    fed = [EngineQueue(llm) for llm in llms]
    room = most * min(2, len(llms))  # so that no copy waits until the others have been heard
    beside = PromptPreparer(llms, asked, room * len(llms))
    try:
        with closing(beside):
            while True:
                while len(one := min(fed, key=len)) < room and (made := beside.take(patiently=not any(fed))):
                    try:
                        one.add(made)
                    except PromptRejectedError as error:
                        yield made.place, error
                if not any(fed):
                    break
                for one in filter(None, fed):
                    yield from one.step()
    finally:
        if any(fed) or not beside.ended:
            for one in fed:
                one.clear()
    if beside.failure:
        raise beside.failure


@dataclass(frozen=True)
class EngineQueue:
    """An engine and the prompts that it was given, by the names that they go by in it."""

    llm: Any
    pending: dict[str, PreparedPrompt] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.pending)

    def add(self, made: PreparedPrompt) -> None:
        """Give it a prompt, or raise a RefusedError."""
        from vllm.multimodal.cache import MultiModalCacheMissError

        if isinstance(made.prompt, PromptRejectedError):
            raise made.prompt
        engine, name = self.llm.llm_engine, str(next(self.llm.request_counter))
        try:
            engine.add_request(name, made.prompt, made.request[1])
        except MultiModalCacheMissError:  # it was refused the prompt for which this image had been prepared
            engine.abort_request([name])
            engine.add_request(name, _rendered(self.llm, made.request[0], skip_mm_cache=True), made.request[1])
        except _refusals() as error:
            raise PromptRejectedError(_shown(error)) from error
        self.pending[name] = made

    def step(self) -> Iterator[tuple[int, Any]]:
        """Let it work, and give what it has said to the end."""
        for said in self.llm.llm_engine.step():
            if said.finished:
                yield self.pending.pop(said.request_id).place, said

    def clear(self) -> None:
        """Forget what is under way, and the images that were prepared for prompts that it was never given."""
        self.llm.llm_engine.abort_request([*self.pending])
        self.llm.llm_engine.reset_mm_cache()


def _rendered(llm: Any, prompt: dict[str, Any], **how: bool) -> Any:
    (made,) = llm.llm_engine.renderer.render_cmpl([prompt], **how)
    return made


class PromptPreparer:
    """A thread that takes what is asked, prepares the images, and is never more than so many prompts ahead."""

    def __init__(self, llms: Sequence[Any], asked: Iterable[PromptWithParams], ahead: int) -> None:
        self.llms, self.asked = llms, asked
        self.ended = False
        self.failure: BaseException | None = None
        self._left, self._room = False, Semaphore(ahead)
        self._ready: SimpleQueue[PreparedPrompt | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="vllm-feed", daemon=True)
        self._thread.start()

    def take(self, *, patiently: bool) -> PreparedPrompt | None:
        """Give the next prompt; None where there is none, or none yet."""
        if self.ended:
            return None
        try:
            made = self._ready.get(block=patiently)
        except Empty:
            return None
        self.ended = made is None
        self._room.release()
        return made

    def close(self) -> None:
        """Take no more, and wait for the prompt that is being made."""
        self._left = True
        self._room.release()
        self._thread.join()

    def _run(self) -> None:
        try:
            for made in self._making():
                self._ready.put(made)
        except BaseException as error:
            self.failure = error
        finally:
            self._ready.put(None)

    def _making(self) -> Iterator[PreparedPrompt]:
        asked = enumerate(self.asked)
        while self._room.acquire() and not self._left and (one := next(asked, None)):
            place, (prompt, settings) = one
            yield PreparedPrompt(place, (prompt, settings), self._prompt(prompt))

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
