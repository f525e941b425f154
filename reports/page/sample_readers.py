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
        truths={"OODBench": label_outcomes(rows, "correct", single_labels(rows, "expected"), "set")},
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
        truths={"OODBench": label_outcomes(lines, "correct", single_labels(lines, "expected"), "set")},
        answers=column(lines, "answer"),
        errors=column(lines, "error"),
        raw=column(lines, "said"),
        unit="question",
    )


def stage_line(row: Line, stage: str, mark: str) -> Line:
    """One question of a sample as a line of its own."""
    first, second = row["first_name"], row["second_name"]
    asked = {"existence": first, "counting": second, "logic": f"more {first} than {second}"}[stage]
    return {
        "key": row["key"],
        "asked": f"{stage}: {asked}, sample {row['sample']}",
        "set": row["set"],
        "expected": expected_answer(row, stage),
        "answer": row[stage],
        "said": row[f"{stage}_said"],
        "correct": row[mark],
        "error": row["error"],
    }


def expected_answer(row: Line, stage: str) -> str:
    """The right answer to a question of a sample; that of logic counts only with that of counting."""
    more = "yes" if int(row["first_count"]) > int(row["second_count"]) else "no"
    return {"existence": "yes", "counting": row["second_count"], "logic": more}[stage]


def read_detection(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """A category that is in an image; one that is flagged is one that the detector got wrong."""
    flagged = [any(row[case] == "1" for case in ("case1", "case2")) for row in rows]
    lines = [{"correct": "0" if flag else "1", "present": "present"} for flag in flagged]
    return Samples(
        items=tuple((row["key"], f"{row['name']} ({row['category']})") for row in rows),
        truths={"OODBench": label_outcomes(lines, "correct", single_labels(lines, "present"))},
        answers=tuple(format_flags(row) for row in rows),
        errors=("",) * len(rows),
        more=tuple((("purified probability", row["probability"]),) for row in rows),
        unit="pair",
    )


def format_flags(row: Line) -> str:
    """How a pair is flagged."""
    said = [name for name, case in (("beaten", "case1"), ("unlikely", "case2")) if row[case] == "1"]
    return f"flagged: {', '.join(said)}" if said else "not flagged"


def image_items(rows: Sequence[Line]) -> tuple[tuple[str, str], ...]:
    """An image an item."""
    return tuple((row["key"], "") for row in rows)


def answerability(rows: Sequence[Line]) -> tuple[str, ...]:
    """Whether a bird can be told, and if not, why."""
    return tuple("answerable" if row["answerable"] == "1" else row["reason"] or "unanswerable" for row in rows)


def read_species(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """A bird under every list at every level; the answer is the finest of the whole list."""
    spots = [name.removesuffix(".correct") for name in rows[0] if name.endswith(".correct")]
    kinds = answerability(rows)
    return Samples(
        items=image_items(rows),
        truths={spot.removeprefix("all."): level_outcomes(rows, spot, kinds) for spot in spots},
        answers=column(rows, "all.species"),
        errors=column(rows, "error"),
        more=tuple(tuple(level_details(row, spots)) for row in rows),
        unit="image",
        observations=column(rows, "observation"),
    )


def level_outcomes(rows: Sequence[Line], spot: str, kinds: tuple[str, ...]) -> LabelOutcomes:
    """What is right at one level."""
    level = spot.partition(".")[2]
    found = label_outcomes(rows, f"{spot}.correct", single_labels(rows, level) if level in rows[0] else no_labels(rows))
    return LabelOutcomes(found.labels, kinds, found.outcomes)


def level_details(row: Line, spots: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The answer at every level, and how sure it is."""
    for spot in spots:
        if row[spot]:
            yield spot.removeprefix("all."), f"{row[spot]} {format_score(row[f'{spot}.p'])}"


def format_score(number: str) -> str:
    """A number to three digits."""
    return f"{float(number):.3g}" if number else ""


def read_flat_list(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """A bird and the name chosen from species and genera."""
    kinds, labels = (
        answerability(rows),
        tuple((row["species"] if row["answerable"] == "1" else row["genus"],) for row in rows),
    )
    spots = [name.removesuffix(".correct") for name in rows[0] if name.endswith(".correct")]
    found = {f"flat list, {spot}": label_outcomes(rows, f"{spot}.correct", labels) for spot in spots}
    return Samples(
        items=image_items(rows),
        truths={name: LabelOutcomes(each.labels, kinds, each.outcomes) for name, each in found.items()},
        answers=column(rows, "all.answer"),
        errors=column(rows, "error"),
        more=tuple(tuple(level_answers(row, spots)) for row in rows),
        unit="image",
        observations=column(rows, "observation"),
    )


def level_answers(row: Line, spots: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The name chosen from each list, and how sure it is."""
    for spot in spots:
        if row[f"{spot}.answer"]:
            yield spot, f"{row[f'{spot}.answer']} ({row[f'{spot}.level']}) {format_score(row[f'{spot}.p'])}"


def read_free_form(rows: Sequence[Line], _: ClassNamer) -> Samples:
    """A bird and what was said of it."""
    found = label_outcomes(rows, "correct", single_labels(rows, "species"))
    return Samples(
        items=image_items(rows),
        truths={"free form": LabelOutcomes(found.labels, answerability(rows), found.outcomes)},
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
    found = label_outcomes(lines, "right", single_labels(lines, "wanted"))
    return Samples(
        items=tuple((row["key"], f"{row['level']}, wording {row['wording']}") for row in rows),
        truths={"abstention": LabelOutcomes(found.labels, answerability(rows), found.outcomes)},
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
    found = MARKS.get(row["abstained"], UNSCORED)
    return "" if found == UNSCORED else str(RIGHT if (found == RIGHT) == (row["answerable"] != "1") else WRONG)


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
