"""Which of a model's answers in words stand in a table: the best ones, as the published captions say."""

from collections.abc import Callable, Hashable, Mapping, Sequence

from ..runs import CaseRun, ComparableCases

# How images were shown and answers taken, which answers that are compared must share, with what is usual.
PROMPT_OPTIONS: Mapping[str, str] = {
    "images": "1", "order": "random", "answer": "name", "prefix": "paper", "structure": "parsed", "reading": "lenient",
    "names": "",
}  # fmt: skip
TEXT_PROTOCOLS = ("closed_world", "closed_world_plus", "open_world")
FEW_OPTIONS = ("mcq",)  # a choice among ten says nothing beside one among all classes


def best_variants(group: ComparableCases, labels: str) -> ComparableCases:
    """As Table 4 of arXiv 2603.06578: of a model's answers in words the best alone, and no choice among few options."""
    text_cases = [
        case for case in group.scored_under(group.reference, labels) if case.record.protocol in TEXT_PROTOCOLS
    ]
    best = select_best(text_cases, lambda case: case.model, labels, group.reference)
    worse = [case for case in text_cases if case not in best]
    few_options = group.with_protocols(*FEW_OPTIONS).cases
    remaining = [
        case for case in group.scored_under(group.reference, labels) if case not in worse and case not in few_options
    ]
    notes = [f"{case.record.protocol}: left out, its options are few." for case in few_options[:1]]
    if worse:
        notes.append(
            f"Of each model's answers in words the most accurate under {labels} stand here, as in the published "
            f"table, of equal ones the most accurate under {group.reference}; {len(worse)} more do not: T6, T11 to "
            "T14 and T18 compare them."
        )
    return group.select(remaining, *notes)


def select_best(
    cases: Sequence[CaseRun], key: Callable[[CaseRun], Hashable], labels: str, reference: str
) -> list[CaseRun]:
    """Return of the entries with one key the most accurate one, in the old order.

    Entries of equal accuracy under `labels` are told apart by that under the reference, then by the order of IN_WORDS,
    then by the usual way of asking; the first of those that are equal in all of this is kept.
    """
    best: dict[Hashable, CaseRun] = {}
    for case in sorted(cases, key=lambda case: accuracy_order(case, labels, reference), reverse=True):
        best.setdefault(key(case), case)
    return [case for case in cases if best[key(case)] is case]


def accuracy_order(case: CaseRun, labels: str, reference: str) -> tuple[float, float, int, tuple[bool, ...]]:
    """Return what entries of one model are sorted by, the best last."""
    name = case.record.protocol
    order = -TEXT_PROTOCOLS.index(name) if name in TEXT_PROTOCOLS else -len(TEXT_PROTOCOLS)
    default_options = tuple(not odd for odd in non_default_flags(case))
    return accuracy(case, labels), accuracy(case, reference), order, default_options


def prompt_options(case: CaseRun) -> tuple[str, ...]:
    """How images were shown and answers taken; open world has no class list to answer from, and shares the usual."""
    return tuple(case.option(name, default) for name, default in PROMPT_OPTIONS.items())


def non_default_flags(case: CaseRun, *excluded: str) -> tuple[bool, ...]:
    """Sorts the usual way of asking first, whatever some choices are."""
    return tuple(
        case.option(name, default) != default
        for name, default in PROMPT_OPTIONS.items()
        if default and name not in excluded
    )


def accuracy(case: CaseRun, labels: str) -> float:
    """An entry's accuracy, below all others where there is none."""
    metric = case.metric(case.accuracy_name, labels)
    return -1.0 if metric is None or metric.value is None else metric.value
