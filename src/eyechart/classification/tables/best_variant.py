"""Select the best variant of each model's text answers, as the published captions describe."""

from collections.abc import Callable, Hashable, Mapping, Sequence

from eyechart.reports.runs import CaseRun, ComparableCases

# How images were shown and answers taken, which answers that are compared must share, with what is usual.
PROMPT_OPTIONS: Mapping[str, str] = {
    "images_per_request": "1", "image_order": "random", "answer": "name", "prompt_order": "image-first",
    "structured_output": "parsed", "parser": "lenient",
    "names": "",
}  # fmt: skip
TEXT_PROTOCOLS = ("closed_world", "closed_world_plus", "open_world")
FEW_OPTIONS = ("mcq",)  # a choice among ten says nothing beside one among all classes


def best_variants(group: ComparableCases, labels: str) -> ComparableCases:
    """Return a group with the most accurate text answers of each model, without protocols that offer few options.

    This is the rule of Table 4 of arXiv 2603.06578, for the protocols that the paper compares. Others, such as those of
    other packages, have rows of their own.
    """
    text_cases = [
        case for case in group.scored_under(group.reference, labels) if case.record.protocol in TEXT_PROTOCOLS
    ]
    best = select_best(text_cases, lambda case: case.model, labels, group.reference)
    worse = [case for case in text_cases if case not in best]
    few_options = group.with_protocols(*FEW_OPTIONS).cases
    remaining = [
        case for case in group.scored_under(group.reference, labels) if case not in worse and case not in few_options
    ]
    notes = [f"{case.record.protocol}: left out, because it has few options." for case in few_options[:1]]
    if worse:
        notes.append(
            f"Of each model, the text answers that are most accurate under {labels} are shown, as in the published "
            f"table; of equal ones, the most accurate under {group.reference}. {len(worse)} more are left out: T6, T11 "
            "to T14 and T18 compare them."
        )
    return group.select(remaining, *notes)


def select_best(
    cases: Sequence[CaseRun], key: Callable[[CaseRun], Hashable], labels: str, reference: str
) -> list[CaseRun]:
    """Return the most accurate case for each key, in the given order.

    Ties under `labels` are broken by the accuracy under the reference, then by the order of TEXT_PROTOCOLS, then by the
    number of default options; the first of cases that are equal in all of this is kept.
    """
    best: dict[Hashable, CaseRun] = {}
    for case in sorted(cases, key=lambda case: _accuracy_order(case, labels, reference), reverse=True):
        best.setdefault(key(case), case)
    return [case for case in cases if best[key(case)] is case]


def _accuracy_order(case: CaseRun, labels: str, reference: str) -> tuple[float, float, int, tuple[bool, ...]]:
    """Return the sort key of cases of one model, best last."""
    name = case.record.protocol
    order = -TEXT_PROTOCOLS.index(name) if name in TEXT_PROTOCOLS else -len(TEXT_PROTOCOLS)
    default_options = tuple(not odd for odd in non_default_flags(case))
    return accuracy(case, labels), accuracy(case, reference), order, default_options


def prompt_options(case: CaseRun) -> tuple[str, ...]:
    """Return the prompt options of a case; open world does not have all and gets the defaults of the others."""
    return tuple(case.option(name, default) for name, default in PROMPT_OPTIONS.items())


def non_default_flags(case: CaseRun, *excluded: str) -> tuple[bool, ...]:
    """Return for each prompt option whether it differs from its default; sorts default settings first."""
    return tuple(
        case.option(name, default) != default
        for name, default in PROMPT_OPTIONS.items()
        if default and name not in excluded
    )


def accuracy(case: CaseRun, labels: str) -> float:
    """Return the accuracy of a case, -1 if it has none."""
    metric = case.metric(case.accuracy_name, labels)
    return -1.0 if metric is None or metric.value is None else metric.value
