"""What cases about pairs and birds answered, item by item: a reader for each kind of csv, by a column it alone has."""

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
    """No label for any item."""
    return ((),) * len(rows)


def single_labels(rows: Sequence[Line], name: str) -> tuple[tuple[str, ...], ...]:
    """One label an item, or none."""
    return tuple((row[name],) if row[name] else () for row in rows)


def read_existence(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """A question about a category of an image."""
    return Samples(
        items=tuple((row["key"], f"{row['name']}: {row['question']} question, pair {row['pair']}") for row in rows),
        label_sets={"OODBench": label_outcomes(rows, "correct", single_labels(rows, "expected"), "set")},
        answers=column(rows, "answer"),
        errors=column(rows, "error"),
        raw=column(rows, "said"),
        unit="question",
    )


def read_progression(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """Each of the three questions of a sample, one after the other."""
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
    """One question of a sample as a line of its own."""
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
    """The right answer to a question of a sample; that of logic counts only with that of counting."""
    is_more = "yes" if int(row["first_count"]) > int(row["second_count"]) else "no"
    return {"existence": "yes", "counting": row["second_count"], "logic": is_more}[stage]


def read_detection(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """A category that is in an image; one that is flagged is one that the detector got wrong."""
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
    """How a pair is flagged."""
    flags = [name for name, case in (("beaten", "case1"), ("unlikely", "case2")) if row[case] == "1"]
    return f"flagged: {', '.join(flags)}" if flags else "not flagged"


def image_items(rows: Sequence[Line]) -> tuple[tuple[str, str], ...]:
    """An image an item."""
    return tuple((row["key"], "") for row in rows)


def answerability(rows: Sequence[Line]) -> tuple[str, ...]:
    """Whether a bird can be told, and if not, why."""
    return tuple("answerable" if row["answerable"] == "1" else row["reason"] or "unanswerable" for row in rows)


def read_species(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """A bird under every list at every level; the answer is the finest of the whole list."""
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
    """What is right at one level."""
    level = column_name.partition(".")[2]
    outcomes = label_outcomes(
        rows, f"{column_name}.correct", single_labels(rows, level) if level in rows[0] else no_labels(rows)
    )
    return LabelOutcomes(outcomes.labels, kinds, outcomes.outcomes)


def level_details(row: Line, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The answer at every level, and how sure it is."""
    for column_name in columns:
        if row[column_name]:
            yield column_name.removeprefix("all."), f"{row[column_name]} {format_score(row[f'{column_name}.p'])}"


def format_score(number: str) -> str:
    """A number to three digits."""
    return f"{float(number):.3g}" if number else ""


def read_flat_list(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """A bird and the name chosen from species and genera."""
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
    """The name chosen from each list, and how sure it is."""
    for column_name in columns:
        if row[f"{column_name}.answer"]:
            answer, level, p = (row[f"{column_name}.{part}"] for part in ("answer", "level", "p"))
            yield column_name, f"{answer} ({level}) {format_score(p)}"


def read_free_form(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """A bird and what was said of it."""
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
    """A wording about a bird: right is to abstain where it cannot be told, and to answer where it can."""
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
    """What a model should do."""
    return "answer" if row["answerable"] == "1" else "abstain"


def abstention_correct(row: Line) -> str:
    """1 where the model did that, 0 where it did not, and nothing where it said nothing."""
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
