"""Tables of VLMEvalKit with a row for each question and its hit or score: xlsx, tsv or csv.

`MODEL_DATASET_JUDGE_result.xlsx` is beside `MODEL_DATASET_acc.csv`, which has the accuracy of each split.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from eyechart.errors import DataError
from eyechart.files.text_files import utf8_bytes
from eyechart.interchange.json_files import read_file
from eyechart.interchange.results import (
    ImportedAnswer,
    ImportedCase,
    ImportedMetric,
    as_text,
    check_case,
    hash_content,
    image_of,
    safe_name,
)
from eyechart.messages.install_commands import install_command

TOOL = "vlmevalkit"
EXPECTED = (
    "Expected a table of VLMEvalKit, .xlsx, .tsv or .csv, with the columns index, prediction, and hit or score, as "
    "MODEL_DATASET_exact_matching_result.xlsx."
)
OUTCOMES = ("hit", "score")
QUESTION = ("question", "hint", *"ABCDEFGH")
OWN_COLUMNS = frozenset(("index", "answer", "prediction", "image", "split", *OUTCOMES))
SEPARATORS = {".tsv": "\t", ".csv": ","}
OVERALL, NO_SPLIT = "Overall", "none"
Row = Mapping[str, Any]


def read_vlmevalkit(path: Path) -> Iterator[ImportedCase]:
    """Yield the results of each split in a table. Raises DataError if it is damaged or has no outcome of questions."""
    rows = read_table(path)
    header = rows[0] if rows else {}
    outcome = next((name for name in OUTCOMES if name in header), "")
    if "index" not in header or not outcome:
        raise DataError(f"{path} has the columns {', '.join(map(str, header)) or 'of no row'}. {EXPECTED}")
    model, benchmark = parse_name(path)
    printed = _read_printed(path)
    ordered = sorted(rows, key=_split_of)
    for split, own in ((split, [*group]) for split, group in groupby(ordered, key=_split_of)):
        metric = ImportedMetric(
            name=outcome,
            values={as_text(row["index"]): to_number(row[outcome], path) for row in own},
            printed=printed.get(split),
        )
        yield check_case(
            ImportedCase(
                tool=TOOL,
                source=path,
                benchmark=benchmark,
                split=safe_name("" if split == NO_SPLIT else split),
                model=model,
                answers=tuple(map(read_answer, own)),
                metrics=(metric,),
            )
        )


def _split_of(row: Row) -> str:
    """Return the split of a row."""
    return as_text(row.get("split")) or NO_SPLIT


def read_answer(row: Row) -> ImportedAnswer:
    """Return a row as an answer."""
    return ImportedAnswer(
        key=as_text(row["index"]),
        content=hash_content([as_text(row.get(name)) for name in QUESTION]),
        target=as_text(row.get("answer")),
        prediction=as_text(row.get("prediction")),
        response=as_text(row.get("prediction")),
        cluster=image_of({name: value for name, value in row.items() if name != "image"}),
        kept={name: as_text(value) for name, value in row.items() if name not in OWN_COLUMNS},
    )


def to_number(value: Any, path: Path) -> float:
    """Return an outcome as a number. Raises DataError for a text.

    >>> to_number("True", Path("a.tsv")), to_number(1, Path("a.xlsx"))
    (1.0, 1.0)
    """
    text = as_text(value).strip().lower()
    try:
        return {"true": 1.0, "false": 0.0}[text] if text in ("true", "false") else float(text)
    except ValueError as error:
        raise DataError(f"{path}: the outcome '{value}' is no number. {EXPECTED}") from error


def parse_name(path: Path) -> tuple[str, str]:
    """Return model and benchmark from the name of a file in a folder with the model's name, else its first word.

    >>> parse_name(Path("out/Qwen_VL/T1/Qwen_VL_MMBench_DEV_EN_exact_matching_result.xlsx"))
    ('Qwen_VL', 'MMBench_DEV_EN')
    """
    stem = path.stem
    for ending in ("_result", "_exact_matching", "_auxmatch", "_vanilla_all", "_vanilla_circ0"):
        stem = stem.removesuffix(ending)
    folders = (folder.name for folder in path.absolute().parents if stem.startswith(f"{folder.name}_"))
    model = next((name for name in folders if name), stem.partition("_")[0])
    return model, safe_name(stem.removeprefix(model).strip("_"))


def _read_printed(path: Path) -> dict[str, float]:
    """Return the overall accuracy of each split from the table of accuracies beside a file, {} without one."""
    beside = [file for file in path.parent.glob("*_acc.csv") if path.stem.startswith(file.stem.removesuffix("_acc"))]
    if not beside:
        return {}
    table = max(beside, key=lambda file: len(file.stem))
    return {_split_of(row): to_number(row[OVERALL], table) for row in read_table(table) if row.get(OVERALL)}


def read_table(path: Path) -> Sequence[Row]:
    """Return the rows of a table. Raises DataError if it is damaged, of another kind, or needs a missing package."""
    if path.suffix == ".xlsx":
        return _read_xlsx(path)
    if path.suffix not in SEPARATORS:
        raise DataError(f"{path} has the ending '{path.suffix}'. {EXPECTED}")
    csv.field_size_limit(2**31 - 1)  # a cell may be an image
    try:
        text = StringIO(utf8_bytes(read_file(path, EXPECTED)).decode(), newline="")
        return [*csv.DictReader(text, delimiter=SEPARATORS[path.suffix])]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read ({error}). {EXPECTED}") from error


def _read_xlsx(path: Path) -> Sequence[Row]:
    """Return the rows of the first sheet of an xlsx file."""
    if find_spec("openpyxl") is None:
        raise DataError(f"{path} needs openpyxl: {install_command('interchange')}, or save the table as .tsv.")
    from openpyxl import load_workbook

    try:
        with closing(load_workbook(path, read_only=True, data_only=True)) as book:
            header, *rows = [*book.worksheets[0].iter_rows(values_only=True)] or [()]
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise DataError(f"{path} cannot be read as xlsx ({error}). {EXPECTED}") from error
    return [dict(zip(map(as_text, header), row, strict=False)) for row in rows]
