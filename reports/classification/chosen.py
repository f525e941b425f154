"""Which of a model's answers in words stand in a table: the best ones, as the published captions say."""

from collections.abc import Callable, Hashable, Mapping, Sequence

from ..runs import Entry, Group

# How images were shown and answers taken, which answers that are compared must share, with what is usual.
ASKED: Mapping[str, str] = {
    "images": "1", "order": "random", "answer": "name", "prefix": "paper", "structure": "parsed", "reading": "lenient",
    "names": "",
}  # fmt: skip
IN_WORDS = ("closed_world", "closed_world_plus", "open_world")
FEW_OPTIONS = ("mcq",)  # a choice among ten says nothing beside one among all classes


def headline(group: Group, labels: str) -> Group:
    """As Table 4 of arXiv 2603.06578: of a model's answers in words the best alone, and no choice among few options."""
    words = [entry for entry in group.under(group.reference, labels) if entry.record.protocol in IN_WORDS]
    kept = best(words, lambda entry: entry.model, labels, group.reference)
    worse = [entry for entry in words if entry not in kept]
    few = group.of(*FEW_OPTIONS).entries
    rest = [entry for entry in group.under(group.reference, labels) if entry not in worse and entry not in few]
    said = [f"{entry.record.protocol}: left out, its options are few." for entry in few[:1]]
    if worse:
        said.append(
            f"Of each model's answers in words the most accurate under {labels} stand here, as in the published "
            f"table, of equal ones the most accurate under {group.reference}; {len(worse)} more do not: T6, T11 to "
            "T14 and T18 compare them."
        )
    return group.only(rest, *said)


def best(entries: Sequence[Entry], key: Callable[[Entry], Hashable], labels: str, reference: str) -> list[Entry]:
    """Return of the entries with one key the most accurate one, in the old order.

    Entries of equal accuracy under `labels` are told apart by that under the reference, then by the order of IN_WORDS,
    then by the usual way of asking; the first of those that are equal in all of this is kept.
    """
    found: dict[Hashable, Entry] = {}
    for entry in sorted(entries, key=lambda entry: merit(entry, labels, reference), reverse=True):
        found.setdefault(key(entry), entry)
    return [entry for entry in entries if found[key(entry)] is entry]


def merit(entry: Entry, labels: str, reference: str) -> tuple[float, float, int, tuple[bool, ...]]:
    """Return what entries of one model are sorted by, the best last."""
    name = entry.record.protocol
    order = -IN_WORDS.index(name) if name in IN_WORDS else -len(IN_WORDS)
    usual = tuple(not odd for odd in oddity(entry))
    return accuracy(entry, labels), accuracy(entry, reference), order, usual


def asked(entry: Entry) -> tuple[str, ...]:
    """How images were shown and answers taken; open world has no class list to answer from, and shares the usual."""
    return tuple(entry.choice(name, usual) for name, usual in ASKED.items())


def oddity(entry: Entry, *but: str) -> tuple[bool, ...]:
    """Sorts the usual way of asking first, whatever some choices are."""
    return tuple(entry.choice(name, usual) != usual for name, usual in ASKED.items() if usual and name not in but)


def accuracy(entry: Entry, labels: str) -> float:
    """An entry's accuracy, below all others where there is none."""
    found = entry.metric(entry.headline, labels)
    return -1.0 if found is None or found.value is None else found.value
