"""A store with the answers to two questions about each image of a data set."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.requests.text_requests import Generate, TextRequest
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Key, Store, StoreEntry, request_key
from eyechart.inference.store.responses import Responses

COUNT = 8  # images


def said(numbers: tuple[int, ...], text: str) -> str:
    return f"{text} {numbers[0]}"


@dataclass(frozen=True)
class Library:
    """A store with one book of two questions an image: place 2 · image + question."""

    root: Path
    dataset: Dataset

    def asked(self, indices: Sequence[int]) -> Generate:
        return Generate(tuple(TextRequest((index // 2, f"question {index % 2}"), 16) for index in indices))

    def key(self, model: Any) -> Key:
        return request_key(self.asked([0]), model, self.dataset)

    def entry(self, model: Any) -> StoreEntry:
        return Store(self.root).entry(self.key(model))

    def ask(self, model: Any, indices: Sequence[int], told: Any = lambda *_: None) -> Responses:
        return Runner(Store(self.root), None, 0, told).run(self.asked(indices), model, self.dataset)

    def files(self, model: Any) -> dict[str, bytes]:
        folder = self.entry(model).folder
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}
