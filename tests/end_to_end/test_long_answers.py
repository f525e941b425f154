"""An answer of a million letters, from the file that it is replayed from to every report of its run."""

import csv
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from eyechart.toybox.samples.open_toybox import open_toybox

pytestmark = pytest.mark.deep

LONG = "word " * 200_000
RUN = "runs/latest"
CASES = "toybox/sample/ and closed_world and not plus"
REPORTS = {
    "overview": ["overview", RUN, "--out", "overview"],
    "table": ["table", "T15", RUN],
    "compare": ["compare", RUN, RUN],
    "collect": ["collect", "runs", "--out", "history.parquet", "--mill", "aggregate.csv"],
    "page": ["page", RUN, "--out", "page", "--no-figures"],
}


def ran(python: Sequence[str], folder: Path, *command: str) -> str:
    """What a command says that ends well."""
    line = [*python, "-m", *command]
    done = subprocess.run(line, cwd=folder, capture_output=True, encoding="utf-8", timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]) -> Path:
    """A run of replayed words, the first of them a million letters."""
    folder, dataset = tmp_path_factory.mktemp("long"), open_toybox("sample")
    with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        said = [LONG, *["cat"] * (len(dataset) - 1)]
        csv.writer(file).writerows([("key", "answer"), *zip(dataset.keys, said, strict=True)])
    options = ["--eye-model=replay[path=answers.csv,of=closed_world]", "--eye-out=runs", "--eye-offline"]
    usual = ["--pyargs", "eyechart.benchmarks", "-k", CASES, "-p", "no:cacheprovider"]
    ran(warm_python, folder, "pytest", *usual, *options)
    return folder


def test_the_run_kept_the_whole_answer(folder: Path) -> None:
    (path,) = (folder / RUN / "predictions").glob("*.csv")
    assert LONG.strip() in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_reads_it(folder: Path, name: str, warm_python: Sequence[str]) -> None:
    assert ran(warm_python, folder, "eyechart", *REPORTS[name])
