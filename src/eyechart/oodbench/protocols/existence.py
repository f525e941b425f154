"""The existence protocol: two opposite yes-no questions about every pair of a division."""

from collections.abc import Sequence

import numpy as np

from eyechart.inference.store.responses import Response, Responses
from eyechart.models.types import Usage
from eyechart.oodbench.answers.pair_predictions import LABELS, ExistencePredictions
from eyechart.oodbench.answers.yes_no_answers import (
    PROMPT_KINDS,
    PROMPT_NAMES,
    Query,
    ask_queries,
    existence_prompts,
    parse_yes_no,
    parser_versions,
    timing,
)
from eyechart.oodbench.data.annotation import find_annotation
from eyechart.oodbench.division.case_division import division_label, load_division
from eyechart.oodbench.division.division_options import EXISTENCE, IN_A_DIVISION, unused, warnings
from eyechart.oodbench.division.pairs import Division
from eyechart.oodbench.metrics.pair_estimates import answer_shares, degradation, yes_no_measures
from eyechart.parsers.truncation import read_complete_word
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.options import OptionValues, RequestedValues
from eyechart.protocol.sample_view import SampleView
from eyechart.statistics.yes_no import MISSING, NO, UNPARSED, YES


class Existence(Protocol[ExistencePredictions]):
    """Asks whether a category is present and whether it is absent, for every pair of a division."""

    name = "existence"
    example = Example("oodbench/sample-coco/hf[toybox-mllm]", ("acc ID", "acc OOD-S", "acc OOD-H"))
    prompts = ("existence", "existence_not", "existence_cot", "existence_cot_not")
    summary = "The model answers with yes or no whether a category is in the image."
    sample_view = SampleView(
        lambda _: {LABELS: ("correct", "target")},
        unit="question",
        question=lambda row: f"{row['category_name']}: {row['question']} question, pair {row['pair']}",
        slots=lambda row: (row["question"], {"category": row["category_name"]}),
    )
    prompt_kinds = PROMPT_KINDS
    source = "arXiv 2602.18094"
    requires = ("generator",)
    replays = "existence"
    options = EXISTENCE
    benchmarks = ("oodbench",)
    metrics = (yes_no_measures, answer_shares, degradation)
    steps = (load_division, ask_queries, parse_yes_no)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that have no effect because the division, or the answers, are read from a file."""
        return unused(options) | ({"max_tokens"} if replayed else set())

    def warnings(self, requested: RequestedValues) -> str:
        """Return a warning if given options have no effect because the division is read from a file."""
        return warnings(self.name, requested)

    def predict(self, context: Context) -> ExistencePredictions:
        """Send the questions set by set, so that each set is timed, and parse the answers."""
        parser = context.options["parser"]
        division = load_division(context)
        chosen = indices_by_set(division, _selected_pairs(division, context.options["division_scope"]))
        results = {name: _ask_pairs(context, division, of) for name, of in chosen.items()}
        responses = [response for result in results.values() for response in result.responses]
        pairs = [*zip(responses[::2], responses[1::2], strict=True)]
        return ExistencePredictions(
            division=division,
            dataset=context.dataset,
            seed=context.runner.seed,
            names=context.names,
            variant=build_variant(context, division),
            errors={index: error for index, pair in enumerate(pairs) if (error := first_error(pair))},
            usage=(usage := sum((result.usage for result in results.values()), Usage())),
            cost=context.model.cost(usage),
            timings={name: timing(result) for name, result in results.items()},
            indices=np.array([index for of in chosen.values() for index in of], np.int64),
            answers=np.array([_answer_codes(pair, parser) for pair in pairs], np.int64).reshape(-1, 2),
            completions=tuple((first.display_text, second.display_text) for first, second in pairs),
            truncated=np.array(
                [[is_truncated(response, parser) for response in pair] for pair in pairs], np.bool_
            ).reshape(-1, 2),
        )


def _selected_pairs(division: Division, benchmark: str) -> np.ndarray:
    """Return the indices of the pairs of the main benchmark, or of the initial benchmark (all pairs)."""
    chosen = division.main if benchmark == "main" else np.ones(len(division), np.bool_)
    return np.flatnonzero(chosen)


def indices_by_set(division: Division, indices: np.ndarray) -> dict[str, list[int]]:
    """Return the given pair indices grouped by set."""
    groups: dict[str, list[int]] = {}
    for index in indices.tolist():
        groups.setdefault(division.sets[index], []).append(index)
    return groups


def _ask_pairs(context: Context, division: Division, indices: Sequence[int]) -> Responses:
    """Ask both questions about each pair, the positive one first."""
    kinds = PROMPT_NAMES[context.options["reasoning"]]
    pairs = [(int(division.rows[index]), int(division.categories[index])) for index in indices]
    return ask_queries(context, [Query(kind, row, category) for row, category in pairs for kind in kinds])


def first_error(responses: Sequence[Response]) -> str:
    """Return the first error of several responses, "" if there is none."""
    return next((response.error for response in responses if response.error), "")


def _answer_codes(pair: Sequence[Response], parser: str) -> list[int]:
    """Return the codes of both answers to a pair.

    If one of them is an error, both are MISSING, because yes and no would be unbalanced otherwise.
    """
    return [MISSING] * len(pair) if first_error(pair) else [answer_code(response, parser) for response in pair]


def answer_code(response: Response, parser: str) -> int:
    """Return a response as YES, NO, UNPARSED or MISSING."""
    if response.error:
        return MISSING
    answer = None if is_truncated(response, parser) else parse_yes_no(complete_text(response, parser), parser)
    return UNPARSED if answer is None else YES if answer else NO


def complete_text(response: Response, parser: str) -> str:
    """Return the complete part of a response; the authors' scorer reads the whole text even if it is truncated."""
    return response.text if response.finished or parser == "authors" else read_complete_word(response.text)


def is_truncated(response: Response, parser: str) -> bool:
    """Return whether a response reached the token limit before it answered."""
    return not response.error and not response.finished and not complete_text(response, parser)


def build_variant(context: Context, division: Division) -> dict[str, str]:
    """Return the variant of the record: options, division parameters, prompts and parsers."""
    pair_prompts = existence_prompts(context.options["reasoning"])
    sources = {
        "prompt": ", ".join(f"{prompt.name} ({prompt.sha256[:8]})" for prompt in pair_prompts),
        "parser_version": parser_versions(context.options["parser"], "yes_no"),
        "names": context.names_source,
    }
    return {**context.options, **division_parameters(context, division), **sources}


def division_parameters(context: Context, division: Division) -> dict[str, str]:
    """Return the division's parameters, label, detectors and data source; "unknown" for what its file does not say."""
    notation = find_annotation(context.dataset)
    return {
        **{name: "unknown" for name in (option.name for option in IN_A_DIVISION) if name in context.options},
        **division.parameters,
        "division": division_label(context, division),
        "detectors": "+".join(detector.spec for detector in division.detectors) or "unknown",
        "source": notation.source if notation else "",
    }
