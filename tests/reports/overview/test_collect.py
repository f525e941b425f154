"""`collect`: every stored run in one long table, once; what cannot be read is named; Mill's aggregate.csv beside it."""

import csv
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from eyechart.cli import main
from eyechart.reports.overview.collect import COLUMNS, rows
from eyechart.reports.overview.write_overview import aggregate
from eyechart.reports.runs import load
from eyechart.results.records import Metric, encode, read_run

FIVE = ((356, (356,), (356,)),) * 4 + ((357, (357,), (357,)),)


@pytest.fixture
def stored(make_run):
    """Two runs of different choices under one folder, and a link to the second."""
    five = {"truths": FIVE, "models": {"conse[]": ("zero_shot", [356] * 5)}, "limit": 5}
    runs = [make_run("runs/first"), make_run("runs/second", **five)]
    (runs[0].parent / "latest").symlink_to("second")
    return SimpleNamespace(folder=runs[0].parent, runs=runs)


@pytest.fixture
def collected(tmp_path, capsys):
    """Collect into a csv; gives the exit status, the rows and what was said of the runs left out."""

    def collected(*paths, code=0):
        out = tmp_path / "history.csv"
        assert main(["collect", *map(str, paths), "--out", str(out)]) == code
        table = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
        return SimpleNamespace(rows=table, said=capsys.readouterr().err)

    return collected


@pytest.mark.deep
def test_every_number_of_every_run_is_a_row(stored, collected):
    rows_ = collected(stored.folder).rows
    metrics = [(run.name, m) for run in stored.runs for r in read_run(run).records for m in r.metrics]
    assert [(row["run"], row["metric"], row["subset"], row["level"], row["prompt"]) for row in rows_] == [
        (run, metric.name, metric.subset, metric.level, metric.prompt) for run, metric in metrics
    ]
    assert [float(row["value"]) if row["value"] else None for row in rows_] == [m.value for _, m in metrics]


@pytest.mark.deep
def test_a_row_says_who_was_asked_what(stored, collected):
    row = collected(stored.runs[1]).rows[0]
    record = read_run(stored.runs[1]).records[0]
    assert tuple(row) == tuple(COLUMNS)
    assert json.loads(row["variant"]) == dict(record.variant)
    assert (row["model_spec"], row["limit"], row["command"]) == (record.model.spec, "5", "pytest -k imagenet")
    assert (row["started"], row["data_fingerprint"]) == ("2026-01-01T00:00:00+00:00", record.data.fingerprint)


@pytest.mark.deep
@pytest.mark.parametrize("given", [("latest", "second"), ("second", "second/records.json"), ("", "latest", "first")])
def test_a_run_counts_once_under_all_its_names(stored, collected, given):
    rows_ = collected(*(stored.folder / name for name in given)).rows
    names = {row["run"] for row in rows_}
    assert names == ({"first", "second"} if "" in given else {"second"})
    assert len(rows_) == sum(len(r.metrics) for name in names for r in read_run(stored.folder / name).records)


def test_a_copied_run_counts_once(stored, collected, tmp_path):
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    (copy / "records.json").write_bytes((stored.runs[0] / "records.json").read_bytes())
    assert collected(stored.runs[0], copy).rows == collected(stored.runs[0]).rows


def broken(folder: Path) -> None:
    for name, text in (("cut", '{"run": {"sch'), ("newer", '{"run": {"schema": 99}}')):
        (folder / name).mkdir()
        (folder / name / "records.json").write_text(text)
    (folder / "killed").mkdir()
    (folder / "killed" / "records.jsonl").write_text("")
    (folder / "notes").mkdir()


def test_what_cannot_be_read_is_named_and_left_out(stored, collected):
    whole = collected(stored.folder).rows
    broken(stored.folder)
    result = collected(stored.folder, code=1)
    assert result.rows == whole
    reasons = [line for line in result.said.splitlines() if "left out:" in line]
    assert len(reasons) == 3
    for name, why in {"cut": "is not a run's", "killed": "was killed", "newer": "has schema 99"}.items():
        assert any(name in line and why in line for line in reasons)


def test_a_folder_of_nothing_is_refused(tmp_path, capsys):
    assert main(["collect", str(tmp_path), "--out", str(tmp_path / "x.csv")]) == 2
    assert "None of these runs can be read" in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()


def test_parquet_holds_what_csv_holds(stored, collected, tmp_path):
    from pyarrow import parquet

    out = tmp_path / "history.parquet"
    assert main(["collect", str(stored.folder), "--out", str(out)]) == 0
    table = parquet.read_table(out)
    assert {field.name: str(field.type).replace("double", "float64") for field in table.schema} == dict(COLUMNS)
    spelled = [{k: "" if v is None else str(v) for k, v in row.items()} for row in table.to_pylist()]
    assert spelled == collected(stored.folder).rows


def test_the_same_runs_give_the_same_bytes(stored, tmp_path):
    for name, paths in (("a", stored.runs), ("b", stored.runs[::-1])):
        assert main(["collect", *map(str, paths), "--out", str(tmp_path / f"{name}.parquet")]) == 0
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_runs_without_numbers_make_an_empty_table(stored, tmp_path):
    from pyarrow import parquet

    folder = tmp_path / "bare"
    folder.mkdir()
    records = read_run(stored.runs[0])
    (folder / "records.json").write_bytes(encode({"run": records.run, "records": []}))
    assert main(["collect", str(folder), "--out", str(tmp_path / "bare.parquet")]) == 0
    assert parquet.read_table(tmp_path / "bare.parquet").num_rows == 0


@pytest.mark.parametrize(("name", "why"), [("h.xlsx", "must end in .parquet or .csv"), ("h", "must end in")])
def test_another_suffix_is_refused(stored, tmp_path, capsys, name, why):
    assert main(["collect", str(stored.folder), "--out", str(tmp_path / name)]) == 2
    assert why in capsys.readouterr().err


def test_without_pyarrow_parquet_is_refused_with_a_remedy(stored, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["collect", str(stored.folder), "--out", str(tmp_path / "h.parquet")]) == 2
    assert "pip install 'eyechart[hub]'" in capsys.readouterr().err


def test_mills_file_is_the_one_of_the_overview(stored, tmp_path):
    out = ["--out", str(tmp_path / "h.csv"), "--mill", str(tmp_path / "aggregate.csv")]
    assert main(["collect", str(stored.folder), *out]) == 0
    text = (tmp_path / "aggregate.csv").read_text(encoding="utf-8")
    assert text == aggregate(load(stored.runs))
    shown = [(row["model"], row["task"], row["metric"]) for row in csv.DictReader(text.splitlines())]
    assert len(set(shown)) == len(shown)  # the choice of 5 does not stand for the whole
    assert {"imagenet", "imagenet/val, a random sample of 5 (seed 42)"} <= {task for _, task, _ in shown}


def test_a_number_without_a_value_has_empty_cells(run_folder):
    run = read_run(run_folder)
    undefined = Metric(
        name="ua_a", labels="all species", subset="all", value=None, n=4, n_clusters=4, ci=None, ci_method=""
    )
    run = replace(run, records=(replace(run.records[0], metrics=(undefined,)),))
    empty = [row for row in rows("r", run) if row[list(COLUMNS).index("value")] is None]
    low, high = (list(COLUMNS).index(name) for name in ("ci_low", "ci_high"))
    assert empty
    assert all(row[low] is row[high] is None for row in empty)
