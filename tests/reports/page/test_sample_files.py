"""The files of a sample group: what the browser filters by, and the texts that it reads in parts."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.reports.page import sample_files
from eyechart.reports.page.chunks import TextNumbers
from eyechart.reports.page.columns import Column
from eyechart.reports.page.sample_files import FAILED, OUT_OF_PROMPT, UNPARSED, sample_columns
from eyechart.reports.page.sample_groups import SampleGroup
from eyechart.reports.page.samples import NO_TEXTS, RIGHT, UNSCORED, WRONG, Samples
from eyechart.reports.page.write_page import PageOptions
from tests.reports.page.pet_pages import chunk, unpacked

WORDS = "hf[mllm]"
PLACES = {WORDS: [0, 2], "conse[]": [0, 1, 2], "timm[tf_efficientnet_lite0]": [1]}  # at which each model is wrong
LAST = 11  # where the words ended in an error


def test_each_case_has_its_answers_outcomes_and_flags(studio: Any) -> None:
    folder = studio.page().parent
    (group,) = chunk(folder, "index")["groups"]
    names, original = chunk(folder, f"{group['folder']}/names"), group["labelSets"].index("ImGT")
    assert {case["model"] for case in group["cases"]} == {*PLACES}
    for number, case in enumerate(group["cases"]):
        columns, wrong = chunk(folder, f"{group['folder']}/e{number}"), PLACES[case["model"]]
        failed = [LAST] if case["model"] == WORDS else []
        answers = [names[answer].rpartition("(")[2].rstrip(")") for answer in unpacked(columns["answers"])]
        assert answers == ["" if row in failed else str(each) for row, each in enumerate(studio.answers(wrong))]
        assert unpacked(columns["outcomes"][str(original)]) == [
            UNSCORED if label < 0 or row in failed else WRONG if row in wrong else RIGHT
            for row, label in enumerate(studio.original)
        ]
        outside = wrong if case["model"] == WORDS else []
        assert unpacked(columns["flags"]) == [
            (row in outside) << OUT_OF_PROMPT | (row in failed) << FAILED for row in range(len(studio.keys))
        ]


@pytest.mark.parametrize(
    ("answers", "unparsed"), [(Column.of(["", "cat", ""]), [True, False, False]), (NO_TEXTS, [False] * 3)]
)
def test_an_answer_is_unparsed_where_it_is_known_to_be_none_without_an_error(
    answers: Column[str], unparsed: list[bool]
) -> None:
    items = tuple((key, "") for key in "abc")
    samples = Samples(items, {}, answers, Column.of(["", "", "it failed"]))
    columns = sample_columns(samples, SampleGroup("name", "title", (), ""), TextNumbers())
    assert [bool(flags >> UNPARSED & 1) for flags in unpacked(columns["flags"])] == unparsed
    assert [bool(flags >> FAILED & 1) for flags in unpacked(columns["flags"])] == [False, False, True]
    assert (columns["answers"] is None) is (answers is NO_TEXTS)


def test_texts_lie_in_parts_that_follow_one_another(
    studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_files, "PART", 5)
    folder = tmp_path / "page"
    studio.write(PageOptions((studio.run(),), store=tmp_path / "store", figures=False), folder)
    (group,) = chunk(folder, "index")["groups"]
    (words,) = (number for number, case in enumerate(group["cases"]) if case["model"] == WORDS)
    parts = [chunk(folder, f"a0/p{number}")["cases"][words] for number in range(3)]
    assert [len(part["raw"]) for part in parts] == [5, 5, 2]
    assert [text for part in parts for text in part["raw"]] == [f"Class {answer}." for answer in studio.answers([0, 2])]
    assert ["errors" in part for part in parts] == [False, False, True]  # a column without any text is left out
    assert not (folder / "data/a0/p3.js").exists()
    assert group["part"] == 5
