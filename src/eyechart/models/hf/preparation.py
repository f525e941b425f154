"""Prompts that a thread prepares while the model computes: requests become tensors some batches ahead."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from eyechart.models.chat.conversation import ChatProcessor
from eyechart.models.hf.batches import Prompt
from eyechart.models.hf.image_features import image_key
from eyechart.models.runtime.batch_backoff import Failure, failure_from_error
from eyechart.models.types import Request

BATCHES_AHEAD = 16  # batches whose prompts are prepared at once, so that those of like length meet
MAX_BYTES = 2**29  # of prompts that are prepared at once; as many may be in use beside them


@dataclass
class Window:
    """The prompts of some requests by their indices, and the failures of requests that cannot be a prompt."""

    prompts: dict[int, Prompt] = field(default_factory=dict)
    refused: dict[int, Failure] = field(default_factory=dict)


@dataclass(frozen=True)
class PromptPreparer:
    """Prepares requests to a model, which `config` describes, for answers of up to `room` tokens."""

    name: str
    chat: ChatProcessor
    config: Any
    room: int

    def windows(self, requests: Iterable[Request], batch_size: int) -> Iterator[Window]:
        """Yield the prompts of some batches, and prepare the next ones meanwhile."""
        indices = enumerate(requests)
        with ThreadPoolExecutor(1, "hf-prompts") as thread:
            pending = thread.submit(self._prepare_window, indices, batch_size)
            while (window := pending.result()).prompts or window.refused:
                pending = thread.submit(self._prepare_window, indices, batch_size)
                yield window

    def _prepare_window(self, indices: Iterator[tuple[int, Request]], batch_size: int) -> Window:
        window, n_bytes = Window(), 0
        for index, request in islice(indices, BATCHES_AHEAD * batch_size):
            prompt = self._prepare(index, request)
            if isinstance(prompt, Failure):
                window.refused[index] = prompt
                continue
            window.prompts[index] = prompt
            n_bytes += prompt.n_bytes
            if n_bytes >= MAX_BYTES:
                break
        return window

    def _prepare(self, index: int, request: Request) -> Prompt | Failure:
        try:
            prompt = Prompt(index, self.chat.prepare_inputs(request), image_key(request.images))
        except Exception as error:
            return failure_from_error(error, f"The processor of {self.name} cannot take this request")
        excess = self._excess(prompt.length)
        return Failure(excess) if excess else prompt

    def _excess(self, length: int) -> str:
        """Return a sentence if a prompt leaves no room for an answer, else ""."""
        most = getattr(self.config.get_text_config(), "max_position_embeddings", None)
        if not most or length + self.room <= most:
            return ""
        return (
            f"{self.name} reads and writes up to {most} tokens; a prompt of {length} leaves no room for an answer of "
            f"{self.room}. Put less into a request, or allow fewer tokens with max_tokens"
        )
