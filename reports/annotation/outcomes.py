"""Outcomes of a second annotation pass: Figure 7 of arXiv 2603.06578."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from eyechart.errors import ReportError

from ..answers import proportion_of_counts
from ..render import Cell, Row, Table
from ..runs import ComparableCases, Runs
from .files import LABELS, MODEL, AnnotatorChoice, AnswerFile, CategoryCounts, Item, SheetSource, read_answer_file

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
COLUMNS = ("Category", "", "images", "disputed", "answered", *OUTCOMES, *SUMS)
USAGE = "eyechart table F7 RUN… --annotations=answers.json"


def f7(runs: Runs, labels: str | None) -> list[Table]:
    """Return Figure 7 as tables: how often annotators chose the model's class, the label, both or neither."""
    return [outcome_table(source, replies, runs) for source, replies in read_answers(runs, labels)]


def read_answers(runs: Runs, labels: str | None) -> list[tuple[SheetSource, list[AnswerFile]]]:
    """Return the answer files by source, of all label sets or only the named one."""
    if not runs.annotations:
        raise ReportError(
            "F7 needs the answers to a sheet of disputed images. Make one with: eyechart annotate, "
            f"and give what comes back: {USAGE}"
        )
    replies = [read_answer_file(path, [folder / "reports" for folder, _ in runs.sessions]) for path in runs.annotations]
    selected = [(source, files) for source, files in by_source(replies).items() if labels in (None, source.labels)]
    if not selected:
        known = ", ".join(dict.fromkeys(reply.key.source.labels for reply in replies))
        raise ReportError(f"--labels is '{labels}', and the answers are about {known}. Leave it out, or name that.")
    return selected


def by_source(replies: Sequence[AnswerFile]) -> dict[SheetSource, list[AnswerFile]]:
    """Group answer files by source; raise ReportError if two files answer the same image."""
    by_source_: dict[SheetSource, list[AnswerFile]] = {}
    for reply in replies:
        files = by_source_.setdefault(reply.key.source, [])
        for other in files:
            if twice := {*answered_keys(other)} & {*answered_keys(reply)}:
                raise ReportError(
                    f"{other.path} and {reply.path} both answer the image {min(twice)}, of {len(twice)} in common. "
                    "Give one of them, or make a table of each."
                )
        files.append(reply)
    return by_source_


def answered_keys(reply: AnswerFile) -> Iterator[str]:
    """Yield the keys of the images with an answer."""
    return (reply.key.items[index].key for index in reply.choices)


def outcome_table(source: SheetSource, replies: Sequence[AnswerFile], runs: Runs) -> Table:
    """Return the table of one source."""
    group = find_group(source, replies, runs)
    rows = [row for count in source.counts for row in category_rows(count, answered_items(replies))]
    return Table(
        table_title(source, replies, runs),
        COLUMNS,
        tuple(rows),
        (*outcome_notes(source, replies), *group.notes()),
        {"split": group.title, "labels": source.labels, "model": model_name(source, group), "task": source.protocol},
    )


def answered_items(replies: Sequence[AnswerFile]) -> list[tuple[Item, AnnotatorChoice]]:
    """Return every answered image with what the annotator chose."""
    return [(reply.key.items[index], choice) for reply in replies for index, choice in reply.choices.items()]


def table_title(source: SheetSource, replies: Sequence[AnswerFile], runs: Runs) -> str:
    """Return the title: split, label set, model and protocol."""
    group = find_group(source, replies, runs)
    model = model_name(source, group)
    return f"{group.title}: second annotation pass where {source.labels} disputes {model} ({source.protocol})"


def model_name(source: SheetSource, group: ComparableCases) -> str:
    """Return the name of the model whose answers were disputed."""
    return next(case.model for case in group.cases if case.record.case == source.case)


def find_group(source: SheetSource, replies: Sequence[AnswerFile], runs: Runs) -> ComparableCases:
    """Return the group of the case, with the same answers, that the sheet was made from."""
    for group in runs.groups:
        for case in group.cases:
            file = case.record.predictions
            if file and (case.record.case, file.sha256) == (source.case, source.predictions):
                return group
    raise ReportError(
        f"{replies[0].path} answers a sheet about {source.case} ({source.protocol}) whose answers have the sha256 "
        f"{source.predictions[:12]}…, and these runs do not hold them. Name the run that the sheet was made from."
    )


def classify_choice(item: Item, choice: AnnotatorChoice) -> str:
    """Return the outcome of one answer; an equivalent of a suggested class counts as that class."""
    sources = {source for index in choice.selected for source in item.candidates[index - 1].by}
    return BY_CHOICE[MODEL in sources, LABELS in sources]


def category_rows(count: CategoryCounts, answered: Sequence[tuple[Item, AnnotatorChoice]]) -> list[Row]:
    """Return a row of counts and a row of shares: disputed of all images, all others of the answered images."""
    counts = Counter(classify_choice(item, choice) for item, choice in answered if item.category == count.category)
    n = counts.total()
    numbers_by_name = {name: counts[name] for name in OUTCOMES} | {
        name: counts[a] + counts[b] for name, (a, b) in SUMS.items()
    }
    numbers: list[Cell] = [count.category, "#", count.images, count.disputed, n, *numbers_by_name.values()]
    shares: list[Cell] = [proportion_of_counts(count.disputed, count.images), proportion_of_counts(n, count.disputed)]
    return [
        tuple(numbers),
        (count.category, "%", None, *shares, *(proportion_of_counts(hit, n) for hit in numbers_by_name.values())),
    ]


def outcome_notes(source: SheetSource, replies: Sequence[AnswerFile]) -> Iterator[str]:
    """Yield the explanation of the table."""
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
    yield from unanswered_notes(replies)


def unanswered_notes(replies: Sequence[AnswerFile]) -> Iterator[str]:
    """Yield the number of images without an answer, and the number of comments."""
    for reply in replies:
        done, size = len(reply.choices), len(reply.key.items)
        if done < size:
            yield (
                f"{reply.path.name}: {done} of the sheet's {size} pictures are answered; the others are left out. Load "
                "the file into the sheet to go on."
            )
    comments = sum(bool(choice.comment.strip()) for reply in replies for choice in reply.answers.answers.values())
    if comments:
        yield f"Pictures with a comment: {comments}; the files of answers hold them."
