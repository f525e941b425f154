"""The parsed responses of abstention: whether and why a model abstains, under many prompts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eyechart.protocol.base import Rows, answered_images, truncation_note, with_key
from eyechart.realbirdid.answers.abstention_reasons import ANSWERED, CHOICES
from eyechart.realbirdid.answers.bird_predictions import ExtractedPredictions
from eyechart.realbirdid.answers.prompt_sets import PromptSet, prompt_number
from eyechart.realbirdid.data.observations import REASONS
from eyechart.results.sample_table import SHARED_COLUMNS
from eyechart.statistics.clusters import clustered_wilson

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_REASON_CHOICES = tuple(reason for reason in CHOICES if reason != ANSWERED)
ANSWER, ABSTAIN = "answer", "abstain"


@dataclass(frozen=True)
class AbstentionPredictions(ExtractedPredictions):
    """Responses about r images under each of k prompts, ordered by prompt level.

    `image_indices` (r,) are the images, and `choice_indices` (k, r) are indices into `CHOICES`. `prompts_left_out` is
    the number of prompts of the set that were not sent.
    """

    prompt_set: PromptSet
    image_indices: Ints
    prompts_left_out: int = 0

    @cached_property
    def abstained(self) -> Bools:
        """Mask of parsed responses that name no species (k, r)."""
        abstained: Bools = self.parsed & (self.choice_indices != CHOICES.index(ANSWERED))
        return abstained

    @cached_property
    def correct(self) -> Floats:
        """Whether each response (k, r) names an answerable bird or abstains on another: 1, 0, NaN for an error."""
        return np.where(self.answered, self.parsed & (self.abstained != self.answerable), np.nan)

    @cached_property
    def levels(self) -> Mapping[str, slice]:
        """The slice of the prompts of each level."""
        slices, start = {}, 0
        for level, texts in self.prompt_set.levels.items():
            slices[level] = slice(start, start + len(texts))
            start += len(texts)
        return slices

    @cached_property
    def answerable(self) -> Bools:
        """Mask of answerable images (r,)."""
        return self.observations.answerable[self.image_indices]

    @cached_property
    def reason(self) -> Ints:
        """Index into REASONS of each image (r,), -1 for answerable images and for images without a reason."""
        return self.observations.reason[self.image_indices]

    @cached_property
    def image_clusters(self) -> Ints:
        """The observation of each image (r,)."""
        return self.observations.clusters[self.image_indices]

    def error_messages(self) -> list[str]:
        """Return every error message with the key of its image."""
        rows = self.image_indices
        return [with_key(self.keys[rows[index % len(rows)]], error) for index, error in self.errors.items()]

    def describe_count(self) -> str:
        """Return the number of requested responses, as text."""
        return f"{self.choice_indices.size} answers"

    def answered_images(self) -> Floats:
        """Return for each image whether it has a response to every prompt."""
        return answered_images(np.tile(self.image_indices, len(self.choice_indices)), self.errors, len(self.keys))

    def notes(self) -> Iterator[str]:
        """Yield notes about unparsed and truncated responses, and about a split without unanswerable images."""
        came = self.count_outcomes()
        if self.prompts_left_out:
            sent = self.prompt_set.count
            yield f"{sent} of {sent + self.prompts_left_out} prompts were sent (abstention.prompts_per_level)."
        if came.unparsed:
            yield f"{came.unparsed} of {self.describe_count()} could not be parsed; they do not count as abstentions."
        yield from truncation_note(came.truncated, self.describe_count())
        if self.answerable.all():
            yield "no bird of the split is unanswerable, so that there is nothing to abstain from."

    def samples(self) -> Rows:
        """Yield one row per response: whether the model should abstain and does, the prompt, and the stated reason."""
        about = ("prompt_level", "prompt", "observation", "reason")
        yield [*SHARED_COLUMNS, *about, "response", "stated_reason", "truncated"]
        for prompt, level, name in self.numbered_prompts():
            for index, row in enumerate(self.image_indices.tolist()):
                observation, _, _, reason = self.bird_cells(row)
                chosen = int(self.choice_indices[prompt, index])
                at = prompt * len(self.image_indices) + index
                parsed, abstained = self.parsed[prompt, index], self.abstained[prompt, index]
                shared = self.shared_cells(
                    row,
                    target=ANSWER if self.answerable[index] else ABSTAIN,
                    prediction="" if not parsed else ABSTAIN if abstained else ANSWER,
                    correct=self.correct[prompt, index],
                    error=self.errors.get(at, ""),
                )
                cells = [self.completions[at], CHOICES[chosen] if chosen >= 0 else "", int(at in self.truncated)]
                yield [*shared, level, f"{level}/{name}", observation, reason, *cells]

    def numbered_prompts(self) -> Iterator[tuple[int, str, str]]:
        """Yield the index, the level and the number of every prompt."""
        for level, part in self.levels.items():
            count = part.stop - part.start
            yield from ((part.start + index, level, prompt_number(index, count)) for index in range(count))

    def files(self) -> dict[str, Rows]:
        """Return the confusion matrix of reasons and the abstention rate of each prompt."""
        return {**super().files(), "confusion": self.confusion_rows(), "wordings": self.prompt_rows()}

    def confusion_rows(self) -> Rows:
        """Yield the counts of extracted reasons by true reason."""
        yield ["level", "issue", "reason", "count"]
        for level, part in self.levels.items():
            for issue, name in enumerate(REASONS):
                birds = self.reason == issue
                reasons = self.choice_indices[part][:, birds][self.abstained[part][:, birds]]
                counts = np.bincount(reasons, minlength=len(_REASON_CHOICES)).tolist()
                yield from ([level, name, reason, count] for reason, count in zip(_REASON_CHOICES, counts, strict=True))

    def prompt_rows(self) -> Rows:
        """Yield for each prompt the number of unanswerable images and how often the model abstained on them."""
        yield ["level", "wording", "text", "n", "abstained", "rate", "ci_low", "ci_high"]
        birds = ~self.answerable
        texts = [text for level in self.prompt_set.levels.values() for text in level]
        for wording, level, name in self.numbered_prompts():
            answered = self.answered[wording] & birds
            n, count = int(answered.sum()), int((self.abstained[wording] & answered).sum())
            ci = clustered_wilson(np.where(answered, self.abstained[wording], np.nan), self.image_clusters)
            rates = [f"{rate:.6f}" for rate in (count / n, *ci)] if n else [""] * 3
            yield [level, name, texts[wording], n, count, *rates]
