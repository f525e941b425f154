"""Readers of the sample tables of OODBench and RealBirdID, chosen by a column that only one of them has."""

from collections.abc import Iterator, Mapping, Sequence

from .samples import (
    MARKS,
    RIGHT,
    UNSCORED,
    WRONG,
    ClassNamer,
    LabelOutcomes,
    Line,
    Reader,
    Samples,
    column,
    label_outcomes,
    read_classification,
)

STAGES = {"existence": "e", "counting": "c", "logic": "l"}


def no_labels(rows: Sequence[Line]) -> tuple[tuple[str, ...], ...]:
    """Return no label for any item."""
    return ((),) * len(rows)


def single_labels(rows: Sequence[Line], name: str) -> tuple[tuple[str, ...], ...]:
    """Return one label per item, or none."""
    return tuple((row[name],) if row[name] else () for row in rows)


def read_existence(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """Return one item per question about a category of an image."""
    return Samples(
        items=tuple((row["key"], f"{row['name']}: {row['question']} question, pair {row['pair']}") for row in rows),
        label_sets={"OODBench": label_outcomes(rows, "correct", single_labels(rows, "expected"), "set")},
        answers=column(rows, "answer"),
        errors=column(rows, "error"),
        raw=column(rows, "said"),
        unit="question",
    )


def read_progression(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """Return each of the three questions of a sample as an item."""
    lines = [stage_line(row, stage, mark) for row in rows for stage, mark in STAGES.items()]
    return Samples(
        items=tuple((row["key"], row["asked"]) for row in lines),
        label_sets={"OODBench": label_outcomes(lines, "correct", single_labels(lines, "expected"), "set")},
        answers=column(lines, "answer"),
        errors=column(lines, "error"),
        raw=column(lines, "said"),
        unit="question",
    )


def stage_line(row: Line, stage: str, mark: str) -> Line:
    """Return one question of a sample as a line."""
    first_name, second_name = row["first_name"], row["second_name"]
    subject = {"existence": first_name, "counting": second_name, "logic": f"more {first_name} than {second_name}"}[
        stage
    ]
    return {
        "key": row["key"],
        "asked": f"{stage}: {subject}, sample {row['sample']}",
        "set": row["set"],
        "expected": expected_answer(row, stage),
        "answer": row[stage],
        "said": row[f"{stage}_said"],
        "correct": row[mark],
        "error": row["error"],
    }


def expected_answer(row: Line, stage: str) -> str:
    """Return the right answer to a question of a sample; logic counts only if counting is right."""
    is_more = "yes" if int(row["first_count"]) > int(row["second_count"]) else "no"
    return {"existence": "yes", "counting": row["second_count"], "logic": is_more}[stage]


def read_detection(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """Return one item per present category; a flagged pair is one that the detector got wrong."""
    flagged = [any(row[case] == "1" for case in ("case1", "case2")) for row in rows]
    lines = [{"correct": "0" if flag else "1", "present": "present"} for flag in flagged]
    return Samples(
        items=tuple((row["key"], f"{row['name']} ({row['category']})") for row in rows),
        label_sets={"OODBench": label_outcomes(lines, "correct", single_labels(lines, "present"))},
        answers=tuple(format_flags(row) for row in rows),
        errors=("",) * len(rows),
        more=tuple((("purified probability", row["probability"]),) for row in rows),
        unit="pair",
    )


def format_flags(row: Line) -> str:
    """Return the cases by which a pair is flagged."""
    flags = [name for name, case in (("beaten", "case1"), ("unlikely", "case2")) if row[case] == "1"]
    return f"flagged: {', '.join(flags)}" if flags else "not flagged"


def image_items(rows: Sequence[Line]) -> tuple[tuple[str, str], ...]:
    """Return one item per image."""
    return tuple((row["key"], "") for row in rows)


def answerability(rows: Sequence[Line]) -> tuple[str, ...]:
    """Return for each bird whether it is answerable, and if not, the reason."""
    return tuple("answerable" if row["answerable"] == "1" else row["reason"] or "unanswerable" for row in rows)


def read_species(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """Return one item per bird, with every list and level; the answer is the species of the whole list."""
    columns = [name.removesuffix(".correct") for name in rows[0] if name.endswith(".correct")]
    kinds = answerability(rows)
    return Samples(
        items=image_items(rows),
        label_sets={
            column_name.removeprefix("all."): level_outcomes(rows, column_name, kinds) for column_name in columns
        },
        answers=column(rows, "all.species"),
        errors=column(rows, "error"),
        more=tuple(tuple(level_details(row, columns)) for row in rows),
        unit="image",
        observations=column(rows, "observation"),
    )


def level_outcomes(rows: Sequence[Line], column_name: str, kinds: tuple[str, ...]) -> LabelOutcomes:
    """Return labels and outcomes at one level."""
    level = column_name.partition(".")[2]
    outcomes = label_outcomes(
        rows, f"{column_name}.correct", single_labels(rows, level) if level in rows[0] else no_labels(rows)
    )
    return LabelOutcomes(outcomes.labels, kinds, outcomes.outcomes)


def level_details(row: Line, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the answer at every level with its confidence."""
    for column_name in columns:
        if row[column_name]:
            yield column_name.removeprefix("all."), f"{row[column_name]} {format_score(row[f'{column_name}.p'])}"


def format_score(number: str) -> str:
    """Return a number with three significant digits."""
    return f"{float(number):.3g}" if number else ""


def read_flat_list(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """Return one item per bird with the name chosen from species and genera."""
    kinds, labels = (
        answerability(rows),
        tuple((row["species"] if row["answerable"] == "1" else row["genus"],) for row in rows),
    )
    columns = [name.removesuffix(".correct") for name in rows[0] if name.endswith(".correct")]
    by_name = {
        f"flat list, {column_name}": label_outcomes(rows, f"{column_name}.correct", labels) for column_name in columns
    }
    return Samples(
        items=image_items(rows),
        label_sets={
            name: LabelOutcomes(outcomes.labels, kinds, outcomes.outcomes) for name, outcomes in by_name.items()
        },
        answers=column(rows, "all.answer"),
        errors=column(rows, "error"),
        more=tuple(tuple(level_answers(row, columns)) for row in rows),
        unit="image",
        observations=column(rows, "observation"),
    )


def level_answers(row: Line, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name chosen from each list with its confidence."""
    for column_name in columns:
        if row[f"{column_name}.answer"]:
            answer, level, p = (row[f"{column_name}.{part}"] for part in ("answer", "level", "p"))
            yield column_name, f"{answer} ({level}) {format_score(p)}"


def read_free_form(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """Return one item per bird with its completion."""
    outcomes = label_outcomes(rows, "correct", single_labels(rows, "species"))
    return Samples(
        items=image_items(rows),
        label_sets={"free form": LabelOutcomes(outcomes.labels, answerability(rows), outcomes.outcomes)},
        answers=column(rows, "extracted"),
        errors=column(rows, "error"),
        raw=column(rows, "said"),
        more=tuple((("level", row["level"]),) if row["level"] else () for row in rows),
        unit="image",
        observations=column(rows, "observation"),
    )


def read_abstention(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """Return one item per wording and bird; right is to abstain on unanswerable images and answer the others."""
    lines = [{"right": abstention_correct(row), "wanted": expected_action(row)} for row in rows]
    outcomes = label_outcomes(lines, "right", single_labels(lines, "wanted"))
    return Samples(
        items=tuple((row["key"], f"{row['level']}, wording {row['wording']}") for row in rows),
        label_sets={"abstention": LabelOutcomes(outcomes.labels, answerability(rows), outcomes.outcomes)},
        answers=column(rows, "extracted"),
        errors=column(rows, "error"),
        raw=column(rows, "said"),
        more=tuple((("abstained", {"1": "yes", "0": "no"}.get(row["abstained"], "")),) for row in rows),
        unit="question",
        observations=column(rows, "observation"),
    )


def expected_action(row: Line) -> str:
    """Return what a model should do: answer or abstain."""
    return "answer" if row["answerable"] == "1" else "abstain"


def abstention_correct(row: Line) -> str:
    """Return "1" if the model did what is expected, "0" if not, "" if there is no answer."""
    abstained = MARKS.get(row["abstained"], UNSCORED)
    return "" if abstained == UNSCORED else str(RIGHT if (abstained == RIGHT) == (row["answerable"] != "1") else WRONG)


READERS: Mapping[str, Reader] = {
    "top1": read_classification,
    "question": read_existence,
    "existence_said": read_progression,
    "case1": read_detection,
    "abstained": read_abstention,
    "all.answer": read_flat_list,
    "all.species": read_species,
    "extracted": read_free_form,
}
