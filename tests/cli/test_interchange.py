"""`eyechart import`: options that all formats have, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.results.records import read_run

FILES = Path(__file__).parents[1] / "interchange" / "files" / "inspect"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--benchmark=shapes", "--benchmark is 'shapes'. Expected a benchmark and a split"),
        ("--model=a b", "The option --model has the name 'a b'"),
        ("--slice=metadata.color", "has no field 'metadata.color'; did you mean metadata.colour"),
        ("--lower-is-better=choise", "has no metric 'choise'; did you mean choice?"),
    ],
)
def test_wrong_options_get_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, message: str
) -> None:
    assert main(["import", "inspect", FILES / "before.eval", option, f"--out={tmp_path}"]) == 2
    assert message in capsys.readouterr().err


def test_the_direction_of_a_metric_can_be_set(import_record: Any) -> None:
    record = import_record("inspect", FILES / "epochs.json", "--lower-is-better=length")
    assert {metric.name: metric.higher_is_better for metric in record.metrics}["length"] is False


def test_models_of_several_files_are_told_apart(import_files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    files = [FILES / f"{name}.eval" for name in ("before", "after")]
    assert main(["import", "inspect", *files, "--model=same"]) == 2
    assert "are both of shapes/shapes/same. Expected one file" in capsys.readouterr().err
    records = read_run(import_files("inspect", *files, "--benchmark=mine/test")).records
    assert [record.case for record in records] == ["mine/test/mockllm/after", "mine/test/mockllm/before"]
