"""Requests in batches: half the price, answered within a day, and found again after a run that was killed.

A batch is noted in a folder as soon as the server has it: its number and the digests of its requests. A later run
looks each request up there before it sends it, waits for the batch that has it, and removes the note when its answers
are kept.
"""

import json
import time
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eyechart.errors import ModelError
from eyechart.files.atomic import write_atomic
from eyechart.models.served import faults
from eyechart.models.served.api import Api
from eyechart.models.served.client import Client
from eyechart.models.served.options import BatchOptions
from eyechart.models.served.request_group import RequestGroup
from eyechart.models.types import Answer, Usage

T = TypeVar("T")
MAX_BYTES, MAX_REQUESTS = 50_000_000, 10_000  # of a batch; the providers take more


class BatchApi(Api):
    """A wire format that also has batches."""

    @abstractmethod
    async def create_batch(self, bodies: Mapping[str, Mapping[str, Any]]) -> str:
        """Send a batch of bodies by their digests and return its number."""

    @abstractmethod
    async def read_results(self, batch: str) -> list[tuple[str, int, bytes]] | None:
        """Return the digest, HTTP status and body of every response of a batch, None before it ended."""


class _BatchNote(msgspec.Struct):
    """A batch that a server has: its address, its number, and the digests of requests without a kept answer."""

    base_url: str
    batch: str
    digests: list[str]


@dataclass
class BatchRunner:
    """Answers requests in batches."""

    line: Client
    api: BatchApi
    group: RequestGroup
    options: BatchOptions
    indices: dict[str, list[int]] = field(default_factory=dict)  # of the requests of this run, by digest

    def answer(self, bodies: Iterable[tuple[int, Mapping[str, Any] | Answer]]) -> Iterator[tuple[int, Answer]]:
        """Yield the answers to bodies with their indices, when their batch has ended; an answer is yielded as it is."""
        notes = self._read_notes()
        waiting = {digest for note in notes for digest in note.digests}
        chunk: dict[str, Mapping[str, Any]] = {}
        size = 0
        for index, body in bodies:
            if isinstance(body, Answer):
                yield index, body
                continue
            content = json.dumps(body, sort_keys=True).encode()
            digest = sha256(content).hexdigest()
            self.indices.setdefault(digest, []).append(index)
            if digest in waiting:
                continue
            if chunk and (size + len(content) > MAX_BYTES or len(chunk) == MAX_REQUESTS):
                notes.append(self._create(chunk))
                chunk, size = {}, 0
            chunk[digest], size = body, size + len(content)
            waiting.add(digest)
        if chunk:
            notes.append(self._create(chunk))
        for note in notes:
            if self.indices.keys() & {*note.digests}:
                yield from self._collect(note)

    def _create(self, chunk: Mapping[str, Mapping[str, Any]]) -> _BatchNote:
        try:
            batch = self._call(lambda: self.api.create_batch(chunk))
        except faults.RejectedError as fault:
            raise ModelError(
                f"The server at {self.line.options.base_url} takes no batch: {fault}. Leave out batch=true, or see to "
                "the server, and run the same command again."
            ) from None
        note = _BatchNote(self.line.options.base_url, batch, [*chunk])
        self._write(note)
        return note

    def _collect(self, note: _BatchNote) -> Iterator[tuple[int, Answer]]:
        """Yield the answers of a batch that this run wants; each is kept when the next one is asked for."""
        wanted = self.indices.keys() & {*note.digests}
        for digest, status, body in self._wait(note):
            if digest in self.indices:
                yield from self._answers(digest, self._read(status, body))
        for digest in wanted & self.indices.keys():
            yield from self._answers(digest, faults.no_answer("the batch ended without this answer", retry=True))
        note.digests = [digest for digest in note.digests if digest not in wanted]
        self._write(note)
        if self.group.ended:
            raise self.group.ended

    def _answers(self, digest: str, answer: Answer) -> Iterator[tuple[int, Answer]]:
        """Yield an answer for every index of its request; its tokens count once."""
        first, *others = self.indices.pop(digest)
        yield first, answer
        for index in others:
            yield index, replace(answer, usage=Usage())

    def _wait(self, note: _BatchNote) -> list[tuple[str, int, bytes]]:
        try:
            while (results := self._call(lambda: self.api.read_results(note.batch))) is None:
                time.sleep(self.options.poll)
        except (faults.RejectedError, faults.EndpointError) as fault:
            raise ModelError(
                f"The batch {note.batch} cannot be read: {fault} If the server does not have it any more, remove "
                f"{self._path(note)}, and its requests are sent again."
            ) from None
        return results

    def _read(self, status: int, body: bytes) -> Answer:
        try:
            if status != 200:
                raise faults.error_from_status(status, {}, body.decode("utf-8", "replace"))
            return self.group.settle(self.line.parse(body))
        except faults.RejectedError as fault:
            return faults.no_answer(str(fault), retry=not fault.known)
        except faults.TransientError as fault:
            return faults.no_answer(str(fault), retry=True)
        except ModelError as error:
            self.group.ended = error
            return faults.no_answer(str(error), retry=True)

    def _call(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Call the server until it answers, as often as `retries` says."""
        options, attempts = self.line.options, 0
        while True:
            try:
                return self.line.submit(self.line.call(start())).result()
            except faults.TransientError as fault:
                attempts += 1
                seconds = fault.pause(attempts, options.retries, options.backoff)
                if seconds is None:
                    raise ModelError(
                        f"The server at {options.base_url} did not take or give a batch: {fault}, {attempts} times. "
                        "Run the same command again: batches that it has are found again."
                    ) from None
            time.sleep(seconds)

    def _read_notes(self) -> list[_BatchNote]:
        """Return the batches that this server has from earlier runs."""
        paths = sorted(self.options.folder.glob("*.json"))
        try:
            notes = [msgspec.json.decode(path.read_bytes(), type=_BatchNote) for path in paths]
        except (OSError, msgspec.DecodeError) as error:
            raise ModelError(
                f"A note of a batch in {self.options.folder} cannot be read ({error}). Remove the file; the answers of "
                "its batch are then asked again."
            ) from error
        return [note for note in notes if note.base_url == self.line.options.base_url]

    def _path(self, note: _BatchNote) -> Path:
        return self.options.folder / f"{sha256(f'{note.base_url} {note.batch}'.encode()).hexdigest()[:32]}.json"

    def _write(self, note: _BatchNote) -> None:
        """Write a note, or remove it when no answer is left."""
        if note.digests:
            self.options.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._path(note), msgspec.json.encode(note))
        else:
            self._path(note).unlink(missing_ok=True)
