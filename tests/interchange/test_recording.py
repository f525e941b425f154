"""Imported cases as a run: intervals over images, outcomes, slices, and what is refused before anything is written."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import eyechart
from eyechart.data.dataset.slice_variables import MOST_VALUES
from eyechart.errors import DataError
from eyechart.interchange.recording import record_cases
from eyechart.interchange.results import ImportedAnswer, ImportedCase, ImportedMetric
from eyechart.results.records import Record, read_run

LETTERS = "abcd"


@pytest.fixture
def case(tmp_path: Path) -> ImportedCase:
    """Four questions of a tool, of which the last is answered wrongly."""
    (source := tmp_path / "results.json").write_text("{}", encoding="utf-8")
    return ImportedCase(
        tool="counter", source=source, benchmark="dots", split="test", model="eye",
        answers=tuple(ImportedAnswer(key=key, content=key, target="1", prediction="1") for key in LETTERS),
        metrics=(ImportedMetric(name="hit", values=dict(zip(LETTERS, (1.0, 1.0, 1.0, 0.0), strict=True))),),
    )  # fmt: skip


def recorded(case: ImportedCase, folder: Path, *slices: str) -> Record:
    (record,) = read_run(record_cases([case], folder / "runs", "test", slices)).records
    return record


def test_a_run_has_the_name_numbers_and_origin_of_a_case(case: ImportedCase, tmp_path: Path) -> None:
    folder = record_cases([case], tmp_path / "runs", "eyechart import")
    (record,) = read_run(folder).records
    assert (record.case, record.protocol, record.model.spec) == ("dots/test/eye", "counter", "counter[eye]")
    assert (record.outcomes.correct, record.outcomes.wrong, record.outcomes.error) == (3, 1, 0)
    metric = record.metrics[0]
    assert (metric.name, metric.labels, metric.value, metric.n) == ("hit", "target", 0.75, 4)
    assert record.notes[0].startswith(
        "dots/test/eye (counter): imported from results.json (sha256 44136fa355b3…) of counter"
    )
    assert (tmp_path / "runs" / "latest").resolve() == folder.resolve()


def test_samples_of_one_image_are_a_cluster_and_others_are_alone(case: ImportedCase, tmp_path: Path) -> None:
    """The third sample has no image, and its key is the name of the image of the first two."""
    clusters = {"a": "c", "b": "c", "c": "", "d": ""}
    answers = tuple(replace(answer, cluster=clusters[answer.key]) for answer in case.answers)
    metric = recorded(replace(case, answers=answers), tmp_path).metrics[0]
    assert (metric.n, metric.n_clusters) == (4, 3)


def test_a_sample_is_an_error_only_if_no_metric_has_a_value_for_it(case: ImportedCase, tmp_path: Path) -> None:
    answers = tuple(replace(answer, error="timeout") if answer.key in "ab" else answer for answer in case.answers)
    values = {key: value for key, value in case.metrics[0].values.items() if key != "a"}
    broken = replace(case, answers=answers, metrics=(replace(case.metrics[0], values=values),))
    record = recorded(broken, tmp_path)
    assert (record.outcomes.correct, record.outcomes.wrong, record.outcomes.error) == (2, 1, 1)
    assert [metric.n for metric in record.metrics] == [3, 4]  # `answered` counts all


def test_partial_credit_is_no_proportion(case: ImportedCase, tmp_path: Path) -> None:
    metric = replace(case.metrics[0], values=case.metrics[0].values | {"a": 0.5}, higher_is_better=None)
    record = recorded(replace(case, metrics=(metric,)), tmp_path)
    assert (record.outcomes.correct, record.outcomes.wrong) == (0, 0)
    assert (record.metrics[0].ci_method, record.metrics[0].higher_is_better) == ("student", None)


def test_fields_of_the_tool_are_slices_if_they_are_named(case: ImportedCase, tmp_path: Path) -> None:
    colours = {"a": "red", "b": "red", "c": "blue"}  # the last sample has none
    kept = [replace(answer, kept={"colour": colours.get(answer.key, "")}) for answer in case.answers]
    record_cases([replace(case, answers=tuple(kept))], tmp_path / "runs", "test", ["colour"])
    slices = eyechart.compare(tmp_path / "runs" / "latest", tmp_path / "runs" / "latest").slices
    assert dict(zip(slices["subset"], slices["n"], strict=True)) == {"colour=red": 2, "colour=blue": 1}


def test_two_files_of_one_case_are_refused(case: ImportedCase, tmp_path: Path) -> None:
    other = replace(case, source=tmp_path / "other.json")
    with pytest.raises(DataError) as error:
        record_cases([case, other], tmp_path / "runs", "test")
    assert str(error.value) == (
        f"{case.source} and {other.source} are both of dots/test/eye. Expected one file for each benchmark and model: "
        "import one of them alone, or give it another name with --model or --benchmark."
    )
    assert not (tmp_path / "runs").exists()
    named = [replace(other, alias="again"), replace(case, tool="abacus"), case]
    (other.source).write_text("{}", encoding="utf-8")
    records = read_run(record_cases(named, tmp_path / "runs", "test")).records
    assert {(record.case, record.protocol) for record in records} == {
        ("dots/test/again", "counter"), ("dots/test/eye", "abacus"), ("dots/test/eye", "counter"),
    }  # fmt: skip


def test_a_field_that_divides_no_samples_is_refused(case: ImportedCase, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"has no field 'colour'\. Its fields are: none\. Name one of them with --slice"
    ):
        recorded(case, tmp_path, "colour")
    many: Any = [
        ImportedAnswer(key=f"{number}", content="", kept={"id": f"{number}"}) for number in range(MOST_VALUES + 1)
    ]
    with pytest.raises(DataError, match=rf"^The field 'id' of .* has {MOST_VALUES + 1:,} values\. Expected at most"):
        recorded(replace(case, answers=tuple(many)), tmp_path, "id")
    assert not (tmp_path / "runs").exists()
