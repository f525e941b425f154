"""Abstention: ask for the species under many prompts, and parse whether and why the model abstains."""

from collections.abc import Iterator, Mapping

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.protocol.ask import ask
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.options import MAX_TOKENS
from eyechart.protocol.prompts import get_prompt
from eyechart.protocol.sample_view import Line, SampleView
from eyechart.realbirdid.answers.abstention_predictions import ABSTAIN, AbstentionPredictions
from eyechart.realbirdid.answers.abstention_reasons import CHOICES, ReasonParser
from eyechart.realbirdid.answers.bird_predictions import answerability
from eyechart.realbirdid.answers.bird_vocabulary import BirdVocabulary
from eyechart.realbirdid.answers.prompt_sets import load_prompt_set
from eyechart.realbirdid.data.observations import REASONS
from eyechart.realbirdid.metrics.abstention_estimates import abstention_rates, abstention_reasons, prompt_effects
from eyechart.realbirdid.protocols.helpers.bird_options import (
    ABSTENTION_IMAGES,
    ALL,
    EXTRACTION,
    PROMPT_SET,
    PROMPTS_PER_LEVEL,
)
from eyechart.realbirdid.protocols.helpers.bird_requests import image_requests
from eyechart.realbirdid.protocols.helpers.extraction import extract_choices, extraction_variant
from eyechart.realbirdid.protocols.helpers.name_scores import require_observations

_REASON_LIST = ", ".join(REASONS)


def _describe_abstention(row: Line) -> Iterator[tuple[str, str]]:
    yield "abstained", "" if row["error"] else "yes" if row["prediction"] == ABSTAIN else "no"


class Abstention(Protocol[AbstentionPredictions]):
    """Measure whether and why a model abstains, and how much that depends on the prompt."""

    name = "abstention"
    example = Example(
        "realbirdid/sample/hf[toybox-mllm]@prompts_per_level=3",
        ("abstention unanswerable naive", "correct_reason  refuse"),
    )
    prompts = ("abstention_reason",)
    summary = "The model may decline to answer; prompts of several levels tell it to do so."
    sample_view = SampleView(
        lambda _: {"abstention": ("correct", "target")},
        unit="question",
        question=lambda row: f"{row['prompt_level']}, wording {row['prompt'].removeprefix(row['prompt_level'] + '/')}",
        category=answerability,
        answer="stated_reason",
        details=_describe_abstention,
        slots=lambda row: (row["prompt"], {}),
        sampling_unit="observation",
    )
    source = "arXiv 2603.27033"
    requires = ("generator",)
    options = (PROMPT_SET, PROMPTS_PER_LEVEL, ABSTENTION_IMAGES, EXTRACTION, MAX_TOKENS)
    benchmarks = ("realbirdid",)
    metrics = (abstention_rates, prompt_effects, abstention_reasons)
    steps = (image_requests, extract_choices, answerability)

    def prompt_slots(self, text: str, variant: Mapping[str, str], dataset: Dataset | None) -> dict[str, str]:  # noqa: ARG002
        """Return the list of reasons."""
        return {"reason_list": _REASON_LIST} if "{reason_list}" in text else {}

    def predict(self, context: Context) -> AbstentionPredictions:
        """Send every prompt for every image, and extract the reason from every response."""
        observed, whole_set = require_observations(context.dataset), load_prompt_set(context.options["prompt_set"])
        number = context.options["prompts_per_level"]
        prompt_set = whole_set if number == ALL else whole_set.first(int(number))
        everyone = context.options["abstention_images"] == "all"
        rows = np.arange(len(observed)) if everyone else np.flatnonzero(~observed.answerable)
        queries = [(row, text) for texts in prompt_set.levels.values() for text in texts for row in rows.tolist()]
        answers = ask(context, image_requests(context, queries))
        completions, second = [response.display_text for response in answers.responses], get_prompt("abstention_reason")
        reader = ReasonParser(BirdVocabulary.from_taxonomy(observed.taxonomy))
        result = extract_choices(context, answers.responses, second, CHOICES, reader, reason_list=_REASON_LIST)
        usage = answers.usage + result.usage
        return AbstentionPredictions(
            dataset=context.dataset,
            seed=context.runner.seed,
            errors=result.errors,
            variant=extraction_variant(context, None, second, CHOICES)
            | {"prompt_set": f"{prompt_set.name} ({prompt_set.sha256[:8]})"},
            observations=observed,
            prompt_set=prompt_set,
            prompts_left_out=whole_set.count - prompt_set.count,
            image_indices=rows,
            completions=tuple(completions),
            choice_indices=np.array(result.indices, np.int64).reshape(prompt_set.count, len(rows)),
            usage=usage,
            cost=context.model.cost(usage),
            requests=len({*queries}) + result.requests,
            truncated=result.truncated,
        )
