"""A table of questions: asked about its pictures, read by kind, scored and shown."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from eyechart.cli import main

Shop = Callable[..., Path]
ROWS = (
    {
        "id": "q1",
        "image": "1.png",
        "question": "Which colour?",
        "A": "red",
        "B": "blue",
        "C": "grey",
        "answer": "C",
        "shelf": "top",
    },
    {
        "id": "q2",
        "image": "1.png",
        "question": "Which size?",
        "A": "small",
        "B": "large",
        "answer": "B",
        "shelf": "top",
    },
    {"id": "q3", "image": "2.png", "question": "Is it full?", "answer": "yes", "kind": "yes_no", "shelf": "low"},
    {"id": "q4", "image": "3.png", "question": "How many cups?", "answer": "3", "kind": "number", "shelf": "low"},
)
SAID = {"Which colour?": "C", "Which size?": "It could be A or B", "Is it full?": "No.", "How many cups?": "three"}


def say(numbers: tuple[int, ...], text: str) -> str:
    """Answer by the first line of the prompt."""
    return SAID[text.splitlines()[0]]


def numbers(run: Any) -> dict[str, float]:
    """The accuracy of each subset."""
    metrics = run.metrics
    return dict(
        zip(
            metrics[metrics.metric == "question_acc"].subset,
            metrics[metrics.metric == "question_acc"].value,
            strict=True,
        )
    )


def test_each_question_is_asked_with_its_picture_and_read_by_its_kind(shop: Shop, ask: Any, talker: Any) -> None:
    model = talker(say)
    run = ask(model, shop(ROWS), name="m")
    assert ((1,), "Which colour?\nA) red\nB) blue\nC) grey\nAnswer with the letter of the right option only.") in [
        (shown, text) for shown, text in model.asked
    ]
    samples = run.samples.set_index("key")
    assert samples.prediction.tolist() == ["C) grey", "", "no", "3"]
    assert samples.correct.tolist() == [1, 0, 0, 1]
    assert samples.options["q1"] == "red;blue;grey"
    record = json.loads((run.folder / "records.json").read_bytes())["records"][0]
    assert {name: count for name, count in record["outcomes"].items() if count} == {
        "correct": 2,
        "wrong": 1,
        "unparsed": 1,
    }
    assert numbers(run) == {
        "all": 0.5,
        "choice": 0.5,
        "yes_no": 0.0,
        "number": 1.0,
        "shelf=low": 0.5,
        "shelf=top": 0.5,
    }


def test_questions_about_one_image_are_one_sampling_unit(shop: Shop, ask: Any, talker: Any) -> None:
    run = ask(talker(say), shop(ROWS), name="m")
    whole = run.metrics.set_index(["metric", "subset"]).loc["question_acc", "all"]
    assert (whole.n, whole.n_clusters, whole.method) == (4, 3, "clustered wilson")


def test_the_record_says_which_columns_were_used(shop: Shop, ask: Any, talker: Any) -> None:
    rows = [{**row, "remark": f"seen by {number}"} for number, row in enumerate(ROWS)]
    run = ask(talker(say), shop(rows), name="m")
    notes = json.loads((run.folder / "records.json").read_bytes())["records"][0]["notes"]
    assert any(
        note.endswith(
            "questions.csv has 4 questions about 3 images; columns: image, id, question, answer, kind, A to C as "
            "options; slices: shelf; not used: remark (another value in each row)"
        )
        for note in notes
    )
    assert any(note.endswith("kinds of answer: 2 choice, 1 yes_no, 1 number") for note in notes)


@pytest.mark.deep
def test_a_table_is_a_case_of_pytest_and_a_group_of_the_page(
    shop: Shop, tmp_path: Path, warm_python: Sequence[str]
) -> None:
    shop(ROWS)
    answers = tmp_path / "answers.csv"
    pd.DataFrame({"key": ["q1", "q2", "q3", "q4"], "answer": ["C", "A", "yes", "4 cups"]}).to_csv(answers, index=False)
    command = ["pytest", "--pyargs", "eyechart.benchmarks", "-k", "myshop/", "-n", "2", "--eye-data=data"]
    options = [f"--eye-model=replay[path={answers},of=questions]", "--eye-out=runs", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*warm_python, "-m", *command, *options],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout  # no protocol of labelled images
    (record,) = json.loads((tmp_path / "runs/latest/records.json").read_bytes())["records"]
    assert (record["protocol"], record["outcomes"]["correct"]) == ("questions", 2)
    assert main(["page", str(tmp_path / "runs/latest"), "--data", str(tmp_path / "data")]) == 0
    page = "".join(
        path.read_text(encoding="utf-8") for path in sorted((tmp_path / "runs/latest/reports/page").rglob("*.js"))
    )
    for shown in ("Which colour?", "A) red", "4 cups", "data:image/jpeg;base64,"):
        assert shown in page


def test_a_note_says_that_a_column_of_clusters_has_no_effect_on_questions(shop: Shop, ask: Any, talker: Any) -> None:
    plain, clustered = (
        ask(talker(say), shop(ROWS), name="m", **more).records[0] for more in ({}, {"cluster": "shelf"})
    )
    assert not any("--eye-cluster" in note for note in plain.notes)
    (note,) = [note for note in clustered.notes if "--eye-cluster=shelf has no effect here" in note]
    assert note.startswith("myshop/shelf/m")
    assert [metric.ci for metric in clustered.metrics] == [metric.ci for metric in plain.metrics]
