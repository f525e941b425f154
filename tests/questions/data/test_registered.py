"""A folder ROOT/<benchmark>/<split> with a table of questions is a split; one that is less deep is none."""

import re
from pathlib import Path

import pytest

from eyechart.data.splits.registry import SplitRef
from eyechart.errors import DataError
from eyechart.questions.data.registered import QUESTIONS
from eyechart.questions.data.table_files import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_table_makes_the_folder_of_a_split_one(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "myshop/shelf"
    folder.mkdir(parents=True)
    assert QUESTIONS.recognises(folder, tmp_path) == ()
    (folder / name).touch()
    (found,) = QUESTIONS.recognises(folder, tmp_path)
    assert found == SplitRef("myshop", "shelf", "questions", str(folder), family="questions")


@pytest.mark.parametrize("folder", [".", "shelf"])
def test_a_table_without_a_benchmark_or_a_split_above_it_is_none(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "questions.csv").touch()
    assert QUESTIONS.recognises(tmp_path / folder, tmp_path) == ()


def test_no_questions_are_packaged() -> None:
    message = "There are no packaged questions 'shelf'. Give your own: ROOT/<benchmark>/<split>/questions.csv."
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        QUESTIONS.dataset("shelf")
