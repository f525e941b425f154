"""The examples, as a package of somebody else: it adds a model, a protocol, a data set and a metric by entry points."""

import csv
import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from hashlib import sha256
from os import environ, pathsep
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

EXAMPLES = Path(__file__).parents[2] / "examples"
MLLM = "hf[toybox-mllm]"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as an installer leaves it, outside the repository."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLES / "eyechart_examples", folder / "eyechart_examples")
    shutil.copy(EXAMPLES / "test_colours.py", folder)
    project = tomllib.loads((EXAMPLES / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    facts = folder / f"eyechart_examples-{project['version']}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"].items()
    lines = [line for group, named in points for line in (f"[{group}]", *(f"{k} = {v}" for k, v in named.items()))]
    (facts / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def run(site: Path, tmp_path: Path, warm_python: Sequence[str]) -> Callable[..., Any]:
    """Run pytest in an empty folder with the package installed; what was printed and the records."""

    def run(*arguments: str, code: int = 0) -> tuple[str, dict[str, Any]]:
        options = [str(site / "test_colours.py"), "-p", "no:cacheprovider", *arguments]
        path = pathsep.join([str(site), environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [*warm_python, "-m", "pytest", *options], cwd=tmp_path, env={**environ, "PYTHONPATH": path},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        path_of_run = tmp_path / "reports/runs/latest/records.json"
        found = json.loads(path_of_run.read_text(encoding="utf-8"))["records"] if path_of_run.exists() else []
        return done.stdout + done.stderr, {record["protocol"]: record for record in found}

    return run


def test_a_package_adds_a_model_a_protocol_a_data_set_and_a_metric(run: Any) -> None:
    said, records = run("--eye-model=colours[]", f"--eye-model={MLLM}")
    assert sorted(records) == ["colour_word", "supervised"]
    numbers = {metric["name"]: metric for metric in records["supervised"]["metrics"]}
    assert (numbers["acc1"]["value"], numbers["acc1"]["n"]) == (1.0, 12)
    margin = numbers["margin"]
    assert (margin["n"], margin["ci_method"], margin["higher_is_better"]) == (12, "student", True)
    assert margin["ci"][0] < margin["value"] < margin["ci"][1]
    assert records["colour_word"]["data"]["n"] == sum(records["colour_word"]["outcomes"].values()) == 12
    rows = [line.split() for line in said.splitlines() if line.startswith("swatches/plain/")]
    assert {row[2] for row in rows} == {"acc1", "margin", "word_acc", "answer_length"}


def test_a_package_adds_a_table_a_figure_and_a_command(
    run: Any, site: Path, tmp_path: Path, warm_python: Sequence[str]
) -> None:
    run("--eye-model=colours[]")
    environment = {**environ, "PYTHONPATH": pathsep.join([str(site), environ.get("PYTHONPATH", "")])}

    def report(*arguments: str) -> str:
        command = [*warm_python, "-m", "eyechart", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "accuracy-by-colour  " in report("ls", "tables")
    assert "accuracy-by-colour  " in report("ls", "figures")
    assert "colours: Logits of three colours.\n  capabilities: classifier\n" in report("ls", "models")
    assert "\ncolour_word: " in report("ls", "protocols")
    assert "swatches/plain              Of an installed package. Swatches of three colours." in report("ls", "datasets")
    (line,) = report("table", "accuracy-by-colour", "reports/runs/latest", "--format", "csv").splitlines()[1:]
    assert line.split(",")[4:6] == ["100.00", "4"]
    drawn = Path(report("figure", "accuracy-by-colour", "reports/runs/latest").strip())
    assert "colours[]" in (tmp_path / drawn).read_text(encoding="utf-8")
    assert "\nOther packages:\n  mistakes  " in report("--help")
    run(f"--eye-model={MLLM}", "-k", "colour_word")
    case, *images = report("mistakes", "reports/runs/latest").splitlines()
    assert case.startswith(f"swatches/plain/{MLLM}@test=")
    assert int(case.rpartition(": ")[2]) == len(images) > 0


IN_PYTHON = """
import eyechart
run = eyechart.evaluate("hf[toybox-mllm]", "swatches/plain", protocol="colour_word", progress=False)
print(*run.metrics["metric"])
run.page("page", figures=False)
"""


def test_a_protocol_of_a_package_has_its_metrics_in_python_and_its_sentence_on_the_page(
    site: Path, tmp_path: Path, warm_python: Sequence[str]
) -> None:
    environment = {**environ, "PYTHONPATH": pathsep.join([str(site), environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [*warm_python, "-c", IN_PYTHON], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "word_acc answered\n"
    written = b"".join(path.read_bytes() for path in (tmp_path / "page" / "data").rglob("*") if path.is_file())
    assert b"The model names the colour of the picture in one word." in written
    assert b"The proportion of pictures whose colour is named first." in written
    assert b"What colour is this picture? Answer with one word." in written
    path = tmp_path / "reports/runs/latest/records.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    file = document["records"][0]["artifacts"]["prompt_texts"]["path"]
    (row,) = csv.DictReader((path.parent / file).read_text(encoding="utf-8").splitlines())
    assert row["name"] == "colour_word"
    assert row["sha256"] == sha256(row["text"].encode()).hexdigest()
    document["records"][0]["metrics"][0]["value"] = 1.5
    path.write_text(json.dumps(document), encoding="utf-8")
    command = [*warm_python, "-m", "eyechart", "overview", "reports/runs/latest"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "has the value 1.5, expected a fraction from 0 to 1" in done.stderr


def test_a_metric_of_a_package_is_gated(run: Any) -> None:
    run("--eye-model=colours[]", "--eye-baseline=kept", "--eye-update-baseline")
    said, _ = run("--eye-model=colours[]", "--eye-baseline=kept")
    assert "gate: " in said


def test_a_package_reads_folders_of_its_format(run: Any, site: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "mine").mkdir(parents=True)
    shutil.copy(site / "eyechart_examples" / "plain.json", tmp_path / "data" / "mine" / "swatches.json")
    said, records = run("--eye-model=colours[]", "--eye-data=data", "-k", "swatches/mine")
    assert records["supervised"]["data"]["n"] == 12
    assert "1 split found (swatches/mine)" in said


def test_an_option_of_a_package_s_protocol_is_set(run: Any) -> None:
    _, records = run(f"--eye-model={MLLM}", "--eye-set=colour_word.tokens=4")
    assert records["colour_word"]["case"].startswith(f"swatches/plain/{MLLM}@tokens=4,test=")
    said, _ = run(f"--eye-model={MLLM}", "--eye-set=colour_word.token=4", code=4)
    assert "there is no such option; did you mean tokens? It has tokens." in said


def test_a_class_is_a_model_without_registration(run: Any) -> None:
    _, records = run("--eye-model=eyechart_examples.model:Colours[]")
    assert records["supervised"]["model"]["spec"] == "eyechart_examples.model:Colours[]"
