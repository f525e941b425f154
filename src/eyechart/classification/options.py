"""OptionValues of protocols of classification, and which of them go together."""

from collections.abc import Mapping

from eyechart.data.class_names import load_templates
from eyechart.models.registry import find_backend
from eyechart.protocol.options import PROMPT, READING, Option, OptionValues
from eyechart.spec import parse_spec


def check_model(value: str, _: str | None) -> None:
    """Refuse the specification of a model whose backend is not known."""
    find_backend(parse_spec(value))


def check_distractors(value: str, root: str | None) -> None:
    """Refuse what is neither a model nor a file of counts."""
    if value != "own" and not value.endswith((".csv", ".npy")):
        check_model(value, root)


def check_templates(value: str, _: str | None) -> None:
    """Refuse templates that are neither packaged nor a file."""
    if value != "none":
        load_templates(value)


SHORT: Mapping[str, str] = {  # settings of multiple choice as one types them, and as Table 19 writes them
    "ImGT+random": "ImGT + random",
    "ImGT+confusion": "ImGT + confEVA(ImGT)",
    "ImGT+text": "ImGT + confBERT(ImGT)",
    "ReGT+confusion": "ReGT + confEVA(ReGT)",
    "ReGT+text": "ReGT + confBERT(ReGT)",
    "ImGT+ReGT+random": "ImGT + ReGT + random",
    "ImGT+ReGT+confusion": "ImGT + ReGT + confEVA(ImGT,ReGT)",
}
IMAGES = Option("images", "how many images a request shows", "1", least=1)
ORDER = Option("order", "which images a request shows together", "random", ("random", "same_class"))
ANSWER = Option(
    "answer",
    "how a class is named: by name, by id, or as the likeliest of all names",
    "name",
    ("name", "id", "constrained"),
)
PREFIX = Option(
    "prefix",
    "paper: images, then the class list; shared: the list first, for an engine to compute once",
    "paper",
    ("paper", "shared"),
)
STRUCTURE = Option(
    "structure",
    "who sees to JSON: the model as its prompt asks, or the engine by a schema",
    "parsed",
    ("parsed", "enforced"),
)
EVALUATIONS = Option(
    "evaluations", "how often everything is asked, for the spread of a model that is not the same twice", "1", least=1
)
MAPPING = Option(
    "mapping",
    "how free words become a class: nearest text embedding, or the name that occurs in them",
    "nearest",
    ("nearest", "inclusion"),
)
ENCODER = Option("encoder", "the text encoder of the mapping, as backend[…]", "sentence[minilm]", check=check_model)
TEXT_TEMPLATES = Option(
    "text_templates", "prompts that names and answers are put into: none, 80, 7, 1 or a file", "none",
    check=check_templates,
)  # fmt: skip
SETTING = Option("setting", "what is right and what distracts", "ImGT+random", tuple(SHORT))
REPEATS = Option("repeats", "how often options and their order are redrawn", "31", least=1)
DISTRACTORS = Option(
    "distractors",
    "whose confusions distract: a model, or a csv or npy of classes × classes",
    "own",
    check=check_distractors,
)
SHOWN = (IMAGES, ORDER, PREFIX, PROMPT, STRUCTURE, READING)
MAPPED = (ENCODER, MAPPING, TEXT_TEMPLATES)


def is_valid(options: OptionValues) -> bool:
    """Return whether options can be asked: the likeliest name is that of one image, and Mill's scorer reads letters."""
    alone = options.get("answer") != "constrained" or options.get("images") == "1"
    return alone and (options.get("reading") != "mill" or "structure" not in options)


def unused_options(options: OptionValues, *, replayed: bool) -> set[str]:
    """Return the options that change nothing beside the others; `replayed` words were said elsewhere."""
    hardness = options.get("setting", "").rpartition("+")[2]
    likeliest, included = options.get("answer") == "constrained", options.get("mapping") == "inclusion"
    idle = {
        "order": options.get("images") == "1",
        "reading": likeliest,
        "structure": likeliest or replayed,
        "evaluations": likeliest or replayed,
        "prefix": replayed,  # how a model is asked, which a file is not
        "mapping": likeliest,
        "encoder": likeliest or included or hardness in ("random", "confusion"),
        "text_templates": likeliest or included,
        "distractors": hardness in ("random", "text"),
    }
    return {name for name, is_idle in idle.items() if is_idle}
