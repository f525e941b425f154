"""How the page shows the sample tables of RealBirdID's protocols."""

from collections.abc import Iterator, Sequence

from eyechart.reports.page.columns import Column, Line, SampleTable
from eyechart.reports.page.samples import (
    ClassNamer,
    LabelOutcomes,
    Samples,
    column,
    label_outcomes,
    parse_numbers,
    single_labels,
)
from eyechart.results.records import ANSWERABLE


def _no_labels(rows: SampleTable) -> Column[tuple[str, ...]]:
    """Return no label for any item."""
    return Column.repeat((), len(rows))


def read_species(rows: SampleTable, _: ClassNamer) -> Samples:
    """Return one item per bird, with every list and level; the answer is the species of the whole list."""
    columns, kinds = _columns_with_outcomes(rows), _answerability(rows)
    return Samples(
        items=_image_items(rows),
        label_sets={
            column_name.removeprefix("all."): _level_outcomes(rows, column_name, kinds) for column_name in columns
        },
        answers=column(rows, "all.species"),
        errors=column(rows, "error"),
        more=tuple(tuple(_level_details(row, columns)) for row in rows),
        unit="image",
        confidence=parse_numbers(rows, "all.species.probability"),
        observations=tuple(column(rows, "observation")),
    )


def _level_outcomes(rows: SampleTable, column_name: str, kinds: Column[str]) -> LabelOutcomes:
    """Return labels and outcomes at one level."""
    level = column_name.partition(".")[2]
    outcomes = label_outcomes(
        rows, f"{column_name}.correct", single_labels(rows, level) if level in rows[0] else _no_labels(rows)
    )
    return LabelOutcomes(outcomes.labels, kinds, outcomes.outcomes)


def _level_details(row: Line, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the answer at every level with its confidence."""
    for column_name in columns:
        if row[column_name]:
            yield (
                column_name.removeprefix("all."),
                f"{row[column_name]} {_format_score(row[f'{column_name}.probability'])}",
            )


def _format_score(number: str) -> str:
    """Return a number with three significant digits."""
    return f"{float(number):.3g}" if number else ""


def read_flat_list(rows: SampleTable, _: ClassNamer) -> Samples:
    """Return one item per bird with the name chosen from species and genera."""
    kinds, labels, columns = _answerability(rows), single_labels(rows, "target"), _columns_with_outcomes(rows)
    by_name = {
        f"flat list, {column_name}": label_outcomes(rows, f"{column_name}.correct", labels) for column_name in columns
    }
    return Samples(
        items=_image_items(rows),
        label_sets={
            name: LabelOutcomes(outcomes.labels, kinds, outcomes.outcomes) for name, outcomes in by_name.items()
        },
        answers=column(rows, "all.answer"),
        errors=column(rows, "error"),
        more=tuple(tuple(level_answers(row, columns)) for row in rows),
        unit="image",
        confidence=parse_numbers(rows, "all.probability"),
        observations=tuple(column(rows, "observation")),
    )


def level_answers(row: Line, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name chosen from each list with its confidence."""
    for column_name in columns:
        if row[f"{column_name}.answer"]:
            answer, level, number = (row[f"{column_name}.{part}"] for part in ("answer", "answer_level", "probability"))
            yield column_name, f"{answer} ({level}) {_format_score(number)}"


def read_free_form(rows: SampleTable, _: ClassNamer) -> Samples:
    """Return one item per bird with its completion."""
    outcomes = label_outcomes(rows, "correct", single_labels(rows, "species"))
    return Samples(
        items=_image_items(rows),
        label_sets={"free form": LabelOutcomes(outcomes.labels, _answerability(rows), outcomes.outcomes)},
        answers=column(rows, "prediction"),
        errors=column(rows, "error"),
        raw=column(rows, "response"),
        more=tuple((("level", row["answer_level"]),) if row["answer_level"] else () for row in rows),
        unit="image",
        observations=tuple(column(rows, "observation")),
    )


def read_abstention(rows: SampleTable, _: ClassNamer) -> Samples:
    """Return one item per prompt and bird; right is to abstain on unanswerable images and answer the others."""
    outcomes = label_outcomes(rows, "correct", single_labels(rows, "target"))
    return Samples(
        items=tuple(
            (row["key"], f"{row['prompt_level']}, wording {row['prompt'].removeprefix(row['prompt_level'] + '/')}")
            for row in rows
        ),
        label_sets={"abstention": LabelOutcomes(outcomes.labels, _answerability(rows), outcomes.outcomes)},
        answers=column(rows, "stated_reason"),
        errors=column(rows, "error"),
        raw=column(rows, "response"),
        more=tuple((("abstained", "" if row["error"] else _format_abstained(row)),) for row in rows),
        unit="question",
        prompt_slots=tuple((prompt, {}) for prompt in column(rows, "prompt")),
        observations=tuple(column(rows, "observation")),
    )


def _format_abstained(row: Line) -> str:
    """Return whether an answer is an abstention."""
    return "yes" if row["prediction"] == "abstain" else "no"


def _answerability(rows: SampleTable) -> Column[str]:
    """Return for each bird whether it is answerable, and if not, the reason."""
    return Column.of(row["subset"] if row["subset"] == ANSWERABLE else row["reason"] or row["subset"] for row in rows)


def _columns_with_outcomes(rows: SampleTable) -> list[str]:
    """Return the columns of answers that have an outcome of their own beside them."""
    return [name.removesuffix(".correct") for name in rows[0] if name.endswith(".correct")]


def _image_items(rows: SampleTable) -> tuple[tuple[str, str], ...]:
    """Return one item per image."""
    return tuple((row["key"], "") for row in rows)
