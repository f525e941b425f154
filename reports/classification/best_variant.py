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
    words = [entry for entry in group.scored_under(group.reference, labels) if entry.record.protocol in TEXT_PROTOCOLS]
    kept = select_best(words, lambda entry: entry.model, labels, group.reference)
    worse = [entry for entry in words if entry not in kept]
    few = group.with_protocols(*FEW_OPTIONS).cases
    rest = [entry for entry in group.scored_under(group.reference, labels) if entry not in worse and entry not in few]
    said = [f"{entry.record.protocol}: left out, its options are few." for entry in few[:1]]
    if worse:
        said.append(
            f"Of each model's answers in words the most accurate under {labels} stand here, as in the published "
            f"table, of equal ones the most accurate under {group.reference}; {len(worse)} more do not: T6, T11 to "
            "T14 and T18 compare them."
        )
    return group.select(rest, *said)


def select_best(
    entries: Sequence[CaseRun], key: Callable[[CaseRun], Hashable], labels: str, reference: str
) -> list[CaseRun]:
    """Return of the entries with one key the most accurate one, in the old order.

    Entries of equal accuracy under `labels` are told apart by that under the reference, then by the order of IN_WORDS,
    then by the usual way of asking; the first of those that are equal in all of this is kept.
    """
    found: dict[Hashable, CaseRun] = {}
    for entry in sorted(entries, key=lambda entry: accuracy_order(entry, labels, reference), reverse=True):
        found.setdefault(key(entry), entry)
    return [entry for entry in entries if found[key(entry)] is entry]


def accuracy_order(entry: CaseRun, labels: str, reference: str) -> tuple[float, float, int, tuple[bool, ...]]:
    """Return what entries of one model are sorted by, the best last."""
    name = entry.record.protocol
    order = -TEXT_PROTOCOLS.index(name) if name in TEXT_PROTOCOLS else -len(TEXT_PROTOCOLS)
    usual = tuple(not odd for odd in non_default_flags(entry))
    return accuracy(entry, labels), accuracy(entry, reference), order, usual


def prompt_options(entry: CaseRun) -> tuple[str, ...]:
    """How images were shown and answers taken; open world has no class list to answer from, and shares the usual."""
    return tuple(entry.option(name, usual) for name, usual in PROMPT_OPTIONS.items())


def non_default_flags(entry: CaseRun, *but: str) -> tuple[bool, ...]:
    """Sorts the usual way of asking first, whatever some choices are."""
    return tuple(
        entry.option(name, usual) != usual for name, usual in PROMPT_OPTIONS.items() if usual and name not in but
    )


def accuracy(entry: CaseRun, labels: str) -> float:
    """An entry's accuracy, below all others where there is none."""
    found = entry.metric(entry.accuracy_name, labels)
    return -1.0 if found is None or found.value is None else found.value
