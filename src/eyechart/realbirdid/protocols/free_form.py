"""Free form: the model names the species in free text, from which one name is extracted."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eyechart.protocol.ask import ask
from eyechart.protocol.base import Example, Protocol, Rows, truncation_note
from eyechart.protocol.context import Context
from eyechart.protocol.options import MAX_TOKENS, PROMPT, OptionValues
from eyechart.protocol.prompts import get_prompt
from eyechart.protocol.sample_view import SampleView
from eyechart.realbirdid.answers.bird_predictions import BIRD_COLUMNS, LABELS, ExtractedPredictions, answerability
from eyechart.realbirdid.answers.bird_vocabulary import BirdVocabulary
from eyechart.realbirdid.metrics.shares import harmonic_mean_estimate
from eyechart.realbirdid.protocols.helpers.bird_options import EXTRACTION
from eyechart.realbirdid.protocols.helpers.bird_requests import image_requests
from eyechart.realbirdid.protocols.helpers.extraction import extract_choices, extraction_variant
from eyechart.realbirdid.protocols.helpers.name_scores import require_observations
from eyechart.results.estimates import Estimate
from eyechart.results.records import ANSWERABLE, UNANSWERABLE
from eyechart.results.sample_table import SHARED_COLUMNS

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
SPECIES, GENUS, ABSTAINED, NOT_PARSED = "species", "genus", "abstained", ""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FreeFormPredictions(ExtractedPredictions):
    """The response about each image, and the index of its name among the choices of the vocabulary."""

    vocabulary: BirdVocabulary

    @cached_property
    def taxa(self) -> Ints:
        """The indices of the named species and genus (n, 2), -1 where none was named."""
        table = np.array([*self.vocabulary.taxa, (-1, -1)], np.int64)
        return table[self.choice_indices]

    @cached_property
    def abstained(self) -> Bools:
        """Mask of parsed responses that name no species (n,)."""
        abstained: Bools = self.parsed & (self.taxa[:, 0] < 0)
        return abstained

    @cached_property
    def correct(self) -> Bools:
        """Mask of correct responses (n,): the true species, or, if unanswerable, no species and no wrong genus."""
        species, genus = self.taxa.T
        stopped = self.abstained & ((genus == self.observations.genus) | (genus < 0))
        correct: Bools = np.where(
            self.observations.answerable, self.answered & (species == self.observations.species), stopped
        )
        return correct

    @cached_property
    def correct_genus(self) -> Bools:
        """Mask of responses with the true genus, named itself or by one of its species (n,)."""
        correct: Bools = self.parsed & (self.taxa[:, 1] == self.observations.genus)
        return correct

    def answer_level(self, row: int) -> str:
        """Return the level of a response: species, genus, abstained, or "" if it was not parsed."""
        if not self.parsed[row]:
            return NOT_PARSED
        species, genus = self.taxa[row].tolist()
        return SPECIES if species >= 0 else GENUS if genus >= 0 else ABSTAINED

    def extracted_name(self, row: int) -> str:
        """Return the extracted name of a response, "" if it was not parsed."""
        return self.vocabulary.choices[self.choice_indices[row]] if self.parsed[row] else ""

    def notes(self) -> Iterator[str]:
        """Yield notes about unparsed and truncated responses, and about ambiguous common names."""
        came = self.count_outcomes()
        if came.unparsed:
            total = self.describe_count()
            yield f"{came.unparsed} of {total} got an answer that could not be parsed; it counts as wrong."
        yield from truncation_note(came.truncated, self.describe_count())
        if self.vocabulary.shared:
            yield f"common names of several species were not looked for: {', '.join(self.vocabulary.shared)}."

    def samples(self) -> Rows:
        """Yield one row per image: the extracted name, whether it is correct, the response, and the name's level."""
        yield [*SHARED_COLUMNS, *BIRD_COLUMNS, "response", "answer_level", "truncated"]
        for row in range(len(self.keys)):
            shared = self.shared_cells(
                row,
                prediction=self.extracted_name(row),
                correct=self.correct[row] if self.answered[row] else None,
                error=self.errors.get(row, ""),
            )
            cells = [self.completions[row], self.answer_level(row), int(row in self.truncated)]
            yield [*shared, *self.bird_cells(row), *cells]


def free_form_accuracies(predictions: FreeFormPredictions) -> Iterator[Estimate]:
    """Yield accuracy by level, abstention rate, and the harmonic mean; unparsed responses are wrong."""
    answerable = predictions.observations.answerable
    sets = (
        ("acc", ANSWERABLE, "species", predictions.correct, answerable, f"{ANSWERABLE}, species"),
        ("acc", ANSWERABLE, "genus", predictions.correct_genus, answerable, ""),
        ("acc", UNANSWERABLE, "genus", predictions.correct_genus, ~answerable, ""),
        ("acc", UNANSWERABLE, "", predictions.correct, ~answerable, ""),
        ("abstained", ANSWERABLE, "", predictions.abstained, answerable, f"{ANSWERABLE}, abstained"),
        ("abstained", UNANSWERABLE, "", predictions.abstained, ~answerable, f"{UNANSWERABLE}, abstained"),
    )
    for name, subset, level, outcomes, mask, title in sets:
        known = np.where(mask, _as_outcomes(predictions, outcomes), np.nan)
        clusters = predictions.observations.clusters
        yield Estimate.proportion(name, known, clusters, labels=LABELS, subset=subset, level=level, title=title)
    yield harmonic_mean_estimate(
        "hm", LABELS, _as_outcomes(predictions, predictions.correct), predictions.observations, predictions.seed
    )


def _as_outcomes(predictions: FreeFormPredictions, outcomes: Bools) -> Floats:
    """Return outcomes (n,) as 1 and 0, NaN without a response."""
    return np.where(predictions.answered, outcomes, np.nan)


class FreeForm(Protocol[FreeFormPredictions]):
    """Ask for the species and extract a name from the response."""

    name = "free_form"
    example = Example("realbirdid/sample/hf[toybox-mllm]", ("acc answerable species", "hm all"))
    prompts = ("species_extraction",)
    summary = "The model names the bird in free text, at a level of its choice."
    sample_view = SampleView(
        lambda _: {"free form": ("correct", "species")},
        category=answerability,
        details=lambda row: [("level", row["answer_level"])] if row["answer_level"] else [],
        sampling_unit="observation",
    )
    source = "arXiv 2603.27033"
    requires = ("generator",)
    replays = "free_form"
    options = (PROMPT, EXTRACTION, MAX_TOKENS)
    benchmarks = ("realbirdid",)
    metrics = (free_form_accuracies,)
    steps = (image_requests, extract_choices, answerability)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:  # noqa: ARG002
        """Return the options that say how a model is asked, which a file is not."""
        return {"extraction", "max_tokens"} if replayed else set()

    def predict(self, context: Context) -> FreeFormPredictions:
        """Send one request per image, then extract the name from each response."""
        observed = require_observations(context.dataset)
        names = BirdVocabulary.from_taxonomy(observed.taxonomy)
        question, second = context.select_prompt(get_prompt("species")), get_prompt("species_extraction")
        answers = ask(context, image_requests(context, ((row, question.text) for row in range(len(context.dataset)))))
        completions = [response.display_text for response in answers.responses]
        extraction = extract_choices(context, answers.responses, second, names.choices, names)
        return FreeFormPredictions(
            dataset=context.dataset,
            seed=context.runner.seed,
            errors=extraction.errors,
            variant=extraction_variant(context, question, second, names.choices),
            observations=observed,
            vocabulary=names,
            completions=tuple(completions),
            choice_indices=np.array(extraction.indices, np.int64).reshape(-1),
            usage=(usage := answers.usage + extraction.usage),
            cost=context.model.cost(usage),
            requests=len(completions) + extraction.requests,
            truncated=extraction.truncated,
        )
