"""Which of a model's answers in words stand in a table: the best ones, as the published captions say."""

from collections.abc import Callable, Hashable, Mapping, Sequence

from .runs import Entry, Group

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
    kept = best(sorted(words, key=oddity), lambda entry: entry.model, labels)
    worse = [entry for entry in words if entry not in kept]
    few = group.of(*FEW_OPTIONS).entries
    rest = [entry for entry in group.under(group.reference, labels) if entry not in worse and entry not in few]
    said = [f"{entry.record.protocol}: left out, its options are few." for entry in few[:1]]
    if worse:
        said.append(
            f"Of each model's answers in words the most accurate under {labels} stand here, as in the published "
            f"table; {len(worse)} more do not: T6, T11 to T14 and T18 compare them."
        )
    return group.only(rest, *said)


def best(entries: Sequence[Entry], key: Callable[[Entry], Hashable], labels: str) -> list[Entry]:
    """Of the entries with one key, the one with the highest accuracy; the first of equal ones, in the old order."""
    found: dict[Hashable, Entry] = {}
    for entry in entries:
        kept = found.setdefault(key(entry), entry)
        if accuracy(entry, labels) > accuracy(kept, labels):
            found[key(entry)] = entry
    return [entry for entry in entries if found[key(entry)] is entry]


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
