"""What became of disputed images in a second annotation pass: Figure 7 of arXiv 2603.06578."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from eyechart.errors import ReportError

from ..answers import portion
from ..render import Cell, Row, Table
from ..runs import Group, Pool
from .files import LABELS, MODEL, Choice, Count, Item, Reply, Source, read_reply

PREFERRED, PRESERVED, COMBINED, OTHER = "preferred", "preserved", "combined", "other"
OUTCOMES = (PREFERRED, PRESERVED, COMBINED, OTHER)
# Whether a class of the model's is among the chosen ones, and whether one of the labels' is.
BY_CHOICE: Mapping[tuple[bool, bool], str] = {
    (True, False): PREFERRED,
    (False, True): PRESERVED,
    (True, True): COMBINED,
    (False, False): OTHER,
}
ADDED, REJECTED = f"{PREFERRED} + {COMBINED}", f"{PREFERRED} + {OTHER}"
SUMS: Mapping[str, tuple[str, str]] = {ADDED: (PREFERRED, COMBINED), REJECTED: (PREFERRED, OTHER)}
HEADS = ("Category", "", "images", "disputed", "answered", *OUTCOMES, *SUMS)
USAGE = "python -m eyechart.reports table F7 RUN… --annotations=answers.json"


def f7(pool: Pool, labels: str | None) -> list[Table]:
    """Figure 7 as a table: by category, what the second pass made of the model's and of the labels' classes."""
    return [table(source, replies, pool) for source, replies in gather(pool, labels)]


def gather(pool: Pool, labels: str | None) -> list[tuple[Source, list[Reply]]]:
    """Return the answers to the sheets of each source, of all ground truths or of the named one."""
    if not pool.annotations:
        raise ReportError(
            "F7 needs the answers to a sheet of disputed images. Make one with: python -m eyechart.reports annotate, "
            f"and give what comes back: {USAGE}"
        )
    replies = [read_reply(path, [folder / "reports" for folder, _ in pool.runs]) for path in pool.annotations]
    found = [(source, of) for source, of in by_source(replies).items() if labels in (None, source.labels)]
    if not found:
        known = ", ".join(dict.fromkeys(reply.key.source.labels for reply in replies))
        raise ReportError(f"--labels is '{labels}', and the answers are about {known}. Leave it out, or name that.")
    return found


def by_source(replies: Sequence[Reply]) -> dict[Source, list[Reply]]:
    """Answers to the sheets of one source belong together; two answers to one image do not."""
    found: dict[Source, list[Reply]] = {}
    for reply in replies:
        others = found.setdefault(reply.key.source, [])
        for other in others:
            if twice := {*asked(other)} & {*asked(reply)}:
                raise ReportError(
                    f"{other.path} and {reply.path} both answer the image {min(twice)}, of {len(twice)} in common. "
                    "Give one of them, or make a table of each."
                )
        others.append(reply)
    return found


def asked(reply: Reply) -> Iterator[str]:
    """The keys of the images that were answered."""
    return (reply.key.items[place].key for place in reply.choices)


def table(source: Source, replies: Sequence[Reply], pool: Pool) -> Table:
    """The table of one source."""
    group = group_of(source, replies, pool)
    rows = [row for count in source.counts for row in category_rows(count, answered(replies))]
    return Table(
        title_of(source, replies, pool),
        HEADS,
        tuple(rows),
        (*explained(source, replies), *group.notes()),
        {"split": group.title, "labels": source.labels, "model": model_of(source, group), "task": source.protocol},
    )


def answered(replies: Sequence[Reply]) -> list[tuple[Item, Choice]]:
    """Return every answered image with what the annotator chose."""
    return [(reply.key.items[place], choice) for reply in replies for place, choice in reply.choices.items()]


def title_of(source: Source, replies: Sequence[Reply], pool: Pool) -> str:
    """Return which split, ground truth, model and protocol the answers are about."""
    group = group_of(source, replies, pool)
    model = model_of(source, group)
    return f"{group.title}: second annotation pass where {source.labels} disputes {model} ({source.protocol})"


def model_of(source: Source, group: Group) -> str:
    """Return the name of the model whose answers were disputed."""
    return next(entry.model for entry in group.entries if entry.record.case == source.case)


def group_of(source: Source, replies: Sequence[Reply], pool: Pool) -> Group:
    """The group of the case that the sheet was made from, with the very answers that it was made from."""
    for group in pool.groups:
        for entry in group.entries:
            made = entry.record.predictions
            if made and (entry.record.case, made.sha256) == (source.case, source.predictions):
                return group
    raise ReportError(
        f"{replies[0].path} answers a sheet about {source.case} ({source.protocol}) whose answers have the sha256 "
        f"{source.predictions[:12]}…, and these runs do not hold them. Name the run that the sheet was made from."
    )


def outcome(item: Item, choice: Choice) -> str:
    """Which of the four it is; an equivalent of a suggested class stands for it."""
    by = {who for place in choice.chosen for who in item.candidates[place - 1].by}
    return BY_CHOICE[MODEL in by, LABELS in by]


def category_rows(count: Count, answered: Sequence[tuple[Item, Choice]]) -> list[Row]:
    """Numbers of images, then shares: of the category for the disputed ones, of the answered ones for all others."""
    found = Counter(outcome(item, choice) for item, choice in answered if item.category == count.category)
    n = found.total()
    hits = {name: found[name] for name in OUTCOMES} | {name: found[a] + found[b] for name, (a, b) in SUMS.items()}
    numbers: list[Cell] = [count.category, "#", count.images, count.disputed, n, *hits.values()]
    shares: list[Cell] = [portion(count.disputed, count.images), portion(n, count.disputed)]
    return [tuple(numbers), (count.category, "%", None, *shares, *(portion(hit, n) for hit in hits.values()))]


def explained(source: Source, replies: Sequence[Reply]) -> Iterator[str]:
    """What a reader must know."""
    yield (
        f"Disputed: the model gave a valid prediction, and {source.labels} says that it is wrong. In S- and M- the "
        "original label is not right either."
    )
    yield (
        f"Among what the annotators chose is: the model's class and none of {source.labels} (preferred); one of "
        f"{source.labels} and not the model's (preserved); both (combined); neither (other). {ADDED}: the model's "
        f"class holds. {REJECTED}: no label of {source.labels} does."
    )
    yield "Disputed is a share of the images, answered of the disputed ones, all else of the answered ones."
    yield "Brackets: 95 % Wilson intervals."
    beside = f" and {source.second}" if source.second else ""
    yield f"The names came from {source.case} ({source.protocol}), {source.labels}, the original labels{beside}."
    yield from left_open(replies)


def left_open(replies: Sequence[Reply]) -> Iterator[str]:
    """What the answers say nothing of, and what they say in words."""
    for reply in replies:
        done, size = len(reply.choices), len(reply.key.items)
        if done < size:
            yield (
                f"{reply.path.name}: {done} of the sheet's {size} pictures are answered; the others are left out. Load "
                "the file into the sheet to go on."
            )
    said = sum(bool(choice.comment.strip()) for reply in replies for choice in reply.answers.answers.values())
    if said:
        yield f"Pictures with a comment: {said}; the files of answers hold them."
