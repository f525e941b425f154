"""The commands of `eyechart` that report runs, as typed."""

import csv
import subprocess
import sys
from io import StringIO

import pytest

from eyechart.cli import main


@pytest.fixture
def reports(capsys):
    """Run the command in this process, where warnings are errors; its standard output and its standard error."""

    def reports(*arguments):
        assert main([*map(str, arguments)]) == 0
        return capsys.readouterr()

    return reports


def test_the_overview_is_printed_and_written_beside_the_run(reports, run_folder):
    assert reports("overview", run_folder).out == (run_folder / "reports" / "overview.md").read_text(encoding="utf-8")
    assert {path.name for path in (run_folder / "reports").iterdir()} == {
        "overview.md",
        "overview.tex",
        "aggregate.csv",
    }


def test_the_overview_goes_where_it_is_told(reports, run_folder, tmp_path):
    reports("overview", run_folder, "--out", tmp_path / "there")
    assert (tmp_path / "there" / "aggregate.csv").is_file()
    assert not (run_folder / "reports").exists()


def test_every_table_comes_in_every_format(reports, run_folder):
    for name in ("mill-imagenet", "T2", "T4", "F3", "T9", "T10", "F9"):
        assert "\n| " in reports("table", name, run_folder).out, name
        assert r"\toprule" in reports("table", name, run_folder, "--format", "tex").out, name
        made = reports("table", name, run_folder, "--format", "csv")
        rows = list(csv.reader(StringIO(made.out)))
        assert len({len(row) for row in rows}) == 1, name
        assert "note: imagenet/val: 18 images" in made.err, name


def test_one_ground_truth_is_chosen(reports, run_folder):
    rows = csv.DictReader(StringIO(reports("table", "T4", run_folder, "--format", "csv", "--labels", "ReGT").out))
    assert {row["labels"] for row in rows} == {"ReGT"}


@pytest.mark.parametrize("name", ["label-change", "agreement"])
def test_a_figure_is_drawn(reports, run_folder, name):
    path = run_folder / "reports" / f"{name}.svg"
    number = {"label-change": "F3"}.get(name, name)  # a number of the paper is another name
    assert reports("figure", number, run_folder).out.strip() == str(path)
    assert path.read_text(encoding="utf-8").rstrip().endswith("</svg>")


def test_several_runs_are_merged(reports, make_run):
    first, second = make_run("first"), make_run("second")
    assert "replaces that of an earlier run" in reports("table", "T2", first, second).out


@pytest.mark.parametrize("command", [("table", "T4"), ("page",)])
def test_answers_that_are_not_there_are_refused_where_nothing_reads_them(capsys, run_folder, command):
    assert main([*command, str(run_folder), "--annotations=gone.json"]) == 2
    assert "'--annotations': File 'gone.json' does not exist." in capsys.readouterr().err


def test_a_refusal_is_one_sentence(capsys, run_folder):
    assert main(["table", "T4x", str(run_folder)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("eyechart: There is no table 'T4x'; did you mean T4 or T14?")
    assert "Traceback" not in said


@pytest.mark.deep
def test_a_table_imports_nothing_heavy_and_a_terminal_without_the_letters_gets_them_spelled(run_folder, tmp_path):
    program = "import sys; from eyechart.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    command = [sys.executable, "-W", "error", "-c", program, "table", "T4", str(run_folder)]
    environment = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert rb"\u0394" in done.stdout
    *_, modules = done.stdout.decode().splitlines()
    assert {"torch", "matplotlib", "scipy.stats", "pytest"}.isdisjoint(modules.split())
