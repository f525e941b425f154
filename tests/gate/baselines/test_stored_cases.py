"""The evidence of runs and baselines: whole, of a record alone, changed since, or not there."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.errors import ReportError
from eyechart.gate.baselines.baseline_files import write_baselines
from eyechart.gate.baselines.stored_cases import (
    cases_of_run,
    is_run,
    read_case_evidence,
    read_cases,
    read_drifts_of,
    source_names,
)
from eyechart.results.records import read_run

Make = Callable[..., Path]


@pytest.fixture
def kept(make_run: Make, tmp_path: Path) -> tuple[Path, Path]:
    """A run, and baselines of its cases."""
    folder = make_run("first")
    write_baselines(tmp_path / "kept", read_cases(folder).values())
    return folder, tmp_path / "kept"


def test_a_baseline_has_the_numbers_of_its_run(kept: tuple[Path, Path]) -> None:
    run, baseline = (read_cases(path) for path in kept)
    assert {*run} == {*baseline}
    for key, evidence in run.items():
        assert baseline[key].metrics == evidence.metrics
        assert baseline[key].keys == evidence.keys
    assert read_cases(kept[0] / "records.json").keys() == run.keys()


def test_a_run_is_told_from_a_baseline(kept: tuple[Path, Path], tmp_path: Path) -> None:
    folder, baseline = kept
    (tmp_path / "torn.json").write_text("{", encoding="utf-8")
    file = next(baseline.rglob("*.json"))
    paths = [folder, folder / "records.json", baseline, file, tmp_path / "torn.json"]
    assert [is_run(path) for path in paths] == [True, True, False, False, False]
    assert read_drifts_of(folder) is None
    assert read_drifts_of(baseline) is not None
    run, kept_name = source_names([folder, baseline])
    assert run.startswith("first")
    assert kept_name == str(baseline)


def test_a_record_without_evidence_can_be_compared_by_its_intervals(make_run: Make) -> None:
    folder = make_run("run")
    whole = cases_of_run(folder)
    content = json.loads((folder / "records.json").read_bytes())
    for record in content["records"]:
        del record["evidence"]
    (folder / "records.json").write_text(json.dumps(content), encoding="utf-8")
    assert [read_case_evidence(record, folder) for record in read_run(folder).records] == [None] * len(whole)
    for key, evidence in cases_of_run(folder).items():
        assert not evidence.arrays
        assert [(one.name, one.value, one.ci) for one in evidence.metrics] == [
            (one.name, one.value, one.ci) for one in whole[key].metrics
        ]
        same = ("model", "weights_sha256", "fingerprint", "label_hashes", "variant", "limit", "seed", "samples")
        assert [getattr(evidence, name) for name in same] == [getattr(whole[key], name) for name in same]


def test_evidence_that_changed_since_the_run_is_refused(make_run: Make) -> None:
    folder = make_run("a")
    path = next((folder / "evidence").glob("*.json"))
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ReportError, match="has changed since the run"):
        read_cases(folder)


def test_what_is_neither_run_nor_baseline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportError) as refused:
        read_cases(tmp_path / "nowhere")
    assert str(refused.value) == (
        f"There is no run or baseline at {tmp_path / 'nowhere'}. Name a run's folder, such as reports/runs/latest, or "
        "a baseline's file or folder."
    )


def test_a_baseline_without_a_case_is_refused(kept: tuple[Path, Path]) -> None:
    for file in kept[1].rglob("*.json"):
        content = json.loads(file.read_bytes())
        file.write_text(json.dumps({**content, "cases": []}), encoding="utf-8")
    with pytest.raises(ReportError) as refused:
        read_cases(kept[1])
    assert str(refused.value) == f"{kept[1]} holds no case. Name a run's folder, or a baseline's file or folder."


def test_a_folder_of_runs_names_a_run(make_run: Make) -> None:
    folder = make_run("a")
    with pytest.raises(ReportError) as refused:
        read_cases(folder.parent)
    assert str(refused.value) == f"{folder.parent} is a folder of runs. Name one of them, such as {folder}."


def test_a_run_that_was_killed_is_no_damaged_baseline(make_run: Make) -> None:
    folder = make_run("a")
    (folder / "records.json").rename(folder / "records.jsonl")
    for read in (read_cases, read_run):
        with pytest.raises(
            ReportError, match=r"has no records\.json: the run was killed or is not finished\. Run it again"
        ):
            read(folder)
