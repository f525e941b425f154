"""The context of a case: everything that a protocol may use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset, LabelSet
from eyechart.data.labels.class_names import check_class_count, check_unique
from eyechart.data.labels.equivalences import LabelPolicy
from eyechart.data.tables import fold_column
from eyechart.errors import ModelError, SpecError
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.responses import ReplayedResponses
from eyechart.models.types import (
    Classifier,
    Encoder,
    Generator,
    Identity,
    ImageEncoder,
    Model,
    Neighbours,
    Probe,
    Scorer,
)
from eyechart.protocol.options import AUTO, OWN, THINKING_TOKENS, OptionValues, flag
from eyechart.protocol.prompts import Prompt, get_prompt


def refuse_model(spec: str) -> Model:
    """Raise SpecError: the context cannot create models.

    >>> refuse_model("conse[]")
    Traceback (most recent call last):
    eyechart.errors.SpecError: The model 'conse[]' cannot be created in this context.
    """
    raise SpecError(f"The model '{spec}' cannot be created in this context.")


def _refuse_split(benchmark: str, split: str) -> Dataset:
    """Raise SpecError: the context cannot open splits.

    >>> _refuse_split("imagenet", "val")
    Traceback (most recent call last):
    eyechart.errors.SpecError: The split 'imagenet/val' cannot be opened in this context.
    """
    raise SpecError(f"The split '{benchmark}/{split}' cannot be opened in this context.")


@dataclass(frozen=True)
class Context:
    """A model, a data set and the values of a protocol's options: everything that a protocol may use.

    `raw_names` are the class names of the case before they are checked, and `names_source` is where they come from.
    `get_model` creates another model by its specification and `release_model` releases it. `open_split` opens
    another split by benchmark and name, under the limit of the session, and `open_whole_split` without it.
    `templates` names templates that replace those of the model (zero-shot) or of the protocol (species).
    `label_sets` cover the selected images, `dataset.label_sets` the whole split. `label_policy`
    says how labels are compared, and `positive` names the positive class of splits of two classes, "" for none.
    `cluster` names the column of slices.csv whose values are the clusters of images, such as patients.
    `threshold_context` makes the context of the same case on the split that thresholds are chosen on, None without one.
    `describe_models` stores the descriptions of the models, and returns the identity
    of the one that answered, which may have been on another device; its argument is whether models answered in this
    case. `extra_variant` collects further settings for the record, such as the weights of a text encoder, and `prompts`
    the prompts that `variant` names, by their sha256.
    """

    runner: Runner
    model: Model
    dataset: Dataset
    raw_names: tuple[str, ...]
    names_source: str
    options: OptionValues
    label_sets: Sequence[LabelSet] = ()
    get_model: Callable[[str], Model] = refuse_model
    open_split: Callable[[str, str], Dataset] = _refuse_split
    release_model: Callable[[str], None] = lambda _: None
    open_whole_split: Callable[[str, str], Dataset] = _refuse_split
    describe_models: Callable[[bool], Identity] | None = None
    spec: str = ""
    templates: str | None = None
    label_policy: LabelPolicy = field(default_factory=LabelPolicy)
    positive: str = ""
    cluster: str = ""
    threshold_context: "Callable[[], Context] | None" = None
    duplicate_names: bool = False
    extra_variant: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, Prompt] = field(default_factory=dict)
    protocol: str = ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The class names. Raises VocabularyError for a wrong number of names or for duplicates."""
        check_class_count(self.dataset, self.raw_names, self.names_source)
        check_unique(self.raw_names, allow_duplicates=self.duplicate_names)
        return self.raw_names

    @property
    def names_by_class(self) -> tuple[str, ...]:
        """The class names, also equal ones, () if there are more or fewer. Raises VocabularyError for another order."""
        if len(self.raw_names) != self.dataset.classes:
            return ()
        check_class_count(self.dataset, self.raw_names, self.names_source)
        return self.raw_names

    @cached_property
    def labels(self) -> list[int]:
        """The original label of each image, -1 where there is none."""
        return [*self.dataset.selected_values("label")]

    @cached_property
    def candidate_classes(self) -> tuple[int, ...]:
        """The classes that can be predicted: all, or the subset of the split."""
        return self.dataset.subset or tuple(range(self.dataset.classes))

    @cached_property
    def candidate_names(self) -> tuple[str, ...]:
        """The names of the classes that can be predicted."""
        return tuple(self.names[index] for index in self.candidate_classes)

    @cached_property
    def positive_class(self) -> int | None:
        """The class that is positive, None if none is named or the split has more than two classes.

        Raises SpecError for a name that is neither of the two.
        """
        dataset = self.dataset
        if not self.positive or dataset.classes != 2:
            return None
        names = dataset.names or self.raw_names or ("0", "1")
        if self.positive not in names:
            raise SpecError(
                f"--eye-positive is '{self.positive}', and the two classes of {dataset.benchmark}/{dataset.split} are "
                f"{' and '.join(names)}. Name one of them."
            )
        return names.index(self.positive)

    @cached_property
    def clusters(self) -> NDArray[np.int64] | None:
        """The cluster of each image (n,), None without a column; an image without a value is a cluster of its own.

        Raises SpecError for a column that the split does not have.
        """
        if not self.cluster:
            return None
        dataset = self.dataset
        columns = {variable.name: variable for variable in dataset.slices}
        name = self.cluster if self.cluster in columns else fold_column(self.cluster)
        if name not in columns:
            found = f"its columns are {', '.join(columns)}" if columns else "the split has no such file"
            raise SpecError(
                f"--eye-cluster is '{self.cluster}', and slices.csv of {dataset.benchmark}/{dataset.split} has no such "
                f"column: {found}. Add the column, or choose other splits with -k."
            )
        column = columns[name].select(dataset.selected)
        alone = len(column.values) + np.arange(len(column.codes))
        return np.where(column.codes >= 0, column.codes, alone).astype(np.int64)

    @property
    def encoder(self) -> Encoder:
        """The model as an encoder of images and texts. Raises ModelError for another model."""
        if not isinstance(self.model, Encoder):
            raise self.missing_capability("compares images with texts")
        return self.model

    @property
    def image_encoder(self) -> ImageEncoder:
        """The model as an encoder of images. Raises ModelError for another model."""
        if not isinstance(self.model, ImageEncoder):
            raise self.missing_capability("encodes images")
        return self.model

    @property
    def classifier(self) -> Classifier:
        """The model as a classifier. Raises ModelError for another model."""
        if not isinstance(self.model, Classifier):
            raise self.missing_capability("classifies")
        return self.model

    @property
    def neighbours(self) -> Neighbours:
        """The model as an encoder with labelled images. Raises ModelError for another model."""
        if not isinstance(self.model, Neighbours):
            raise self.missing_capability("compares images with labelled ones")
        return self.model

    @property
    def probe(self) -> Probe:
        """The model as an encoder with labelled images to fit on. Raises ModelError for another model."""
        if not isinstance(self.model, Probe):
            raise self.missing_capability("is fitted on labelled images")
        return self.model

    @property
    def generator(self) -> Generator:
        """The model as a generator of text. Raises ModelError for another model."""
        if not isinstance(self.model, Generator):
            raise self.missing_capability("answers in words")
        return self.model

    @property
    def scorer(self) -> Scorer:
        """The model as a scorer of texts. Raises ModelError for another model."""
        if not isinstance(self.model, Scorer):
            raise self.missing_capability("gives log-probabilities")
        return self.model

    @property
    def replayed_words(self) -> ReplayedResponses:
        """The model as a file of completions. Raises ModelError for another model."""
        if not isinstance(self.model, ReplayedResponses):
            raise self.missing_capability("is a file of words")
        return self.model

    def missing_capability(self, capability: str) -> ModelError:
        """Return the error for a model without a capability that the protocol needs.

        Args:
            capability: What the model does not do, as a verb: "classifies".
        """
        return ModelError(f"{self.model.identity.name} is no model that {capability}, which {self.protocol} needs.")

    @property
    def images_per_request(self) -> int:
        """The number of images in a request."""
        return int(self.options.get("images_per_request", "1"))

    def token_limit(self, usual: int) -> int:
        """Return the most tokens of an answer: the option `max_tokens`, by default `usual` with room for thinking.

        Args:
            usual: The most tokens that an answer takes without thinking.
        """
        limit = self.options.get("max_tokens", AUTO)
        return int(limit) if limit != AUTO else usual_token_limit(self.model, usual)

    def flag(self, option: str, value: str | None = None) -> str:
        """Return the command-line argument that sets an option of the protocol.

        Args:
            option: The name of the option.
            value: Its value, by default the current one.
        """
        return flag(self.protocol, option, self.options.get(option) if value is None else value)

    def select_prompt(self, own: Prompt) -> Prompt:
        """Return the prompt of a case.

        Args:
            own: The protocol's own prompt, which the option `prompt` may replace.

        Raises:
            SpecError: If the slots of the other prompt differ.
        """
        name = self.options.get("prompt", OWN)
        selected = own if name == OWN else get_prompt(name)
        if {*selected.slots} != {*own.slots}:
            expected, slots = (", ".join(prompt.slots) or "none" for prompt in (own, selected))
            raise SpecError(f"{self.flag('prompt')} has the slots: {slots}. This protocol fills: {expected}.")
        return selected

    def variant(self, prompt: Prompt, parser_version: str) -> dict[str, str]:
        """Return the options, prompt, parser, source of names and further settings, as the record stores them.

        Args:
            prompt: The prompt of the case.
            parser_version: The name and the version of the parser.
        """
        self.prompts[prompt.sha256] = prompt
        texts = {
            "prompt": f"{prompt.name} ({prompt.sha256[:8]})",
            "parser_version": parser_version,
            "names": self.names_source,
        }
        return {**self.options, **texts, **self.extra_variant}


def usual_token_limit(model: Model, usual: int) -> int:
    """Return the most tokens of an answer that takes `usual` tokens without thinking."""
    return usual + (THINKING_TOKENS if isinstance(model, Generator) and model.thinks else 0)


def missing_scores_reason(context: Context) -> str:
    """Return why the model of a case has no log-probabilities, "" if it has them."""
    return context.model.scoring_obstacle if isinstance(context.model, Scorer) else ""
