"""What keeps a vLLM engine busy: prompts are made in a thread beside it, and it is given the next ones as it goes."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread
from typing import Any

Asked = tuple[dict[str, Any], Any]  # a prompt and vLLM's settings for its answer


class RefusedError(Exception):
    """One prompt that vLLM does not take."""


@dataclass(frozen=True)
class Made:
    """A prompt as vLLM takes it, its images prepared, or why it takes it not."""

    place: int
    asked: Asked
    prompt: Any


def stream(llm: Any, asked: Iterable[Asked], most: int) -> Iterator[tuple[int, Any]]:
    """Give what vLLM says, or a RefusedError, with the prompts' places, as it comes.

    Up to `most` prompts are under way and as many more are made. What is left when nobody listens is forgotten.
    """
    engine, under_way = llm.llm_engine, dict[str, Made]()
    beside = Beside(llm, asked, most)
    try:
        with closing(beside):
            while True:
                while len(under_way) < most and (made := beside.next(patiently=not under_way)):
                    try:
                        under_way[_added(llm, made)] = made
                    except RefusedError as error:
                        yield made.place, error
                if not under_way:
                    break
                for said in engine.step():
                    if said.finished:
                        yield under_way.pop(said.request_id).place, said
    finally:
        if under_way or not beside.ended:  # images were prepared for prompts that vLLM was never given
            engine.abort_request([*under_way])
            engine.reset_mm_cache()
    if beside.failure:
        raise beside.failure


def _added(llm: Any, made: Made) -> str:
    """Give vLLM a prompt; it goes by the name that is returned."""
    from vllm.multimodal.cache import MultiModalCacheMissError

    if isinstance(made.prompt, RefusedError):
        raise made.prompt
    name = str(next(llm.request_counter))
    try:
        llm.llm_engine.add_request(name, made.prompt, made.asked[1])
    except MultiModalCacheMissError:  # it was refused the prompt for which this image had been prepared
        llm.llm_engine.abort_request([name])
        whole = _rendered(llm, made.asked[0], skip_mm_cache=True)
        llm.llm_engine.add_request(name, whole, made.asked[1])
    except _refusals() as error:
        raise RefusedError(_shown(error)) from error
    return name


def _rendered(llm: Any, prompt: dict[str, Any], **how: bool) -> Any:
    (made,) = llm.llm_engine.renderer.render_cmpl([prompt], **how)
    return made


class Beside:
    """A thread that takes what is asked, prepares the images, and is never more than so many prompts ahead."""

    def __init__(self, llm: Any, asked: Iterable[Asked], ahead: int) -> None:
        self.llm, self.asked = llm, asked
        self.ended = False
        self.failure: BaseException | None = None
        self._left, self._room = False, Semaphore(ahead)
        self._ready: SimpleQueue[Made | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="vllm-feed", daemon=True)
        self._thread.start()

    def next(self, *, patiently: bool) -> Made | None:
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

    def _making(self) -> Iterator[Made]:
        asked = enumerate(self.asked)
        while self._room.acquire() and not self._left and (one := next(asked, None)):
            place, (prompt, settings) = one
            yield Made(place, (prompt, settings), self._prompt(prompt))

    def _prompt(self, prompt: dict[str, Any]) -> Any:
        try:
            return _rendered(self.llm, prompt)
        except _refusals() as error:
            return RefusedError(_shown(error))


def _refusals() -> tuple[type[Exception], ...]:
    from vllm.exceptions import VLLMValidationError

    return VLLMValidationError, ValueError


def _shown(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
