"""Everything that a question in words may need, and how replies become predictions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import msgspec
from PIL import Image

from eyechart.data.class_names import check_length
from eyechart.data.dataset import Dataset
from eyechart.data.labels import LabelSet
from eyechart.errors import SpecError
from eyechart.inference.arrays import Answers
from eyechart.inference.image_runner import answers, image_key
from eyechart.inference.requests import Questions, by_image
from eyechart.inference.responses import Replies
from eyechart.inference.runner import Asker
from eyechart.models.types import Floats, Request, Usage
from eyechart.protocol.options import Chosen
from eyechart.protocol.prompts import Prompt, prompt

OWN = "own"


def nobody(spec: str) -> Any:
    """Refuse to make a model."""
    raise SpecError(f"Nobody here makes the model '{spec}'.")


def stays(spec: str) -> None:
    """Leave a lent model where it is."""


def nowhere(benchmark: str, split: str) -> Dataset:
    """Refuse to open a split."""
    raise SpecError(f"Nobody here opens the split '{benchmark}/{split}'.")


@dataclass(frozen=True)
class Sitting:
    """A model before a split, with the protocol's choices.

    `lend` makes another model by its specification and `dismiss` drops it again; `fetch` opens another split by its
    benchmark and name. `templates` are the prompts that were asked for in the place of a protocol's own.
    """

    asker: Asker
    model: Any
    dataset: Dataset
    names: tuple[str, ...]
    names_by: str
    chosen: Chosen
    truths: Sequence[LabelSet] = ()
    lend: Callable[[str], Any] = nobody
    fetch: Callable[[str, str], Dataset] = nowhere
    dismiss: Callable[[str], None] = stays
    spec: str = ""
    templates: str | None = None
    helpers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_length(self.dataset, self.names, self.names_by)

    @cached_property
    def labels(self) -> list[int]:
        """The original label of each image, -1 where there is none."""
        return [self.dataset.index[row].label for row in self.dataset.selected]

    @cached_property
    def offered(self) -> tuple[int, ...]:
        """The classes in play: all, or the split's own choice of them."""
        return self.dataset.subset or tuple(range(self.dataset.classes))

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """The names of the classes in play."""
        return tuple(self.names[place] for place in self.offered)

    @property
    def images(self) -> int:
        """How many images a request shows."""
        return int(self.chosen.get("images", "1"))

    def prompt(self, own: Prompt) -> Prompt:
        """The protocol's own prompt, or the one that was asked for in its place."""
        given = self.chosen.get("prompt", OWN)
        found = own if given == OWN else prompt(given)
        if {*found.slots} != {*own.slots}:
            wanted, has = (", ".join(each.slots) or "none" for each in (own, found))
            raise SpecError(f"--eye-prompt={given} has the slots: {has}. This protocol fills: {wanted}.")
        return found

    def variant(self, asked: Prompt, parser: str) -> dict[str, str]:
        """Every choice, by what prompt and parser, and which models and files helped."""
        told = {"prompt": f"{asked.name} ({asked.sha256[:8]})", "parser": parser, "names": self.names_by}
        return {**self.chosen, **told, **self.helpers}


def cost(model: Any, usage: Usage) -> float | None:
    """What tokens cost, where the model knows its prices."""
    price = getattr(model, "cost", None)
    found: float | None = price(usage) if price else None
    return found


def replayed(sitting: Sitting) -> bool:
    """Whether the model is a file of words that were said elsewhere, image by image."""
    return hasattr(sitting.model, "said")


def collected(sitting: Sitting, questions: Questions) -> Replies:
    """The words of a file as replies to questions about one image each."""
    if sitting.images > 1:
        raise SpecError(f"{sitting.model.spec} has one answer an image. Use --eye-images-per-request=1.")
    said = sitting.model.said(sitting.dataset)
    replies = tuple(said[question.rows[0]] for question in questions.asked)
    return Replies(replies, Usage(), sitting.model.path, sitting.model.identity.weights_sha256)


def ask(sitting: Sitting, questions: Questions) -> Replies:
    """Put the questions, as far as they were not answered before; a replay has its answers already.

    Questions about one image each are kept by image: neither a limit nor a seed is any part of them, beside what they
    changed in a question's text.
    """
    if replayed(sitting):
        return collected(sitting, questions)
    asker, dataset = sitting.asker, sitting.dataset
    if all(len(question.rows) == 1 for question in questions.asked):
        asker, questions = replace(asker, limit=None, seed=0), by_image(questions, dataset.selected)
        dataset = replace(dataset, rows=())
    return asker.replies(sitting.model, dataset, questions)


def of_each_image(
    sitting: Sitting,
    question: str,
    parts: Sequence[str | int],
    choices: Sequence[str],
    ask: Callable[[Sequence[Request]], Floats],
) -> Answers:
    """Numbers of choices behind a prompt, in which numbers stand in the place of the image; kept image by image."""
    dataset, model, asker = sitting.dataset, sitting.model, sitting.asker

    def asked(images: Sequence[Image.Image]) -> Floats:
        return ask([Request(tuple(shown(part, image) for part in parts)) for image in images])

    told = sha256(msgspec.json.encode([parts, choices])).hexdigest()
    key = image_key(question, model, dataset, told)
    return answers(asker.store, key, dataset, model, asked, lambda image: image, asker.progress, pad=False)


def shown(part: str | int, image: Image.Image) -> str | Image.Image:
    """An image in its place."""
    return image if isinstance(part, int) else part
