"""Answers of models to images, class names and requests: each is asked for once and stored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from eyechart.data.dataset import Dataset
from eyechart.inference.arrays import CachedArray, read_or_compute
from eyechart.inference.class_weights import ClassPrompts, class_weights, text_key
from eyechart.inference.image_runner import Progress, image_key, run_images
from eyechart.inference.request_runner import request_key, run_requests
from eyechart.inference.requests import Generate
from eyechart.inference.responses import Responses
from eyechart.inference.store import Key, Store
from eyechart.models.types import Classifier, Encoder, Floats, Generator, ImageEncoder, Matcher


@dataclass(frozen=True)
class Runner:
    """Where answers are kept, and the choices that enter every key."""

    store: Store
    limit: int | None
    seed: int
    progress: Progress

    def features(self, model: ImageEncoder, dataset: Dataset) -> CachedArray:
        """Features of every image, whatever they are compared with."""
        return self.kept("image_features", model, dataset, model.encode_images)

    def generate(self, model: Generator, dataset: Dataset, questions: Generate) -> Responses:
        """Replies to questions about images, in the questions' order."""
        key = request_key(questions, model, dataset, limit=self.limit, seed=self.seed)
        return run_requests(self.store, key, dataset, model, questions, self.progress)

    def kept(
        self,
        question: str,
        model: ImageEncoder | Classifier | Matcher,
        dataset: Dataset,
        ask: Callable[[Sequence[object]], Floats],
        prompts: str = "",
    ) -> CachedArray:
        """Answers to one question about every image; `prompts` is the fingerprint of texts that come with it."""
        key = image_key(question, model, dataset, prompts)
        return run_images(self.store, key, dataset, model, ask, model.prepare, self.progress)

    def weights(self, model: Encoder, wording: ClassPrompts) -> Floats:
        """Class weights of a zero-shot classifier; they depend on the texts alone."""
        entry = self.store.entry(text_key(model, wording))
        return read_or_compute(entry, lambda: class_weights(model.encode_texts, wording.names, wording.templates))

    def scale(self, model: Encoder) -> np.float32:
        """Return what cosines are multiplied with before a softmax, stored so that no weights are loaded for it."""

        def ask() -> Floats:
            return np.array([[model.logit_scale]], np.float32)

        entry = self.store.entry(Key(kind="logit_scale", model=model.identity))
        found: np.float32 = read_or_compute(entry, ask)[0, 0]
        return found
