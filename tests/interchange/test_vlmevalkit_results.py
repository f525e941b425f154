"""Tables of VLMEvalKit in their documented form: a row for each question, and the accuracies beside them.

The package is in no registry here; the columns are those of `report_acc` and of its multiple-choice evaluation.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import eyechart
from eyechart.errors import DataError
from eyechart.interchange.vlmevalkit_results import read_vlmevalkit
from eyechart.results.records import read_run

HEADER = ("index", "question", "A", "B", "answer", "category", "split", "prediction", "hit", "log")


def table(wrong: Sequence[int], count: int = 60) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = [HEADER]
    for number in range(count):
        answer = "AB"[number % 2]
        said = answer if number not in wrong else "BA"[number % 2]
        kind, split = ("shape", "colour")[number % 3 == 0], ("dev", "test")[number % 4 == 0]
        hit = int(said == answer)
        rows.append(
            (number, f"Which shape is in {number}?", "circle", "square", answer, kind, split, said, hit, "exact")
        )
    return rows


def write(folder: Path, model: str, rows: list[tuple[Any, ...]], ending: str = ".xlsx") -> Path:
    location = folder / model
    location.mkdir(parents=True, exist_ok=True)
    path = location / f"{model}_Shapes_DEV_exact_matching_result{ending}"
    if ending == ".xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.worksheets[0].append(row)
        book.save(path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t" if ending == ".tsv" else ",").writerows(rows)
    accuracies = {
        split: [row[8] for row in rows[1:] if row[6] == split] for split in dict.fromkeys(row[6] for row in rows[1:])
    }
    with (location / f"{model}_Shapes_DEV_acc.csv").open("w", encoding="utf-8", newline="") as file:
        lines = [(split, sum(hits) / len(hits)) for split, hits in accuracies.items()]
        csv.writer(file).writerows([("split", "Overall"), *lines])
    return path


@pytest.mark.parametrize("ending", [".xlsx", ".tsv", ".csv"])
def test_a_table_becomes_a_case_for_each_split(import_files: Any, tmp_path: Path, ending: str) -> None:
    folder = import_files("vlmevalkit", write(tmp_path, "My_VLM", table([1, 2, 4]), ending))
    records = read_run(folder).records
    assert [record.case for record in records] == ["Shapes_DEV/dev/My_VLM", "Shapes_DEV/test/My_VLM"]
    assert [record.metrics[0].value for record in records] == [43 / 45, 14 / 15]
    assert [(record.metrics[0].name, record.metrics[0].n) for record in records] == [("hit", 45), ("hit", 15)]
    samples = eyechart.load_run(folder).samples
    assert (samples["kept.category"] == "shape").sum() == 40
    assert samples.iloc[0][["key", "target", "prediction", "correct"]].tolist() == ["1", "B", "A", 0]


def test_the_same_table_in_each_format_is_the_same_case(tmp_path: Path) -> None:
    cases = [[*read_vlmevalkit(write(tmp_path, "VLM", table([1]), ending))] for ending in (".xlsx", ".tsv", ".csv")]
    plain = [[(case.answers, case.metrics) for case in several] for several in cases]
    assert plain[0] == plain[1] == plain[2]


def test_two_models_are_compared(import_files: Any, tmp_path: Path) -> None:
    runs = [
        import_files("vlmevalkit", write(tmp_path, name, table(wrong)), "--model=m", "--slice=category")
        for name, wrong in (("before", []), ("after", range(30)))
    ]
    assert {*eyechart.compare(*runs).verdicts["verdict"]} == {"regression"}


def test_an_accuracy_of_other_questions_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "VLM", table([1]))
    (path.parent / "VLM_Shapes_DEV_acc.csv").write_text("split,Overall\ndev,0.5\ntest,0.5\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"hit is left out: the tool printed 0\.5, the mean of its samples is 0\.97"):
        list(read_vlmevalkit(path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "index\tprediction\n1\tA\n", r"has the columns index, prediction\. Expected a table of VLMEvalKit"),
        ("a.tsv", "", "has the columns of no row"),
        ("a.tsv", "index\thit\n1\tmaybe\n", "the outcome 'maybe' is no number"),
        ("a.pkl", "", r"has the ending '\.pkl'"),
        ("a.xlsx", "text", r"a\.xlsx cannot be read as xlsx"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(read_vlmevalkit(tmp_path / name))


def test_without_openpyxl_the_message_has_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("eyechart.interchange.vlmevalkit_results.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"needs openpyxl: pip install 'eyechart\[interchange\]', or save"):
        list(read_vlmevalkit(write(tmp_path, "VLM", table([]))))


def test_a_cell_may_have_any_character(tmp_path: Path) -> None:
    (path := tmp_path / "a.tsv").write_text("index\tprediction\thit\n1\ta\x0crac\u2028b\t1\n", encoding="utf-8")
    (case,) = read_vlmevalkit(path)
    assert [answer.prediction for answer in case.answers] == ["a\x0crac\u2028b"]


def test_an_accuracy_that_is_no_number_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "VLM", table([1]))
    (path.parent / "VLM_Shapes_DEV_acc.csv").write_text("split,Overall\ndev,50%\n", encoding="utf-8")
    with pytest.raises(DataError, match="'50%' is no number"):
        list(read_vlmevalkit(path))
