"""Options of OODBench's protocols: how pairs are divided, which of them are asked about, and how."""

from eyechart.data.labels.class_names import load_templates
from eyechart.data.splits.open_split import list_splits, unknown_split_message
from eyechart.errors import DataError, SpecError
from eyechart.models.registry import may_offer
from eyechart.models.spec import parse_spec, split_outside_brackets
from eyechart.protocol.options import MAX_TOKENS, Option, OptionValues, RequestedValues, flag, parser_option

DETECTING = frozenset({"encoder", "matcher", "classifier"})  # interfaces of models that divide pairs
NO_DETECTOR = "is not a detector. Expected an encoder, a matcher, or a classifier of the categories."


def _check_detectors(value: str, _: str | None) -> None:
    """Refuse detectors whose backend is not known or is no detector."""
    for spec in split_outside_brackets(value, "+") if value != "own" else ():
        if not may_offer(parse_spec(spec), DETECTING):
            raise SpecError(f"{spec} {NO_DETECTOR}")


def check_templates(value: str, _: str | None) -> None:
    """Refuse templates that are neither packaged nor a file."""
    load_templates(value)


def _check_reference(value: str, root: str | None) -> None:
    """Refuse a split that is not there, which would otherwise be a reason to skip."""
    refs = list_splits(root)
    if value not in ("none", *map(str, refs)):
        raise DataError(unknown_split_message(value, refs))


BUILT = "built"
DIVISION = Option(
    "division",
    "source of the pairs: built (from the detectors), a file or folder of eyechart divide, or a published "
    "csv of one set, such as coco-OOD-H.csv",
    BUILT,
)
DETECTORS = Option(
    "detectors",
    "models that divide the pairs, joined by +: encoders, matchers or classifiers of the categories",
    "own",
    check=_check_detectors,
)
DETECTOR_TEMPLATES = Option(
    "detector_templates",
    "prompt templates of the detectors: 80, 7, 1, name, or a file with one a line",
    "1",
    check=check_templates,
)
THRESHOLD = Option(
    "threshold", "a present category with a lower probability is out of distribution", "0.05", share=True
)
MAX_PAIRS = Option("max_pairs", "maximum number of pairs in each set of the main benchmark", "3000", least=1)
_DIVISION_SCOPE = Option(
    "division_scope",
    "pairs to ask about: those of the main benchmark, or all flagged pairs (the initial benchmark)",
    "main",
    ("main", "initial"),
)
_ABSENT_CATEGORIES = Option(
    "absent_categories", "also ask about absent categories that a detector takes for present", "no", ("no", "yes")
)
HARD_SAMPLES = Option(
    "hard_samples", "hard samples for comparison: none, own (of the first detector), or a file of COCO results", "none"
)
_REASONING = Option("reasoning", "form of the question: direct, or cot (chain of thought)", "direct", ("direct", "cot"))
REFERENCE = Option(
    "reference", "split whose pairs are compared with, such as oodbench/coco-train", "none", check=_check_reference
)
YES_NO_PARSER = parser_option("authors")
DIVIDED = (DIVISION, DETECTORS, DETECTOR_TEMPLATES, THRESHOLD, MAX_PAIRS)
IN_A_DIVISION = (*DIVIDED[1:], _ABSENT_CATEGORIES, HARD_SAMPLES)  # a file of a division has chosen these
EXISTENCE = (*DIVIDED, _ABSENT_CATEGORIES, HARD_SAMPLES, _DIVISION_SCOPE, _REASONING, YES_NO_PARSER, MAX_TOKENS)


def unused(options: OptionValues) -> set[str]:
    """Return the options that change nothing, since a file of a division has chosen them."""
    return {option.name for option in IN_A_DIVISION} if options["division"] != BUILT else set()


def warnings(protocol: str, requested: RequestedValues) -> str:
    """Say which options were given although all divisions are read from files; "" where none was."""
    divisions = requested.get("division", (BUILT,))
    idle = [
        option.name
        for option in IN_A_DIVISION
        if option.name in requested and requested[option.name] != (option.default,)
    ]
    if BUILT in divisions or not idle:
        return ""
    named = " and ".join(flag(protocol, name, ",".join(requested[name])) for name in idle)
    return f"the pairs come from {flag(protocol, 'division', ','.join(divisions))}, which {named} cannot change"
