"""Build a data set of a table of questions: a sample is a question, and its key the question's id."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from eyechart.data.dataset.dataset import Dataset, Row
from eyechart.data.labels.label_values import is_missing
from eyechart.data.tables import LIST_SEPARATOR
from eyechart.errors import DataError
from eyechart.messages.plurals import count_of
from eyechart.questions.data.columns import (
    ANSWER,
    HINT,
    ID,
    KIND,
    OPTIONS,
    QUESTION,
    TOLERANCE,
    Columns,
    find_column,
    find_columns,
    slice_variables,
)
from eyechart.questions.data.pictures import FOLDER, PictureList
from eyechart.questions.data.question_set import Question, QuestionSet
from eyechart.questions.data.right_options import describe_repeated, find_right_options, parse_list
from eyechart.questions.data.table_files import (
    ANSWER_NAMES,
    RawTable,
    cell_text,
    find_question_file,
    frame_table,
    read_question_file,
)

PROVENANCE = "questions and answers: the table"


def open_question_folder(folder: Path, benchmark: str, split: str) -> Dataset:
    """Open the table of questions in the folder of a split. Raises DataError, which names the row and the remedy."""
    path = find_question_file(folder)
    if path is None:
        raise DataError(f"{folder} has no table of questions. Expected questions.csv, .tsv, .jsonl or .parquet.")
    folders = [folder, folder / FOLDER, folder.parent, folder.parent / FOLDER]
    table = _with_answers(read_question_file(path), find_question_file(folder, ANSWER_NAMES))
    return _build(table, path.name, PictureList(folders), benchmark, split)


def _with_answers(table: RawTable, path: Path | None) -> RawTable:
    """Return a table with the answers of the file beside it, as LLaVA has questions and answers in two files.

    Raises DataError if the table has answers itself, if a file has no ids, and for a question without an answer.
    """
    if path is None:
        return table
    answers = read_question_file(path)
    ids, given = find_column(answers, ID), find_column(answers, ANSWER)
    own, other = find_column(table, ID), find_column(table, ANSWER)
    if other is not None:
        raise DataError(f"{table.name} has the column {other}, and {path} has answers, too. Remove one of them.")
    if own is None or ids is None or given is None:
        raise DataError(f"{path} has no column id or answer, or {table.name} no id. Expected the id of each question.")
    known = dict(zip(map(cell_text, answers.columns[ids]), answers.columns[given], strict=True))
    for row, cell in enumerate(table.columns[own]):
        if cell_text(cell) not in known:
            raise DataError(
                f"{table.location(row)}: {path} has no answer to '{cell_text(cell)}'. Add a row with this id."
            )
    column = [known[cell_text(cell)] for cell in table.columns[own]]
    return replace(table, columns={**table.columns, ANSWER: column})


def open_question_frame(frame: Any, benchmark: str, split: str) -> Dataset:
    """Open a data frame of pandas, whose images are pictures of PIL or paths. Raises DataError."""
    if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
        raise DataError(
            f"The questions of {benchmark}/{split} are a {type(frame).__name__}. Expected a pandas DataFrame with the "
            "columns image, question and answer, or a folder with the table questions.csv."
        )
    name = f"the data of {benchmark}/{split}"
    return _build(frame_table(frame, name), "the table", PictureList([Path.cwd()]), benchmark, split)


def _build(table: RawTable, shown: str, pictures: PictureList, benchmark: str, split: str) -> Dataset:
    columns = find_columns(table)
    reader = _RowReader(table, columns, pictures)
    rows = [row for row in range(len(table)) if reader.is_asked(row)]
    questions = tuple(find_right_options(table, columns.roles[ANSWER], [*map(reader.read, rows)]))
    _check_ids(questions)
    shown_pictures = pictures.dataset(benchmark, split)
    details = QuestionSet(questions, shown_pictures)
    left_out = len(table) - len(rows)
    counts = f"{count_of(len(questions), 'question')} about {count_of(len(shown_pictures.index), 'image')}"
    repeated = describe_repeated(questions)
    without = f"; {count_of(left_out, 'row')} without an image left out" if left_out else ""
    return Dataset(
        benchmark,
        split,
        tuple(_row(question, shown_pictures) for question in questions),
        _QuestionSource(details),
        0,
        details=details,
        notes=(f"{shown} has {counts}{without}; {columns.describe()}", *([repeated] if repeated else [])),
        slices=tuple(slice_variables(table, columns, rows)),
        provenance=PROVENANCE,
    )


def _row(question: Question, pictures: Dataset) -> Row:
    """Return the row of a question: its digest is the picture's, or one over the digests of several."""
    shown = [pictures.index[picture] for picture in question.pictures]
    digests = [picture.sha256 for picture in shown]
    digest = digests[0] if len(digests) == 1 else sha256(" ".join(digests).encode()).hexdigest()
    return Row(question.id, shown[0].file, digest)


def _check_ids(questions: Sequence[Question]) -> None:
    known: dict[str, Question] = {}
    for question in questions:
        if (first := known.setdefault(question.id, question)) is not question:
            raise DataError(
                f"{question.where} has the id '{question.id}', which {first.where.rpartition(', ')[2]} has, too. Give "
                "each question an id of its own, or leave the column out."
            )


@dataclass(frozen=True)
class _RowReader:
    """Reads the rows of a table as questions."""

    table: RawTable
    columns: Columns
    pictures: PictureList

    def cell(self, role: str, row: int) -> Any:
        """Return the cell of a role, None without such a column."""
        name = self.columns.roles.get(role)
        return self.table.columns[name][row] if name else None

    def is_asked(self, row: int) -> bool:
        """Return whether a row is asked: one whose column of pictures is null, as in parquet files, is not."""
        cells = [self.table.columns[name][row] for name in self.columns.images]
        return self.table.unit == "line" or not all(map(is_missing, cells))

    def read(self, row: int) -> Question:
        """Return the question of a row, whose right options are found later. Raises DataError."""
        where = self.table.location(row)
        text = cell_text(self.cell(QUESTION, row))
        if not text:
            raise DataError(f"{where} has no text in the column {self.columns.roles[QUESTION]}. Write the question.")
        return Question(
            id=cell_text(self.cell(ID, row)) or str(row).zfill(len(str(len(self.table) - 1))),
            text=text,
            pictures=tuple(self.read_pictures(row, where)),
            where=where,
            answers=_parse_answers(self.cell(ANSWER, row)),
            options=tuple(self.read_options(row, where)),
            hint=cell_text(self.cell(HINT, row)),
            kind=self.read_kind(row, where),
            tolerance=cell_text(self.cell(TOLERANCE, row)),
        )

    def read_pictures(self, row: int, where: str) -> list[int]:
        """Return the pictures of a row, in their order."""
        found = [
            picture
            for name in self.columns.images
            for picture in self.pictures.add_cell(self.resolve(name, row), where)
        ]
        if not found:
            raise DataError(f"{where} has no image. Give the path of one in the column {self.columns.images[0]}.")
        return found

    def resolve(self, name: str, row: int) -> Any:
        """Return the cell of an image, or that of the row whose index it has, as tables of VLMEvalKit do."""
        cell = self.table.columns[name][row]
        other = self.rows_by_index.get(cell.strip()) if isinstance(cell, str) else None
        return cell if other is None else self.table.columns[name][other]

    @cached_property
    def rows_by_index(self) -> Mapping[str, int]:
        """The rows by the cells of the column `index`, {} without one."""
        cells = self.table.columns.get("index", ())
        return {text: row for row, text in enumerate(map(cell_text, cells)) if text.isdecimal()}

    def read_options(self, row: int, where: str) -> Iterator[str]:
        """Yield the options of a row. Raises DataError for a gap between them and for a single one."""
        if OPTIONS in self.columns.roles:
            options = parse_list(self.cell(OPTIONS, row), where)
        else:
            options = [cell_text(self.table.columns[letter][row]) for letter in self.columns.letters]
            while options and not options[-1]:
                options.pop()
        if "" in options:
            letter = ascii_uppercase[options.index("")]
            raise DataError(
                f"{where} has no option {letter}, but a later one. Write the option, or move the others up."
            )
        if len(options) > len(ascii_uppercase):
            raise DataError(
                f"{where} has {len(options)} options. Expected {len(ascii_uppercase)} at most, one for each letter: "
                "leave some out, or leave all out and write the text of the right one as the answer."
            )
        if len(options) == 1:
            raise DataError(f"{where} has one option. Write two at least, or none.")
        yield from options

    def read_kind(self, row: int, where: str) -> str:
        """Return the kind of answer that a column names, "" for none. Raises DataError for an unknown one."""
        from eyechart.questions.answers.kinds import KINDS, find_kind

        word = cell_text(self.cell(KIND, row))
        kind = find_kind(word)
        if kind is None:
            raise DataError(f"{where} has the kind '{word}'. Expected one of {', '.join(KINDS)}.")
        return kind


def _parse_answers(cell: Any) -> tuple[str, ...]:
    """Return the accepted answers of a cell: one, or several in a list or separated by semicolons.

    >>> _parse_answers("red; dark red"), _parse_answers(["a", "b"]), _parse_answers(3)
    (('red', 'dark red'), ('a', 'b'), ('3',))
    """
    if isinstance(cell, dict):
        cell = cell.get("answer")
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return tuple(text for item in cell for text in _parse_answers(item))
    text = cell_text(cell)
    if text.startswith("["):
        try:
            return tuple(parse_list(text, ""))
        except DataError:
            return (text,)
    return tuple(filter(None, map(str.strip, text.split(LIST_SEPARATOR))))


@dataclass(frozen=True)
class _QuestionSource:
    """Shows the picture of each question, or its pictures side by side."""

    details: QuestionSet

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (row, image bytes) in the requested order."""
        for row in rows:
            shown = self.details.questions[row].pictures
            contents = [data for picture in shown for _, data in self.details.pictures.source.read([picture])]
            yield row, contents[0] if len(contents) == 1 else _side_by_side(contents)

    def part(self, rows: Sequence[int]) -> "_QuestionSource":
        """Return the source of some rows alone."""
        return _QuestionSource(replace(self.details, questions=tuple(self.details.questions[row] for row in rows)))

    def location(self, row: int) -> str:
        """Return where the first picture of a question is."""
        return self.details.pictures.source.location(self.details.questions[row].pictures[0])


def _side_by_side(contents: Sequence[bytes]) -> bytes:
    """Return pictures beside one another as one, with equal heights."""
    from io import BytesIO

    from PIL import Image

    from eyechart.data.images import decode_image

    images = [decode_image(data, f"image {number}", upright=True) for number, data in enumerate(contents, 1)]
    height = min(image.height for image in images)
    scaled = [image.resize((max(1, round(image.width * height / image.height)), height)) for image in images]
    whole = Image.new("RGB", (sum(image.width for image in scaled), height))
    left = 0
    for image in scaled:
        whole.paste(image, (left, 0))
        left += image.width
    file = BytesIO()
    whole.save(file, "PNG", compress_level=1)
    return file.getvalue()
