"""Basic-to-Advanced Progression of OODBench (arXiv 2602.18094): existence, counting and logic about two categories."""

from collections.abc import Sequence
from itertools import combinations
from random import Random

import numpy as np

from eyechart.data.detection.annotation import Annotation
from eyechart.inference.responses import Response
from eyechart.metrics.yes_no import MISSING, UNPARSED
from eyechart.models.types import Usage
from eyechart.oodbench.case_division import load_division
from eyechart.oodbench.division import SETS, Division, require_annotation
from eyechart.oodbench.existence import (
    answer_code,
    complete_text,
    division_parameters,
    first_error,
    indices_by_set,
    is_truncated,
)
from eyechart.oodbench.flags import draw_sample
from eyechart.oodbench.options import DIVIDED, unused, warnings
from eyechart.oodbench.predictions import ProgressionPredictions
from eyechart.oodbench.yes_no_prompts import PairResponses, Query, ask, check_parser, parse_count, parser_versions
from eyechart.protocol.base import Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.options import PARSER, OptionValues, RequestedValues
from eyechart.protocol.prompts import Prompt, get_prompt

Couple = tuple[int, int]  # places in the division


def progression_prompts() -> tuple[Prompt, Prompt, Prompt]:
    """The three questions: about the first category, about the second, and about both.

    Source: arXiv 2602.18094, section 4 and figures 19 to 22, word by word.

    >>> existence, counting, logic = progression_prompts()
    >>> counting.fill(category="egg"), logic.fill(category="cup", other="egg").partition("?")[0]
    ('How many egg are there in the picture?', 'Is the number of cup in the image greater than the number of egg')
    """
    return get_prompt("existence"), get_prompt("progression_counting"), get_prompt("progression_logic")


def draw_couples(names: Sequence[tuple[str, str]], most: int, seed: int, what: str) -> list[tuple[int, int]]:
    """Couples of different categories of one image, none twice, at most so many.

    Which one is asked about first is drawn for each couple. The paper says that every image is "paired with two
    different category labels (without duplication)"; how many couples of an image there may be, it leaves open, and all
    are taken here, as far as `most` goes.

    Args: `names` (image, category) of pairs, each once; `most` couples; `what` tells draws of one seed apart.
    Returns: (first, second), places in `names`, in the order of the names; not changed by any order.
    Raises: ValueError for a negative number.
    Source: arXiv 2602.18094, section 5.5.

    >>> draw_couples([("a", "cup"), ("a", "egg"), ("b", "cup")], 10, 42, "ID") in ([(0, 1)], [(1, 0)])
    True
    """
    ordered = sorted(range(len(names)), key=lambda place: names[place])
    images: dict[str, list[int]] = {}
    for place in ordered:
        images.setdefault(names[place][0], []).append(place)
    every = [couple for places in images.values() for couple in combinations(places, 2)]
    keys = [f"{names[one][0]}|{names[one][1]}|{names[other][1]}" for one, other in every]
    chosen = draw_sample(keys, most, seed, f"{what}|couples")
    return [random_order(*every[place], f"{seed}|{what}|{keys[place]}") for place in chosen]


def random_order(one: int, other: int, what: str) -> tuple[int, int]:
    """A couple in one of its two orders.

    Source: own definition.

    >>> sorted(random_order(1, 2, "anything"))
    [1, 2]
    """
    return (one, other) if Random(what).random() < 0.5 else (other, one)


class Progression(Protocol[ProgressionPredictions]):
    """Is one category there, how many are there of another, and are there more of the first."""

    name = "progression"
    requires = ("generator",)
    options = (*DIVIDED, PARSER)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:  # noqa: ARG002
        """Return the options that a file of a division has chosen."""
        return unused(options)

    def warnings(self, given: RequestedValues) -> str:
        """Return which of the options that were given a file of a division has chosen."""
        return warnings(self.name, given)

    def is_valid(self, options: OptionValues) -> bool:
        """Return whether a combination can be asked: Mill's scorer reads letters alone."""
        return options["parser"] != "mill"

    def predict(self, context: Context) -> ProgressionPredictions:
        """Ask set by set, so that each has its time, and read the answers."""
        parser = check_parser(context.options["parser"])
        divided, notation = load_division(context), require_annotation(context.dataset)
        chosen = {
            name: draw_samples(context, divided, notation, name, places)
            for name, places in countable_by_set(divided).items()
        }
        heard = {name: ask_samples(context, divided, found) for name, found in chosen.items()}
        pairs = np.array([couple for found in chosen.values() for couple in found], np.int64).reshape(-1, 2)
        said = [reply for each in heard.values() for reply in each.responses]
        stages = [said[stage::3] for stage in range(3)]
        counts = notation.counts[divided.rows[pairs], divided.categories[pairs]].astype(np.int64)
        samples = [*zip(*stages, strict=True)]
        return ProgressionPredictions(
            division=divided,
            dataset=context.dataset,
            seed=context.runner.seed,
            names=context.names,
            variant=build_variant(context, divided),
            errors={place: error for place, replies in enumerate(samples) if (error := first_error(replies))},
            usage=(usage := sum((each.usage for each in heard.values()), Usage())),
            cost=context.model.cost(usage),
            timings={name: each.timing for name, each in heard.items()},
            first=pairs[:, 0],
            second=pairs[:, 1],
            counts=counts,
            existence=np.array([answer_code(reply, parser) for reply in stages[0]], np.int64),
            counting=np.array([count_code(reply, parser) for reply in stages[1]], np.int64),
            logic=np.array([answer_code(reply, parser) for reply in stages[2]], np.int64),
            completions=tuple((one.text, two.text, three.text) for one, two, three in samples),
            truncated=np.array(
                [[is_truncated(each, parser) for each in sample] for sample in samples], np.bool_
            ).reshape(-1, 3),
        )


def countable_by_set(divided: Division) -> dict[str, list[int]]:
    """The places of the main benchmark's pairs, where the category is there, by set."""
    there = np.flatnonzero(divided.main & divided.present)
    return {name: places for name, places in indices_by_set(divided, there).items() if name in SETS}


def draw_samples(
    context: Context, divided: Division, notation: Annotation, name: str, places: Sequence[int]
) -> list[Couple]:
    """Couples of categories whose things can be counted."""
    countable = notation.countable[divided.rows, divided.categories]
    usable = [place for place in places if countable[place]]
    keys, names = context.dataset.keys, context.dataset.names  # whatever names are asked about
    pairs = [(keys[divided.rows[place]], names[divided.categories[place]]) for place in usable]
    most = int(divided.parameters.get("max_pairs", context.options["max_pairs"]))
    found = draw_couples(pairs, most, context.runner.seed, name)
    return [(usable[first], usable[second]) for first, second in found]


def ask_samples(context: Context, divided: Division, found: Sequence[Couple]) -> PairResponses:
    """The three questions of each sample, side by side."""
    kinds = progression_prompts()
    queries = []
    for first, second in found:
        row, one, other = int(divided.rows[first]), int(divided.categories[first]), int(divided.categories[second])
        for asked, about in zip(kinds, ((one, 0), (other, 0), (one, other)), strict=True):
            queries.append(Query(asked.name, row, *about))
    return ask(context, queries)


def count_code(reply: Response, parser: str) -> int:
    """A reply as a number, or as one of the outcomes without one."""
    if reply.error:
        return MISSING
    said = None if is_truncated(reply, parser) else parse_count(complete_text(reply, parser), parser)
    return UNPARSED if said is None else said


def build_variant(context: Context, divided: Division) -> dict[str, str]:
    """Every choice, and the wording and parsers."""
    told = {
        "prompt": ", ".join(f"{each.name} ({each.sha256[:8]})" for each in progression_prompts()),
        "parser_version": parser_versions(context.options["parser"], "yes_no", "number"),
        "names": context.names_source,
    }
    return {**context.options, **division_parameters(context, divided), **told}
