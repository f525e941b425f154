"""What each column of a table of questions is, by its name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

import numpy as np

from eyechart.data.dataset.dataset import SliceVariable
from eyechart.errors import DataError
from eyechart.messages.suggestions import did_you_mean
from eyechart.questions.data.table_files import RawTable, cell_text

IMAGE, QUESTION, ANSWER, OPTIONS = "image", "question", "answer", "options"
ID, HINT, KIND, TOLERANCE = "id", "hint", "kind", "tolerance"
NAMES: Mapping[str, tuple[str, ...]] = {
    ID: ("id", "index", "question_id", "questionid", "qid", "pid"),
    IMAGE: ("image", "images", "image_path", "img_path", "img", "picture", "path", "file", "file_name", "filename"),
    QUESTION: ("question", "text", "query", "prompt"),
    ANSWER: ("answer", "answers", "label", "gt_answer", "ground_truth", "gt", "target", "reference"),
    OPTIONS: ("choices", "options"),
    HINT: ("hint", "context"),
    KIND: ("kind", "question_type", "answer_type"),
    TOLERANCE: ("tolerance",),
}
REQUIRED = (IMAGE, QUESTION, ANSWER)
MOST_IMAGES = 20  # columns image_1, image_2 and so on
LONGEST_VALUE, MOST_VALUES = 60, 100  # of a slice
CLASS = "class"  # the name of the slices by class


@dataclass(frozen=True)
class Columns:
    """The column of each role, several for images; `letters` are the columns of options A, B and so on.

    `slices` are the names of variables by the columns that they come from, and `unused` the columns that nothing reads,
    each with the reason.
    """

    roles: Mapping[str, str]
    images: tuple[str, ...]
    letters: tuple[str, ...]
    slices: Mapping[str, str]
    unused: Mapping[str, str]

    def describe(self) -> str:
        """Return what the columns are used for, and which are not used."""
        named = [name if name == role else f"{name} as {role}" for role, name in self.roles.items() if role != IMAGE]
        options = [f"{self.letters[0].upper()} to {self.letters[-1].upper()} as options"] if self.letters else []
        images = [name if name == IMAGE else f"{name} as {IMAGE}" for name in self.images]
        used = ", ".join([*images, *named, *options])
        slices = f"; slices: {', '.join(self.slices.values())}" if self.slices else ""
        unused = [f"{name} ({why})" for name, why in self.unused.items()]
        return f"columns: {used}{slices}; not used: {', '.join(unused) or 'none'}"


def find_column(table: RawTable, role: str) -> str | None:
    """Return the first column that may have a role, None if there is none."""
    return next((name for name in NAMES[role] if name in table.columns), None)


def find_columns(table: RawTable) -> Columns:
    """Return what each column is. Raises DataError for a missing column, and for two that may be the answer."""
    roles, unused = dict[str, str](), dict[str, str]()
    for role, names in NAMES.items():
        known = [name for name in names if name in table.columns]
        if role == KIND and known and known[0] != KIND and not _are_kinds(table.columns[known[0]]):
            known = []  # a column such as question_type with words of its own is a slice
        if role == ANSWER and {"answer", "answers"} <= {*known}:
            raise DataError(
                f"{table.name} has the columns answer and answers. Keep one of them: answer, with several accepted "
                "answers separated by a semicolon."
            )
        if known:
            roles[role] = known[0]
    numbered = tuple(name for number in range(1, MOST_IMAGES + 1) if (name := f"image_{number}") in table.columns)
    images = numbered if numbered else (roles[IMAGE],) if IMAGE in roles else ()
    letters = _letters(table)
    _check_required(table, roles, images)
    if letters and OPTIONS in roles:
        raise DataError(
            f"{table.name} has the columns A, B, … and {roles[OPTIONS]}, which both hold options. Keep one of them."
        )
    taken = {*roles.values(), *images, *letters}
    slices = dict[str, str]()
    for name in table.columns:
        if name not in taken:
            if why := _unfit(table.columns[name]):
                unused[name] = why
            else:
                slices[name] = _slice_name(table, name, [*slices.values()])
    return Columns(roles, images, letters, slices, unused)


def _check_required(table: RawTable, roles: Mapping[str, str], images: Sequence[str]) -> None:
    for role in REQUIRED:
        if role not in roles and not (role == IMAGE and images):
            rest = [name for name in table.columns if name not in roles.values()]
            raise DataError(
                f"{table.name} has no column '{role}'; its columns are {', '.join(table.columns)}. Expected {role} or "
                f"one of {', '.join(NAMES[role][1:])}{did_you_mean(role, rest)}"
            )


def _letters(table: RawTable) -> tuple[str, ...]:
    """Return the columns of options: A, B and so on without a gap, two at least."""
    letters = [letter for letter in ascii_lowercase if letter in table.columns]
    if len(letters) < 2:
        return ()
    if letters != [*ascii_lowercase[: len(letters)]]:
        missing = next(letter for letter in ascii_lowercase if letter not in letters)
        raise DataError(
            f"{table.name} has the columns {', '.join(map(str.upper, letters))} without {missing.upper()}. Expected "
            "options in the columns A, B, C and so on: rename them."
        )
    return tuple(letters)


def _are_kinds(cells: Sequence[Any]) -> bool:
    from eyechart.questions.answers.kinds import find_kind

    return all(find_kind(cell_text(cell)) is not None for cell in cells)


def _unfit(cells: Sequence[Any]) -> str:
    """Return why a column cannot be a slice, "" if it can."""
    if any(isinstance(cell, dict | bytes) or hasattr(cell, "mode") for cell in cells):
        return "no texts"
    values = {cell_text(cell) for cell in cells} - {""}
    if not values:
        return "empty"
    if max(map(len, values)) > LONGEST_VALUE:
        return "long texts"
    if len(values) > MOST_VALUES:
        return f"more than {MOST_VALUES} values"
    return "another value in each row" if len(values) == len(cells) > 1 else ""


def _slice_name(table: RawTable, column: str, others: Sequence[str]) -> str:
    """Return the name of the variable of a column: letters, digits and _. Raises DataError if it has another use."""
    name = "".join(sign if sign.isalnum() else "_" for sign in column).strip("_") or "column"
    name = name if name.isidentifier() else f"_{name}"
    if name in others or name == CLASS:
        uses = "the slices by class" if name == CLASS else "another slice of the table"
        raise DataError(f"{table.name} has the column '{column}', which is called like {uses}. Rename it.")
    return name


def slice_variables(table: RawTable, columns: Columns, rows: Sequence[int]) -> Iterator[SliceVariable]:
    """Yield the variable of each further column for some rows."""
    for column, name in columns.slices.items():
        texts = [cell_text(table.columns[column][row]) for row in rows]
        values = tuple(sorted({*texts} - {""}))
        code = {value: index for index, value in enumerate(values)} | {"": -1}
        yield SliceVariable(name, values, np.array([code[text] for text in texts], np.int64))
