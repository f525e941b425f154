"""Putting a split to a model under a protocol: what is asked is asked once, the rest is arithmetic on kept answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from eyechart.answering import Progress, answers, image_key
from eyechart.asking.heads import head_columns
from eyechart.data.dataset import Dataset
from eyechart.errors import ModelError, VocabularyError
from eyechart.interviewing import interview, question_key
from eyechart.models.types import (
    Classifier,
    Encoder,
    Floats,
    Generator,
    Head,
    ImageEncoder,
    Matcher,
    Neighbours,
)
from eyechart.predictions import Answers, computed
from eyechart.protocols.nearest_neighbours import knn_scores
from eyechart.protocols.zero_shot import class_weights, prompts, scores
from eyechart.questions import Questions
from eyechart.replies import Replies
from eyechart.scoring import Predictions
from eyechart.store import Key, Store

LOGIT_SCALE = 100.0  # CLIP's, for an encoder that does not know its own


@dataclass(frozen=True)
class Wording:
    """The vocabulary and the templates of a zero-shot question, with the names they go by."""

    names: tuple[str, ...]
    templates: tuple[str, ...]
    names_by: str
    templates_by: str


@dataclass(frozen=True)
class Asker:
    """Where answers are kept, and the choices that enter every key."""

    store: Store
    limit: int | None
    seed: int
    progress: Progress

    def features(self, model: ImageEncoder, dataset: Dataset) -> Answers:
        """Features of every image, whatever they are compared with."""
        return self.kept("image_features", model, dataset, model.encode_images)

    def replies(self, model: Generator, dataset: Dataset, questions: Questions) -> Replies:
        """Replies to questions about images, in the questions' order."""
        key = question_key(questions, model, dataset, limit=self.limit, seed=self.seed)
        return interview(self.store, key, dataset, model, questions, self.progress)

    def kept(
        self,
        question: str,
        model: ImageEncoder | Classifier | Matcher,
        dataset: Dataset,
        ask: Callable[[Sequence[object]], Floats],
        prompts: str = "",
    ) -> Answers:
        """Answers to one question about every image; `prompts` is the fingerprint of texts that come with it."""
        key = image_key(question, model, dataset, prompts)
        return answers(self.store, key, dataset, model, ask, model.prepare, self.progress)

    def weights(self, model: Encoder, wording: Wording) -> Floats:
        """Class weights of a zero-shot classifier; they depend on the texts alone."""
        entry = self.store.entry(text_key(model, wording))
        return computed(entry, lambda: class_weights(model.encode_texts, wording.names, wording.templates))

    def scale(self, model: Encoder) -> np.float32:
        """Return what cosines are multiplied with before a softmax, stored so that no weights are loaded for it."""

        def ask() -> Floats:
            return np.array([[getattr(model, "logit_scale", LOGIT_SCALE)]], np.float32)

        entry = self.store.entry(Key(question="logit_scale", model=model.identity))
        found: np.float32 = computed(entry, ask)[0, 0]
        return found

    def zero_shot(self, model: Encoder, dataset: Dataset, wording: Wording) -> Predictions:
        """Cosine similarity of every image with every class."""
        check_length(dataset, wording.names, wording.names_by)
        seen, weights = self.features(model, dataset), self.weights(model, wording)
        check_weights(model, weights)
        found = seen.values if nothing(seen) else scores(seen.values, weights)
        variant = {"names": wording.names_by, "templates": wording.templates_by}
        return predictions(dataset, found, seen, variant)

    def supervised(self, model: Classifier, dataset: Dataset) -> Predictions:
        """The classifier's own logits of the split's classes; a head that has others is refused before it is asked."""
        head = getattr(model, "head", None)
        if head:
            head_columns(head, dataset)

        def classify(images: Sequence[object]) -> Floats:
            found = np.asarray(model.classify(images))
            if found.ndim == 2 and not head:
                head_columns(Head(found.shape[1]), dataset)
            return found

        logits = self.kept("class_logits", model, dataset, classify)
        if nothing(logits):
            return predictions(dataset, logits.values, logits, {})
        columns = head_columns(head or Head(logits.values.shape[1]), dataset)
        return predictions(dataset, columns.scores(logits.values), logits, {**columns.variant})

    def knn(self, model: Neighbours, dataset: Dataset, support: Dataset) -> Predictions:
        """Votes of the nearest images of a support split."""
        near, seen = self.features(model.encoder, support), self.features(model.encoder, dataset)
        labelled = [place for place, row in enumerate(support.selected) if support.index[row].label >= 0]
        usable = [place for place in labelled if place not in near.errors]
        labels = np.array([support.index[support.selected[place]].label for place in usable], np.int64)
        found = np.full((len(dataset), dataset.classes), np.nan, np.float32)
        rows = [row for row in range(len(dataset)) if row not in seen.errors]
        if rows:
            found[rows] = knn_scores(
                seen.values[rows], near.values[usable], labels, dataset.classes, model.k, model.weights
            )
        variant = {"k": str(model.k), "support": f"{support.benchmark}/{support.split}", "weights": model.weights}
        return predictions(dataset, found, seen, variant | voters(support, usable))


def voters(support: Dataset, places: Sequence[int]) -> dict[str, str]:
    """Return how many images of a support split vote, and a sha256 of their keys, bytes and labels."""
    rows = [support.index[support.selected[place]] for place in places]
    lines = (f"{row.key}\t{row.sha256}\t{row.label}\n" for row in rows)
    return {"support_n": str(len(rows)), "support_sha256": sha256("".join(lines).encode()).hexdigest()[:12]}


def check_length(dataset: Dataset, names: Sequence[str], names_by: str) -> None:
    """Refuse names that are not one a class: the model would be asked for classes that are not there."""
    if len(names) != dataset.classes:
        raise VocabularyError(
            f"{dataset.benchmark}/{dataset.split} has {dataset.classes} classes, but the class names "
            f"'{names_by}' are {len(names)}. Give a file with a name a line to --eye-names."
        )


def check_weights(model: Encoder, weights: Floats) -> None:
    """Refuse class weights that hold anything but numbers: every image would be compared with them."""
    if not np.isfinite(weights).all():
        raise ModelError(
            f"{model.identity.name} gives NaN for some class names in {model.identity.dtype}. Try dtype=float32."
        )


def text_key(model: Encoder, wording: Wording) -> Key:
    """The key of class weights: every prompt as it is read, and how many belong to a class."""
    shape = f"{len(wording.names)} classes, {len(wording.templates)} prompts each"
    asked = "\n".join([shape, *prompts(wording.names, wording.templates)])
    digest = sha256(asked.encode()).hexdigest()
    return Key(question="class_weights", model=model.identity, prompts=digest, batch_size=model.batch_size)


def nothing(kept: Answers) -> bool:
    """Whether every image ended in an error, so that not even the length of an answer is known."""
    return len(kept.errors) == len(kept.values)


def predictions(dataset: Dataset, found: Floats, kept: Answers, variant: dict[str, str]) -> Predictions:
    """Keep to the split's class subset and name the rows without an answer."""
    if nothing(kept):
        found = np.full((len(dataset), dataset.classes), np.nan, np.float32)
    if found.shape[1] != dataset.classes:
        raise ModelError(
            f"The model answers over {found.shape[1]} classes, but {dataset.benchmark}/{dataset.split} has "
            f"{dataset.classes}. Use a model with the split's own vocabulary."
        )
    if dataset.subset:
        allowed = np.zeros(dataset.classes, bool)
        allowed[list(dataset.subset)] = True
        found = np.where(allowed, found, -np.inf).astype(np.float32)
    return Predictions(dataset.keys, found, kept.errors, variant, notes=kept.notes)
