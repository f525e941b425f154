"""Basic-to-Advanced Progression of OODBench (arXiv 2602.18094): existence, counting and logic of two categories."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random
from typing import ClassVar

import numpy as np

from eyechart.inference.store.responses import Response, Responses
from eyechart.models.types import Usage
from eyechart.oodbench.answers.pair_predictions import LABELS, ProgressionPredictions
from eyechart.oodbench.answers.yes_no_answers import (
    Query,
    ask_queries,
    parse_count,
    parser_versions,
    timing,
)
from eyechart.oodbench.data.annotation import Annotation
from eyechart.oodbench.division.case_division import load_division
from eyechart.oodbench.division.division_options import DIVIDED, YES_NO_PARSER, unused, warnings
from eyechart.oodbench.division.flags import draw_sample
from eyechart.oodbench.division.pairs import SETS, Division, require_annotation
from eyechart.oodbench.metrics.pair_estimates import stage_accuracies
from eyechart.oodbench.protocols.existence import (
    answer_code,
    complete_text,
    division_parameters,
    first_error,
    indices_by_set,
    is_truncated,
)
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.options import MAX_TOKENS, OptionValues, RequestedValues
from eyechart.protocol.prompts import Prompt, get_prompt
from eyechart.protocol.sample_view import Asked, Line, SampleView
from eyechart.statistics.yes_no import MISSING, UNPARSED

_Couple = tuple[int, int]  # indices of two pairs in the division


def _progression_prompts() -> tuple[Prompt, Prompt, Prompt]:
    """Return the prompts of existence (first category), counting (second category) and logic (both).

    Source: arXiv 2602.18094, section 4 and figures 19 to 22, verbatim.

    >>> existence, counting, logic = _progression_prompts()
    >>> counting.fill(category="egg"), logic.fill(category="cup", other="egg").partition("?")[0]
    ('How many egg are there in the picture?', 'Is the number of cup in the image greater than the number of egg')
    """
    return get_prompt("existence"), get_prompt("progression_counting"), get_prompt("progression_logic")


def _draw_couples(names: Sequence[tuple[str, str]], most: int, seed: int, what: str) -> list[tuple[int, int]]:
    """Return a random sample of at most `most` distinct couples of different categories in one image.

    The order within a couple is random. The paper says that every image is "paired with two different category labels
    (without duplication)", but not how many couples of an image there may be; here all are candidates.

    Args:
        names: (image, category) of the pairs, all different.
        most: The most that are drawn.
        seed: A whole number.
        what: Distinguishes samples with the same seed.

    Returns:
        (first, second) indices in `names`, sorted by name; they do not depend on the order of `names`.

    Raises:
        ValueError: For a negative `most`.

    Source: arXiv 2602.18094, section 5.5.

    >>> _draw_couples([("a", "cup"), ("a", "egg"), ("b", "cup")], 10, 42, "ID") in ([(0, 1)], [(1, 0)])
    True
    """
    ordered = sorted(range(len(names)), key=lambda index: names[index])
    images: dict[str, list[int]] = {}
    for index in ordered:
        images.setdefault(names[index][0], []).append(index)
    every = [couple for indices in images.values() for couple in combinations(indices, 2)]
    keys = [f"{names[first][0]}|{names[first][1]}|{names[second][1]}" for first, second in every]
    chosen = draw_sample(keys, most, seed, f"{what}|couples")
    return [_random_order(*every[index], f"{seed}|{what}|{keys[index]}") for index in chosen]


def _random_order(first: int, second: int, what: str) -> tuple[int, int]:
    """Return a couple in a random order, seeded by `what`.

    Source: own definition.

    >>> sorted(_random_order(1, 2, "anything"))
    [1, 2]
    """
    return (first, second) if Random(what).random() < 0.5 else (second, first)


def _describe_question(row: Line) -> str:
    first, second, stage = row["first_name"], row["second_name"], row["question"]
    subject = {"existence": first, "counting": second, "logic": f"more {first} than {second}"}[stage]
    return f"{stage}: {subject}, sample {row['sample']}"


def _prompt_slots(row: Line) -> Asked:
    first, second, stage = row["first_name"], row["second_name"], row["question"]
    return stage, {"category": second if stage == "counting" else first, "other": second}


class Progression(Protocol[ProgressionPredictions]):
    """Asks whether one category is present, how many objects of another there are, and whether the first has more."""

    name = "progression"
    example = Example("oodbench/sample-coco/hf[toybox-mllm]", ("e_acc OOD-H", "c_acc OOD-H", "l_acc OOD-H"))
    prompts = ("progression_counting", "progression_logic")
    summary = "Three questions of growing difficulty: existence, counting and logic."
    sample_view = SampleView(
        lambda _: {LABELS: ("correct", "target")}, unit="question", question=_describe_question, slots=_prompt_slots
    )
    prompt_kinds: ClassVar[Mapping[str, str]] = {
        "existence": "existence",
        "progression_counting": "counting",
        "progression_logic": "logic",
    }
    source = "arXiv 2602.18094"
    requires = ("generator",)
    options = (*DIVIDED, YES_NO_PARSER, MAX_TOKENS)
    benchmarks = ("oodbench",)
    metrics = (stage_accuracies,)
    steps = (load_division, ask_queries, parse_count)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:  # noqa: ARG002
        """Return the options that have no effect because the division is read from a file."""
        return unused(options)

    def warnings(self, requested: RequestedValues) -> str:
        """Return a warning if given options have no effect because the division is read from a file."""
        return warnings(self.name, requested)

    def predict(self, context: Context) -> ProgressionPredictions:
        """Send the questions set by set, so that each set is timed, and parse the answers."""
        parser = context.options["parser"]
        division, notation = load_division(context), require_annotation(context.dataset)
        chosen = {
            name: _draw_samples(context, division, notation, name, indices)
            for name, indices in _countable_by_set(division).items()
        }
        results = {name: _ask_samples(context, division, couples) for name, couples in chosen.items()}
        pairs = np.array([couple for couples in chosen.values() for couple in couples], np.int64).reshape(-1, 2)
        responses = [response for result in results.values() for response in result.responses]
        stages = [responses[stage::3] for stage in range(3)]
        counts = notation.counts[division.rows[pairs], division.categories[pairs]].astype(np.int64)
        samples = [*zip(*stages, strict=True)]
        return ProgressionPredictions(
            division=division,
            dataset=context.dataset,
            seed=context.runner.seed,
            names=context.names,
            variant=build_variant(context, division),
            errors={index: error for index, sample in enumerate(samples) if (error := first_error(sample))},
            usage=(usage := sum((result.usage for result in results.values()), Usage())),
            cost=context.model.cost(usage),
            timings={name: timing(result) for name, result in results.items()},
            first=pairs[:, 0],
            second=pairs[:, 1],
            counts=counts,
            existence=np.array([answer_code(response, parser) for response in stages[0]], np.int64),
            counting=np.array([_count_code(response, parser) for response in stages[1]], np.int64),
            logic=np.array([answer_code(response, parser) for response in stages[2]], np.int64),
            completions=tuple(
                (first.display_text, second.display_text, third.display_text) for first, second, third in samples
            ),
            truncated=np.array(
                [[is_truncated(response, parser) for response in sample] for sample in samples], np.bool_
            ).reshape(-1, 3),
        )


def _countable_by_set(division: Division) -> dict[str, list[int]]:
    """Return the indices of the main benchmark's present pairs, by set."""
    there = np.flatnonzero(division.main & division.present)
    return {name: indices for name, indices in indices_by_set(division, there).items() if name in SETS}


def _draw_samples(
    context: Context, division: Division, notation: Annotation, name: str, indices: Sequence[int]
) -> list[_Couple]:
    """Return couples of categories whose objects can be counted."""
    countable = notation.countable[division.rows, division.categories]
    usable = [index for index in indices if countable[index]]
    keys, names = context.dataset.keys, context.dataset.names  # independent of the names in the prompts
    pairs = [(keys[division.rows[index]], names[division.categories[index]]) for index in usable]
    most = int(division.parameters.get("max_pairs", context.options["max_pairs"]))
    chosen = _draw_couples(pairs, most, context.runner.seed, name)
    return [(usable[first], usable[second]) for first, second in chosen]


def _ask_samples(context: Context, division: Division, couples: Sequence[_Couple]) -> Responses:
    """Ask the three questions of each sample, one after the other."""
    kinds = _progression_prompts()
    queries = []
    for first, second in couples:
        row, first_category, second_category = (
            int(division.rows[first]),
            int(division.categories[first]),
            int(division.categories[second]),
        )
        for prompt_of_stage, about in zip(
            kinds, ((first_category, 0), (second_category, 0), (first_category, second_category)), strict=True
        ):
            queries.append(Query(prompt_of_stage.name, row, *about))
    return ask_queries(context, queries)


def _count_code(response: Response, parser: str) -> int:
    """Return the parsed count of a response, UNPARSED or MISSING."""
    if response.error:
        return MISSING
    answer = None if is_truncated(response, parser) else parse_count(complete_text(response, parser), parser)
    return UNPARSED if answer is None else answer


def build_variant(context: Context, division: Division) -> dict[str, str]:
    """Return the variant of the record: options, division parameters, prompts and parsers."""
    sources = {
        "prompt": ", ".join(f"{prompt.name} ({prompt.sha256[:8]})" for prompt in _progression_prompts()),
        "parser_version": parser_versions(context.options["parser"], "yes_no", "number"),
        "names": context.names_source,
    }
    return {**context.options, **division_parameters(context, division), **sources}
