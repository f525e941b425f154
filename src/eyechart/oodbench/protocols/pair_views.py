"""How the page shows the sample tables of OODBench's protocols."""

from eyechart.reports.page.columns import Column, Line, SampleTable
from eyechart.reports.page.samples import Asked, ClassNamer, Samples, column, label_outcomes, single_labels


def read_existence(rows: SampleTable, _: ClassNamer) -> Samples:
    """Return one item per question about a category of an image."""
    return Samples(
        items=tuple(
            (row["key"], f"{row['category_name']}: {row['question']} question, pair {row['pair']}") for row in rows
        ),
        label_sets={"OODBench": label_outcomes(rows, "correct", single_labels(rows, "target"), "subset")},
        answers=column(rows, "prediction"),
        errors=column(rows, "error"),
        raw=column(rows, "response"),
        unit="question",
        prompt_slots=tuple((row["question"], {"category": row["category_name"]}) for row in rows),
    )


def read_progression(rows: SampleTable, _: ClassNamer) -> Samples:
    """Return each of the three questions of a sample as an item."""
    return Samples(
        items=tuple((row["key"], _describe_question(row)) for row in rows),
        label_sets={"OODBench": label_outcomes(rows, "correct", single_labels(rows, "target"), "subset")},
        answers=column(rows, "prediction"),
        errors=column(rows, "error"),
        raw=column(rows, "response"),
        unit="question",
        prompt_slots=tuple(map(_progression_slots, rows)),
    )


def _progression_slots(row: Line) -> Asked:
    """Return the question of a row and its categories."""
    first, second, stage = row["first_name"], row["second_name"], row["question"]
    slots = {"category": second if stage == "counting" else first, "other": second}
    return stage, slots


def _describe_question(row: Line) -> str:
    """Return the text of one question of a sample."""
    first, second, stage = row["first_name"], row["second_name"], row["question"]
    subject = {"existence": first, "counting": second, "logic": f"more {first} than {second}"}[stage]
    return f"{stage}: {subject}, sample {row['sample']}"


def read_detection(rows: SampleTable, _: ClassNamer) -> Samples:
    """Return one item per present category; a flagged pair is one that the detector got wrong."""
    return Samples(
        items=tuple((row["key"], f"{row['category_name']} ({row['category']})") for row in rows),
        label_sets={"OODBench": label_outcomes(rows, "correct", single_labels(rows, "target"))},
        answers=Column.of("" if row["error"] else _format_flags(row) for row in rows),
        errors=column(rows, "error"),
        more=tuple((("purified probability", row["probability"]),) for row in rows),
        unit="pair",
    )


def _format_flags(row: Line) -> str:
    """Return the cases by which a pair is flagged."""
    flags = [name for name in ("outscored", "unlikely") if row[name] == "1"]
    return f"flagged: {', '.join(flags)}" if flags else "not flagged"
