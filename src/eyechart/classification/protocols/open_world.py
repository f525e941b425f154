"""Open world: the prompt lists no classes, and free text is mapped to a class.

If a response ended at the token limit, only a complete JSON value or a complete first line is mapped; other names are
truncated, since their beginning may name another class.
"""

from eyechart.classification.answers.class_mapping import map_to_classes
from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.answers.image_batches import AnswerCollector, build_requests, split_by_image
from eyechart.classification.metrics.class_estimates import (
    CORRECTNESS,
    label_agreement,
    mean_per_class_recall,
    strict_top1,
    top1,
)
from eyechart.classification.protocols.helpers.text_options import MAPPED, REQUEST_OPTIONS, is_valid, unused_options
from eyechart.parsers import json_answers
from eyechart.protocol.ask import ask
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.options import OptionValues
from eyechart.protocol.prompts import get_prompt


class OpenWorld(Protocol[ClassPredictions]):
    """The prompt lists no classes; an answer in free text is mapped to the nearest class."""

    name = "open_world"
    example = Example("toybox/sample-cutouts/hf[toybox-mllm]", ("acc1 all",))
    prompts = ("open_world", "open_world_json", "open_world_caption")
    summary = "The model names what the image shows without a list; the answer is mapped to the nearest class."
    short_name = "OW"
    order = 3
    source = "arXiv 2603.06578"
    requires = ("generator",)
    replays = "open_world"
    options = (*REQUEST_OPTIONS, *MAPPED)
    benchmarks = ("imagenet", "toybox", "*")
    metrics = (top1, strict_top1, mean_per_class_recall, label_agreement)
    steps = (build_requests, split_by_image, map_to_classes, *CORRECTNESS)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that have no effect together with the others."""
        return unused_options(options, replayed=replayed)

    def is_valid(self, options: OptionValues) -> bool:
        """Return whether the options can be combined."""
        return is_valid(options)

    def predict(self, context: Context) -> ClassPredictions:
        """Request the most specific name for every image, and map each answer to the nearest class."""
        uses_schema = context.options["structured_output"] == "enforced"
        own = get_prompt("open_world")
        prompt = context.select_prompt(own if uses_schema else own.alternative("json"))
        json = uses_schema or prompt.format == "json"
        requests = build_requests(context, prompt, prompt.text)
        responses, collector = ask(context, requests), AnswerCollector(len(context.dataset))
        lenient, strict = [""] * collector.size, [""] * collector.size
        for parsed in split_by_image(requests, responses.responses, json=json):
            collector.set_position(parsed.row, parsed.request, parsed.position)
            text = parsed.strict if context.options["parser"] == "strict" else parsed.lenient
            collector.completions[parsed.row] = parsed.completion if text is None else text
            lenient[parsed.row], strict[parsed.row] = text or "", parsed.strict or ""
            if parsed.error:
                collector.errors[parsed.row] = parsed.error
            elif text is None:
                collector.unparsed.add(parsed.row)
                collector.truncated |= {parsed.row} if parsed.truncated else set()
        collector.classes, collector.strict_classes = _map_readings(context, lenient, strict)
        parser = f"json_answers {json_answers.VERSION}" if json else "text"
        return collector.to_predictions(context, responses.usage, context.variant(prompt, parser))


def _map_readings(context: Context, texts: list[str], strict_texts: list[str]) -> tuple[list[int], list[int]]:
    """Return the classes of texts under the selected and the strict parser, -1 for an empty text."""
    classes = map_to_classes(context, [*texts, *strict_texts])
    return classes[: len(texts)], classes[len(texts) :]
