"""What a case writes down: its record, every image's answer, every class's recall."""

import csv
from collections.abc import Callable
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.files.atomic import csv_lines
from eyechart.results.records import Record, read_run

Make = Callable[..., Path]


@pytest.fixture
def record(run_folder: Path) -> Record:
    """The record of the classifier, which repeats the original labels."""
    return next(record for record in read_run(run_folder).records if record.protocol == "supervised")


def rows(folder: Path, record: Record, what: str = "") -> list[dict[str, str]]:
    file = record.artifacts[what] if what else record.predictions
    assert file is not None
    content = (folder / file.path).read_bytes()
    assert sha256(content).hexdigest() == file.sha256
    return list(csv.DictReader(content.decode().splitlines()))


def value(record: Record, name: str, labels: str, category: str = "all") -> float | None:
    wanted = (name, labels, category)
    return next(metric.value for metric in record.metrics if (metric.name, metric.labels, metric.subset) == wanted)


def test_the_record_says_who_was_asked_what(record: Record) -> None:
    assert record.case == "imagenet/val/timm[tf_efficientnet_lite0]"
    assert (record.benchmark, record.split, record.protocol) == ("imagenet", "val", "supervised")
    assert (record.model.backend, record.data.n, record.limit, record.seed) == ("timm", 18, None, 42)
    assert (record.variant["equivalences"], record.variant["categories"]) == ("12", "equivalent")
    assert record.variant["empty"] == "ImGT=exclude, ReGT=correct, WeaselGT=correct"
    assert record.data.labels.keys() == {"ImGT", "ReGT", "WeaselGT"}


def test_every_image_has_its_row(run_folder: Path, record: Record) -> None:
    found = rows(run_folder, record)
    assert [row["key"] for row in found] == [f"{index:04d}" for index in range(18)]
    assert (found[5]["label"], found[5]["top1"], found[5]["score1"]) == ("357", "357", "1")
    assert (found[5]["ReGT.labels"], found[5]["ReGT.category"], found[5]["ReGT.correct"]) == (
        "0;357",
        "multi_label_original",
        "1",
    )
    assert (found[17]["label"], found[17]["ImGT.labels"], found[17]["ImGT.correct"]) == ("", "", "")
    assert found[12]["WeaselGT.correct"] == ""


@pytest.mark.deep
@pytest.mark.parametrize("labels", ["ImGT", "ReGT", "WeaselGT"])
def test_the_rows_add_up_to_the_accuracy(run_folder: Path, record: Record, labels: str) -> None:
    correct = [int(row[f"{labels}.correct"]) for row in rows(run_folder, record) if row[f"{labels}.correct"]]
    assert value(record, "acc1", labels) == pytest.approx(np.mean(correct))


@pytest.mark.deep
@pytest.mark.parametrize(
    "category", ["no_label", "single_label_original", "single_label_other", "multi_label_original", "multi_label_other"]
)
def test_the_rows_add_up_by_category(run_folder: Path, record: Record, category: str) -> None:
    mine = [row for row in rows(run_folder, record) if row["ReGT.category"] == category]
    assert value(record, "acc1", "ReGT", category) == pytest.approx(np.mean([int(row["ReGT.correct"]) for row in mine]))


@pytest.mark.deep
def test_recall_is_that_of_images_with_one_label(run_folder: Path, record: Record) -> None:
    answers = rows(run_folder, record)
    for row in rows(run_folder, record, "recall"):
        mine = [answer for answer in answers if answer[f"{row['labels']}.labels"] == row["class"]]
        assert int(row["n"]) == len(mine)
        assert float(row["recall"]) == pytest.approx(np.mean([int(one[f"{row['labels']}.correct"]) for one in mine]))
        assert float(row["ci_low"]) <= float(row["recall"]) <= float(row["ci_high"])


@pytest.mark.deep
def test_agreement_is_recorded_with_the_first_ground_truth(record: Record) -> None:
    found = [metric.labels for metric in record.metrics if metric.name == "intersection"]
    assert found == ["ImGT∩ReGT", "ImGT∩WeaselGT"]


def test_outcomes_are_those_of_the_first_ground_truth(make_run: Make) -> None:
    record = read_run(make_run(errors={0: "broken", 17: "broken"})).records[0]
    assert record.outcomes.error == 2
    assert sum((record.outcomes.correct, record.outcomes.wrong, record.outcomes.unparsed, 2)) == record.data.n
    (note,) = record.notes
    named = f"{record.case} ({record.protocol})"
    assert note == f"{named}: 2 of 18 images ended in an error and are left out of every score."


def test_an_error_stands_in_its_row_and_has_no_answer(make_run: Make) -> None:
    folder = make_run(errors={3: "Image 3, it is broken"})
    row = rows(folder, read_run(folder).records[0])[3]
    assert (row["error"], row["top1"], row["score1"], row["ReGT.correct"]) == ("Image 3, it is broken", "", "", "")


@pytest.mark.deep
def test_a_published_number_stands_beside_a_whole_run_only(make_run: Make) -> None:
    def reported(**how: Any) -> list[bool]:
        return [record.reported is not None for record in read_run(make_run(**how)).records]

    assert reported() == [True, False, False]
    assert reported(limit=5) == [False, False, False]
    assert reported(split="sample") == [False, False, False]


def test_every_cell_comes_back_from_its_line() -> None:
    said = ["a\rb", "\n", "c\r\n", 'say "1", 2', "", "é 猫\u2028", "\x00", "'", "=1"]
    text = "".join(csv_lines([["said", "more"], *([cell, cell] for cell in said)]))
    assert [*csv.reader(StringIO(text, newline=""))] == [["said", "more"], *([cell, cell] for cell in said)]
    assert text.startswith("said,more\n")
