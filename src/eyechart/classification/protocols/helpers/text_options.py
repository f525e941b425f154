"""Options of the classification protocols, and rules for combinations of them."""

from collections.abc import Mapping

from eyechart.data.labels.class_names import load_templates
from eyechart.errors import SpecError
from eyechart.models.registry import may_offer
from eyechart.models.spec import parse_spec
from eyechart.protocol.options import MAX_TOKENS, PROMPT, Option, OptionValues, parser_option
from eyechart.protocol.text_encoders import TEXT_ENCODER

NO_SOURCE = "is neither a classifier nor an encoder, nor a csv or npy file. Give one of these."


def _check_distractors(value: str, _: str | None) -> None:
    """Refuse what is neither a file of counts nor a model that predicts classes."""
    of_file = value == "own" or value.endswith((".csv", ".npy"))
    if not of_file and not may_offer(parse_spec(value), {"classifier", "encoder"}):
        raise SpecError(f"{value} {NO_SOURCE}")


def check_templates(value: str, _: str | None) -> None:
    """Refuse templates that are neither packaged nor a file."""
    if value != "none":
        load_templates(value)


SHORT: Mapping[str, str] = {  # settings of multiple choice as one types them, and as Table 19 writes them
    "original+random": "ImGT + random",
    "original+confusion": "ImGT + confEVA(ImGT)",
    "original+text": "ImGT + confBERT(ImGT)",
    "second+confusion": "ReGT + confEVA(ReGT)",
    "second+text": "ReGT + confBERT(ReGT)",
    "original+second+random": "ImGT + ReGT + random",
    "original+second+confusion": "ImGT + ReGT + confEVA(ImGT,ReGT)",
}
_IMAGES_PER_REQUEST = Option("images_per_request", "number of images in one request", "1", least=1)
_IMAGE_ORDER = Option(
    "image_order",
    "which images share a request: random ones, or images of one class",
    "random",
    ("random", "same_class"),
)
ANSWER = Option(
    "answer",
    "form of the answer: a class name, a class id, or constrained: the most probable of all class names",
    "name",
    ("name", "id", "constrained"),
)
_PROMPT_ORDER = Option(
    "prompt_order",
    "order of images and text in a request; with text-first, an engine computes the class list once for all requests",
    "image-first",
    ("image-first", "text-first"),
)
_STRUCTURED_OUTPUT = Option(
    "structured_output",
    "how answers become JSON: parsed (the prompt asks for JSON), or enforced (by the engine, with a schema)",
    "parsed",
    ("parsed", "enforced"),
)
EPOCHS = Option(
    "epochs", "how often each request is repeated, to measure the spread of a model that samples", "1", least=1
)
_MAPPING = Option(
    "mapping",
    "how free text is mapped to a class: by the nearest text embedding, or by the class name that occurs in it",
    "nearest",
    ("nearest", "inclusion"),
)
_TEXT_TEMPLATES = Option(
    "text_templates", "templates for class names and answers before they are embedded: none, 80, 7, 1 or a file",
    "none", check=check_templates,
)  # fmt: skip
SETTING = Option(
    "setting",
    "label sets of the correct options (second: the first one beside the original labels) and kind of distractors",
    "original+random",
    tuple(SHORT),
)
REDRAW = Option(
    "redraw",
    "number of the draw of the options and their order; 0 is the published one, others test memory",
    "0",
    least=0,
)
REDRAWN_EPOCHS = Option("epochs", "how often each question is asked, each time with newly drawn options", "31", least=1)
DISTRACTORS = Option(
    "distractors",
    "source of the confusion matrix that gives hard distractors: a model, or a csv or npy file of classes × classes",
    "own",
    check=_check_distractors,
)
NAME_PARSER, LETTER_PARSER = parser_option("authors"), parser_option("authors", "mill")
REQUEST_OPTIONS = (
    _IMAGES_PER_REQUEST,
    _IMAGE_ORDER,
    _PROMPT_ORDER,
    PROMPT,
    _STRUCTURED_OUTPUT,
    NAME_PARSER,
    MAX_TOKENS,
)
MAPPED = (TEXT_ENCODER, _MAPPING, _TEXT_TEMPLATES)


def is_valid(options: OptionValues) -> bool:
    """Return whether the options can be combined: `answer=constrained` needs one image per request."""
    return options.get("answer") != "constrained" or options.get("images_per_request") == "1"


def unused_options(options: OptionValues, *, replayed: bool) -> set[str]:
    """Return the options without an effect; `replayed` means that the answers come from a file."""
    hardness = options.get("setting", "").rpartition("+")[2]
    likeliest, included = options.get("answer") == "constrained", options.get("mapping") == "inclusion"
    idle = {
        "image_order": options.get("images_per_request") == "1",
        "parser": likeliest,
        "max_tokens": likeliest or replayed,
        "structured_output": likeliest or replayed,
        "epochs": likeliest or replayed,
        "redraw": replayed,  # the letters of a file are those of the published draw
        "prompt_order": replayed,  # how a model is asked, which a file is not
        "mapping": likeliest,
        "text_encoder": likeliest or included or hardness in ("random", "confusion"),
        "text_templates": likeliest or included,
        "distractors": hardness in ("random", "text"),
    }
    return {name for name, is_idle in idle.items() if is_idle}
