"""Species: a probability for every species, over all species and over those of the image's range list."""

from collections.abc import Collection, Iterator

from eyechart.models.types import Floats
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context, missing_scores_reason
from eyechart.protocol.options import PROMPT, OptionValues, RequestedValues
from eyechart.protocol.sample_view import Line, SampleView
from eyechart.realbirdid.answers.bird_predictions import answerability, scored_names, short_number
from eyechart.realbirdid.answers.species_predictions import ALL, RANGE, SpeciesPredictions
from eyechart.realbirdid.answers.species_summary import summarise
from eyechart.realbirdid.data.observations import Observations
from eyechart.realbirdid.metrics.species_estimates import (
    abstention_tradeoffs,
    information_gains,
    level_accuracies,
    range_changes,
    selective_accuracies,
    species_scores,
    tree_accuracies,
)
from eyechart.realbirdid.protocols.helpers.bird_options import GENUS_TREE, NLG2CHOICE, PROBABILITY, SPECIES_NAMES, TREE
from eyechart.realbirdid.protocols.helpers.name_scores import (
    ReadScores,
    ToProbabilities,
    candidate_mask,
    require_observations,
    score_free_answers,
    score_names,
    softmax,
    species_names,
)


def _label_sets(columns: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the label set of each list and level; tables have no right label of the levels above genus."""
    levels = {name: name.partition(".")[2] for name in scored_names(columns)}
    return {
        name.removeprefix("all."): (f"{name}.correct", level if level in columns else "")
        for name, level in levels.items()
    }


def _describe_levels(row: Line) -> Iterator[tuple[str, str]]:
    for name in scored_names(row):
        if row[name]:
            yield name.removeprefix("all."), f"{row[name]} {short_number(row[f'{name}.probability'])}"


class Species(Protocol[SpeciesPredictions]):
    """Score every species; the probability of a higher taxon is the sum over its species."""

    name = "species"
    example = Example("realbirdid/sample/hf[toybox-mllm]", ("ig answerable", "ua_a all"))
    prompts = ("species", "species_choice")
    summary = "The model scores every species name; higher levels are sums over their species."
    score_name = "probability"
    reference_labels = "species"
    sample_view = SampleView(
        _label_sets,
        category=answerability,
        answer="all.species",
        details=_describe_levels,
        score="all.species.probability",
        sampling_unit="observation",
    )
    source = "arXiv 2603.27033"
    requires = ("encoder", "scorer")
    replays = "species"
    options = (SPECIES_NAMES, PROMPT, PROBABILITY, TREE)
    benchmarks = ("realbirdid",)
    metrics = (
        information_gains,
        abstention_tradeoffs,
        tree_accuracies,
        level_accuracies,
        selective_accuracies,
        range_changes,
        species_scores,
    )
    steps = (score_names, summarise)

    def expand_grid(self, requested: RequestedValues, capabilities: Collection[str] = ()) -> Iterator[OptionValues]:
        """Yield every combination of the requested values; `probability` is for models with log-probabilities."""
        unused = {PROBABILITY.name} if capabilities and "scorer" not in capabilities else set()
        kept = {name: values for name, values in requested.items() if name not in unused}
        yield from super().expand_grid(kept, capabilities)

    def unavailable(self, context: Context) -> str:
        """Return why the model has no log-probabilities."""
        return missing_scores_reason(context)

    def predict(self, context: Context) -> SpeciesPredictions:
        """Score every species and summarise the probabilities."""
        observed = require_observations(context.dataset)
        two_steps = context.options["probability"] == NLG2CHOICE
        scores = (score_free_answers if two_steps else score_names)(context, species_names(context))
        readers = {
            ALL: probability_reader(scores.read, share=scores.to_probabilities),
            RANGE: probability_reader(scores.read, observed, scores.to_probabilities),
        }
        taxonomy, tree_levels = observed.taxonomy, 2 if context.options["tree"] == GENUS_TREE else None
        levels = " → ".join((*taxonomy.levels[:tree_levels], "root"))
        return SpeciesPredictions(
            dataset=context.dataset,
            errors=scores.errors,
            variant={**context.options, "tree_levels": levels, "names": context.names_source, **scores.variant},
            observations=observed,
            seed=context.runner.seed,
            summaries={
                name: summarise(read, observed.species, taxonomy.ancestors, tree_levels=tree_levels)
                for name, read in readers.items()
            },
            tree_levels=tree_levels,
        )


def probability_reader(
    read: ReadScores, observed: Observations | None = None, share: ToProbabilities = softmax
) -> ReadScores:
    """Return a reader of probabilities over all species, or over the range lists, NaN for images without a list."""

    def some(start: int, stop: int) -> Floats:
        return share(read(start, stop), None if observed is None else candidate_mask(observed, start, stop))

    return some
