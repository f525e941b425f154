"""The sample tables in their layout before all protocols shared columns (issue 15), for comparison with golden files.

Golden files hold the earlier layout. Every earlier column can be computed from the present ones, so that a new table is
translated back, and all earlier values are still compared. Present columns without an earlier counterpart (`target` and
`prediction` of classification, `correct` of detection …) are left out; tests/results/test_sample_table.py checks them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

Row = Mapping[str, str]
SHARED = ("key", "target", "prediction", "correct", "subset", "error")
RENAMED = {  # present names of further columns, by the earlier name
    "repeat": "epoch",
    "said": "response",
    "strict": "strict_top1",
    "oop": "out_of_prompt",
    "place": "position",
    "name": "category_name",
    "set": "subset",
    "range.choices": "range.candidates",
}
PARTS = {"p": "probability", "p2": "second_probability", "level": "answer_level"}  # of names such as all.species.p
STAGES = {"existence": "e", "counting": "c", "logic": "l"}


def is_shared_layout(head: Sequence[str]) -> bool:
    """Return whether a table begins with the shared columns.

    >>> is_shared_layout(["key", "label", "top1"])
    False
    """
    return tuple(head[: len(SHARED)]) == SHARED


def earlier_layout(
    head: Sequence[str], rows: Sequence[Sequence[str]], earlier: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a present table with the columns of the earlier header.

    A column that cannot be computed is left out, and is then reported as missing.

    >>> head = [*SHARED, "side", "category_name"]
    >>> earlier_layout(head, [["a", "", "", "", "ID", "", "split", "cup"]], ["sample", "key", "name", "set"])
    (['sample', 'key', 'name', 'set'], [['split', 'a', 'cup', 'ID']])
    """
    present = [dict(zip(head, row, strict=True)) for row in rows]
    if "existence_said" in earlier:
        present = [*map(join_questions, split_samples(present))]
    sources = {name: source_of(name, head) for name in earlier}
    kept = [name for name in earlier if not present or is_known(sources[name], present[0])]
    return kept, [[read(sources[name], row) for name in kept] for row in present]


Source = str | Callable[[Row], str]


def source_of(name: str, head: Sequence[str]) -> Source:
    """Return the present column of an earlier one, or the function that computes it."""
    computed: dict[str, Source] = {
        "expected": "target",
        "answer": "prediction",
        "answerable": lambda row: str(int(row["subset"] == "answerable")),
        "abstained": lambda row: "" if row["error"] else str(int(row["prediction"] == "abstain")),
        "extracted": "stated_reason" if "stated_reason" in head else "prediction",
        "case1": "outscored",
        "case2": "unlikely",
        "wording": lambda row: row["prompt"].removeprefix(f"{row['prompt_level']}/"),
        "sample": "side" if "side" in head else "sample",
        "level": "prompt_level" if "prompt_level" in head else "answer_level",
    }
    prefix, dot, part = name.rpartition(".")
    present = RENAMED.get(name) or (f"{prefix}.{PARTS[part]}" if dot and part in PARTS else name)
    return computed.get(name, present)


def is_known(source: Source, row: Row) -> bool:
    """Return whether a row has a column, or what its function reads."""
    return not isinstance(source, str) or source in row


def read(source: Source, row: Row) -> str:
    """Return a cell of a present row."""
    return row[source] if isinstance(source, str) else source(row)


def split_samples(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield the three rows of each sample of progression."""
    for start in range(0, len(rows), len(STAGES)):
        yield rows[start : start + len(STAGES)]


def join_questions(rows: Sequence[Row]) -> dict[str, str]:
    """Return the three questions of a sample as one row with the earlier columns."""
    if [row["question"] for row in rows] != [*STAGES] or len({row["sample"] for row in rows}) > 1:
        raise ValueError(f"Expected the questions {', '.join(STAGES)} of one sample, found {rows}.")
    first = rows[0]
    return {
        **{name: first[name] for name in ("sample", "key", "subset", "error")},
        **{f"{which}{part}": first[f"{which}_{new}"] for which in ("first", "second")
           for part, new in (("", "category"), ("_name", "name"), ("_count", "count"))},
        **{f"{row['question']}_said": row["response"] for row in rows},
        **{row["question"]: row["prediction"] for row in rows},
        **{STAGES[row["question"]]: row["correct"] for row in rows},
        "truncated": str(sum(int(row["truncated"]) for row in rows)),
    }  # fmt: skip
