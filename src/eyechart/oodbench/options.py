"""OptionValues of OODBench's protocols: how pairs are divided, which of them are asked about, and how."""

from eyechart.data.class_names import load_templates
from eyechart.data.splits import list_splits, unknown_split_message
from eyechart.errors import DataError
from eyechart.models.registry import find_backend
from eyechart.protocol.options import READING, Option, OptionValues, RequestedValues, flag
from eyechart.spec import parse_spec, split_outside_brackets


def check_detectors(value: str, _: str | None) -> None:
    """Refuse detectors whose backend is not known."""
    for spec in split_outside_brackets(value, "+") if value != "own" else ():
        find_backend(parse_spec(spec))


def check_templates(value: str, _: str | None) -> None:
    """Refuse templates that are neither packaged nor a file."""
    load_templates(value)


def check_reference(value: str, root: str | None) -> None:
    """Refuse a split that is not there, which would otherwise be a reason to skip."""
    refs = list_splits(root)
    if value not in ("none", *map(str, refs)):
        raise DataError(unknown_split_message(value, refs))


MADE = "made"
DIVISION = Option(
    "division",
    "the pairs: made by the detectors, a file or folder of python -m eyechart.oodbench, or a published csv of one set, "
    "such as coco-OOD-H.csv",
    MADE,
)
DETECTORS = Option(
    "detectors",
    "who divides, joined by +: encoders, matchers or classifiers of the categories",
    "own",
    check=check_detectors,
)
DETECTOR_TEMPLATES = Option(
    "detector_templates", "detectors' prompts: 80, 7, 1, name, or a file with one a line", "1", check=check_templates
)
THRESHOLD = Option("threshold", "a present category less probable than this is out of distribution", "0.05", share=True)
MOST = Option("most", "how many pairs a set of the main benchmark has at most", "3000", least=1)
BENCHMARK = Option(
    "benchmark",
    "ask about the main benchmark, or also about the initial one, all that was flagged",
    "main",
    ("main", "initial"),
)
ABSENT = Option(
    "absent", "whether to ask about absent categories that a detector took for present, too", "no", ("no", "yes")
)
HARD = Option("hard", "hard samples to compare with: none, own (of the first detector) or COCO results", "none")
REASONING = Option("reasoning", "the question: direct, or step by step (chain of thought)", "direct", ("direct", "cot"))
REFERENCE = Option(
    "reference", "compare with the pairs of this split, such as oodbench/coco-train", "none", check=check_reference
)
DIVIDED = (DIVISION, DETECTORS, DETECTOR_TEMPLATES, THRESHOLD, MOST)
IN_A_DIVISION = (*DIVIDED[1:], ABSENT, HARD)  # a file of a division has chosen these
EXISTENCE = (*DIVIDED, ABSENT, HARD, BENCHMARK, REASONING, READING)


def unused(options: OptionValues) -> set[str]:
    """Return the options that change nothing, since a file of a division has chosen them."""
    return {each.name for each in IN_A_DIVISION} if options["division"] != MADE else set()


def warnings(protocol: str, given: RequestedValues) -> str:
    """Say which options were given although all divisions are read from files; "" where none was."""
    divisions = given.get("division", (MADE,))
    idle = [each.name for each in IN_A_DIVISION if each.name in given and given[each.name] != (each.default,)]
    if MADE in divisions or not idle:
        return ""
    named = " and ".join(flag(protocol, name, ",".join(given[name])) for name in idle)
    return f"the pairs are those of {flag(protocol, 'division', ','.join(divisions))}, which {named} cannot change"
