"""Everything that a question in words may need, and how replies become predictions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

import msgspec
from PIL import Image

from eyechart.data.class_names import check_class_count, check_unique
from eyechart.data.dataset import Dataset
from eyechart.data.equivalences import LabelPolicy
from eyechart.data.labels import LabelSet
from eyechart.errors import ModelError, SpecError
from eyechart.inference.arrays import CachedArray
from eyechart.inference.image_runner import image_key, run_images
from eyechart.inference.requests import Generate, share_by_image
from eyechart.inference.responses import ReplayedResponses, Responses
from eyechart.inference.runner import Runner
from eyechart.models.types import (
    Classifier,
    Encoder,
    Floats,
    Generator,
    ImageEncoder,
    Model,
    Neighbours,
    Request,
    Scorer,
    Usage,
)
from eyechart.protocol.options import OWN, OptionValues, flag
from eyechart.protocol.prompts import Prompt, get_prompt


def refuse_model(spec: str) -> Model:
    """Refuse to make a model."""
    raise SpecError(f"The model '{spec}' cannot be made in this context.")


def refuse_split(benchmark: str, split: str) -> Dataset:
    """Refuse to open a split."""
    raise SpecError(f"The split '{benchmark}/{split}' cannot be opened in this context.")


@dataclass(frozen=True)
class Context:
    """A model and a data set under a protocol's options: all that a protocol may use.

    `given_names` are the class names of the case, and `names_source` says where they come from. `get_model` makes
    another model by its specification and `release_model` drops it again. `open_split` opens another split by its
    benchmark and name, under the limit of the session, and `open_whole_split` without it. `templates` are the prompts
    that were asked for in the place of a model's or protocol's own, and `label_policy` says how labels are compared.
    """

    runner: Runner
    model: Model
    dataset: Dataset
    raw_names: tuple[str, ...]
    names_source: str
    options: OptionValues
    label_sets: Sequence[LabelSet] = ()
    get_model: Callable[[str], Model] = refuse_model
    open_split: Callable[[str, str], Dataset] = refuse_split
    release_model: Callable[[str], None] = lambda _: None
    open_whole_split: Callable[[str, str], Dataset] = refuse_split
    spec: str = ""
    templates: str | None = None
    label_policy: LabelPolicy = field(default_factory=LabelPolicy)
    duplicate_names: bool = False
    extra_variant: dict[str, str] = field(default_factory=dict)
    protocol: str = ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The class names. Raises VocabularyError for a wrong number of names, or for two equal ones."""
        check_class_count(self.dataset, self.raw_names, self.names_source)
        check_unique(self.raw_names, allow_duplicates=self.duplicate_names)
        return self.raw_names

    @cached_property
    def labels(self) -> list[int]:
        """The original label of each image, -1 where there is none."""
        return [self.dataset.index[row].label for row in self.dataset.selected]

    @cached_property
    def candidate_classes(self) -> tuple[int, ...]:
        """The classes in play: all, or the split's own choice of them."""
        return self.dataset.subset or tuple(range(self.dataset.classes))

    @cached_property
    def candidate_names(self) -> tuple[str, ...]:
        """The names of the classes in play."""
        return tuple(self.names[place] for place in self.candidate_classes)

    @property
    def encoder(self) -> Encoder:
        """The model as an encoder of images and texts. Raises ModelError for one that is none."""
        if not isinstance(self.model, Encoder):
            raise self.missing_capability("compares images with texts")
        return self.model

    @property
    def image_encoder(self) -> ImageEncoder:
        """The model as an encoder of images. Raises ModelError for one that is none."""
        if not isinstance(self.model, ImageEncoder):
            raise self.missing_capability("encodes images")
        return self.model

    @property
    def classifier(self) -> Classifier:
        """The model as a classifier. Raises ModelError for one that is none."""
        if not isinstance(self.model, Classifier):
            raise self.missing_capability("classifies")
        return self.model

    @property
    def neighbours(self) -> Neighbours:
        """The model as an encoder with labelled images. Raises ModelError for one that is none."""
        if not isinstance(self.model, Neighbours):
            raise self.missing_capability("compares images with labelled ones")
        return self.model

    @property
    def generator(self) -> Generator:
        """The model as one that answers in words. Raises ModelError for one that is none."""
        if not isinstance(self.model, Generator):
            raise self.missing_capability("answers in words")
        return self.model

    @property
    def scorer(self) -> Scorer:
        """The model as one with log-probabilities. Raises ModelError for one that is none."""
        if not isinstance(self.model, Scorer):
            raise self.missing_capability("gives log-probabilities")
        return self.model

    @property
    def replayed_words(self) -> ReplayedResponses:
        """The model as a file of words. Raises ModelError for one that is none."""
        if not isinstance(self.model, ReplayedResponses):
            raise self.missing_capability("is a file of words")
        return self.model

    def missing_capability(self, capability: str) -> ModelError:
        """Return the error of a model that is asked for what it has not."""
        return ModelError(f"{self.model.identity.name} is no model that {capability}, which {self.protocol} needs.")

    @property
    def images_per_request(self) -> int:
        """How many images a request shows."""
        return int(self.options.get("images_per_request", "1"))

    def flag(self, option: str, value: str | None = None) -> str:
        """Return how an option of the protocol is set to a value, by default its own, as error messages name it."""
        return flag(self.protocol, option, self.options.get(option) if value is None else value)

    def select_prompt(self, own: Prompt) -> Prompt:
        """The protocol's own prompt, or the one that was asked for in its place."""
        given = self.options.get("prompt", OWN)
        found = own if given == OWN else get_prompt(given)
        if {*found.slots} != {*own.slots}:
            wanted, has = (", ".join(each.slots) or "none" for each in (own, found))
            raise SpecError(f"{self.flag('prompt')} has the slots: {has}. This protocol fills: {wanted}.")
        return found

    def variant(self, asked: Prompt, parser_version: str) -> dict[str, str]:
        """Every choice, by what prompt and parser, and which models and files helped."""
        told = {
            "prompt": f"{asked.name} ({asked.sha256[:8]})",
            "parser_version": parser_version,
            "names": self.names_source,
        }
        return {**self.options, **told, **self.extra_variant}


def missing_scores_reason(context: Context) -> str:
    """Return why the model of a case has no log-probabilities, "" where it has."""
    return context.model.scoring_obstacle if isinstance(context.model, Scorer) else ""


def is_replay(context: Context) -> bool:
    """Whether the model is a file of words that were said elsewhere, image by image."""
    return isinstance(context.model, ReplayedResponses)


def replayed_responses(context: Context, questions: Generate) -> Responses:
    """The words of a file as replies to questions about one image each."""
    model = context.replayed_words
    if context.images_per_request > 1:
        raise SpecError(f"{model.spec} has one answer an image. Use {context.flag('images_per_request', '1')}.")
    said = model.responses(context.dataset)
    replies = tuple(said[question.images[0]] for question in questions.requests)
    return Responses(replies, Usage(), model.path, model.identity.weights_sha256)


def ask(context: Context, questions: Generate) -> Responses:
    """Put the questions, as far as they were not answered before; a replay has its answers already.

    Questions about one image each are kept by image: neither a limit nor a seed is any part of them, beside what they
    changed in a question's text.
    """
    if is_replay(context):
        return replayed_responses(context, questions)
    runner, dataset = context.runner, context.dataset
    if all(len(question.images) == 1 for question in questions.requests):
        runner, questions = replace(runner, limit=None, seed=0), share_by_image(questions, dataset.selected)
        dataset = replace(dataset, rows=())
    return runner.generate(context.generator, dataset, questions)


def score_each_image(
    context: Context,
    question: str,
    parts: Sequence[str | int],
    choices: Sequence[str],
    ask: Callable[[Sequence[Request]], Floats],
) -> CachedArray:
    """Numbers of choices behind a prompt, in which numbers stand in the place of the image; kept image by image."""
    dataset, model, runner = context.dataset, context.scorer, context.runner

    def asked(images: Sequence[Image.Image]) -> Floats:
        return ask([Request(tuple(fill_image(part, image) for part in parts)) for image in images])

    told = sha256(msgspec.json.encode([parts, choices])).hexdigest()
    key = image_key(question, model, dataset, told)
    return run_images(runner.store, key, dataset, model, asked, lambda image: image, runner.progress, pad=False)


def fill_image(part: str | int, image: Image.Image) -> str | Image.Image:
    """An image in its place."""
    return image if isinstance(part, int) else part
