"""`export clip-benchmark`: numbers become the table of CLIP_benchmark, and stand beside those of such a table."""

import csv
from pathlib import Path

import pytest

import eyechart
from eyechart.cli import main
from eyechart.results.records import read_run
from tests.data.readers.clip_benchmark_folders import Colours, write


@pytest.fixture
def run_of_pets(tmp_path: Path) -> Path:
    """The folder of a run of one model on one data set."""
    write(tmp_path / "wds_vtab-pets", [0, 1, 2, 1])
    run = eyechart.evaluate(
        Colours(), "wds_vtab-pets/test", name="colours", data_root=str(tmp_path), protocol="zero_shot",
        store=tmp_path / "store", out=tmp_path / "out", progress=False,
    )  # fmt: skip
    return run.folders[0]


def test_results_become_the_table_of_clip_benchmark(run_of_pets: Path, tmp_path: Path) -> None:
    assert main(["export", "clip-benchmark", str(run_of_pets), "--out", str(tmp_path / "exported")]) == 0
    (row,) = csv.DictReader((tmp_path / "exported" / "benchmark.csv").read_text().splitlines())
    assert (row["dataset"], row["task"], row["language"]) == ("wds/vtab/pets", "zeroshot_classification", "en")
    assert row["model_fullname"] == f"{row['model']} {row['pretrained']}"
    values = {line["metric"]: line["value"] for line in eyechart.load_run(run_of_pets).metrics.to_dict("records")}
    assert float(row["acc1"]) == values["acc1"]
    assert float(row["mean_per_class_recall"]) == values["mean_per_class_recall"]
    assert row["mean_average_precision"] == ""


def test_published_numbers_stand_beside_those_of_a_run(run_of_pets: Path, tmp_path: Path) -> None:
    """The table that was exported is read back, with another number and with one that is not there."""
    out = tmp_path / "exported"
    assert main(["export", "clip-benchmark", str(run_of_pets), "--out", str(out)]) == 0
    (row,) = csv.DictReader((out / "benchmark.csv").read_text().splitlines())
    row |= {"acc1": "0.999", "acc5": "nan", "dataset": "vtab/pets"}  # as in the published table
    other = row | {"acc1": "0.001", "language": "jp"}
    table = tmp_path / "published.csv"
    table.write_text("\n".join([",".join(row), ",".join(row.values()), ",".join(other.values()), ""]))
    assert main(["export", "clip-benchmark", str(run_of_pets), f"--published={table}", "--out", str(out)]) == 0
    rows = {line["metric"]: line for line in csv.DictReader((out / "published.csv").read_text().splitlines())}
    assert {*rows} == {"acc1", "mean_per_class_recall"}
    assert float(rows["acc1"]["difference"]) == pytest.approx(float(rows["acc1"]["value"]) - 0.999)
    assert rows["acc1"]["within"] == str(float(rows["acc1"]["low"]) <= 0.999 <= float(rows["acc1"]["high"]))
    assert (rows["mean_per_class_recall"]["difference"], rows["mean_per_class_recall"]["within"]) == ("0.0", "True")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("dataset,model\nwds/cars,a\n", "has no column pretrained"),
        ("", "has no row"),
        ("dataset,model,pretrained,acc1\nwds/cars,a,b,0.5\n", "has no row of the runs' data sets and models"),
        ("dataset,model,pretrained,acc1\nvtab/pets,{model},,high\n", "has acc1=high. Expected a number"),
    ],
)
def test_a_table_without_these_rows_is_refused(
    run_of_pets: Path, tmp_path: Path, content: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = read_run(run_of_pets).records[0].model.spec
    (table := tmp_path / "published.csv").write_text(content.format(model=name.partition("[")[2].rstrip("]") or name))
    options = [f"--published={table}", "--out", str(tmp_path / "exported")]
    assert main(["export", "clip-benchmark", str(run_of_pets), *options]) != 0
    assert sentence in capsys.readouterr().err
