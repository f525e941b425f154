"""CW+: an answer of the closed world that is out of the prompt is mapped to the nearest class."""

from eyechart.classification.answers.class_mapping import map_to_classes
from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.answers.image_batches import build_requests, split_by_image
from eyechart.classification.metrics.class_estimates import CORRECTNESS
from eyechart.classification.protocols.closed_world import (
    ClosedWorld,
    ask_and_parse,
    collect,
    find_out_of_prompt,
    prompt_variant,
)
from eyechart.classification.protocols.helpers.text_options import ANSWER, MAPPED, REQUEST_OPTIONS
from eyechart.classification.protocols.posterior import predict_constrained
from eyechart.protocol.base import Example
from eyechart.protocol.context import Context


class ClosedWorldPlus(ClosedWorld):
    """CW+: the answers of the closed world, with those out of the prompt mapped to the nearest class."""

    name = "closed_world_plus"
    example = Example("toybox/sample-cutouts/hf[toybox-mllm]", ("acc1 all",))
    summary = "As closed world; an answer outside of the list is mapped to the nearest class."
    prompts = ()  # those of the closed world
    short_name = "CW+"
    order = 2
    options = (ANSWER, *REQUEST_OPTIONS, *MAPPED)
    steps = (build_requests, split_by_image, collect, map_to_classes, *CORRECTNESS)

    def predict(self, context: Context) -> ClassPredictions:
        """Return the predictions of the closed world, with answers out of the prompt mapped to classes."""
        if context.options["answer"] == "constrained":
            return predict_constrained(context)
        prompt, collector, usage = ask_and_parse(context, 0)
        out = find_out_of_prompt(context, collector)
        rows = [row for row, kind in enumerate(out) if kind]
        for row, index in zip(rows, map_to_classes(context, [collector.completions[row] for row in rows]), strict=True):
            collector.classes[row] = index
        return collector.to_predictions(context, usage, prompt_variant(context, prompt), out, is_mapped=True)
