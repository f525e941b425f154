"""What a run leaves: records as they come, one file of them at the end, a link to the latest, a table on the screen."""

import json
import xml.etree.ElementTree as ElementTree
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

PEEK = """
import json
from hashlib import sha256
from pathlib import Path

def pytest_runtest_teardown(item):
    found = list(Path("reports/runs").glob("*/records.jsonl"))
    with open("peeked", "a") as file:
        print(len(found and found[0].read_text().splitlines()), file=file)
"""
PLAIN = """
import json

def walk(value):
    yield type(value).__name__
    for inner in value.items() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from walk(inner)

def pytest_runtest_logreport(report):
    for name, value in report.user_properties:
        print("TYPES", name, report.when, sorted({*walk(value)}), json.loads(json.dumps(value)) is not None)
"""
KEPT = {"schema", "case", "benchmark", "protocol", "split", "variant", "model", "data", "seed", "outcomes", "metrics",
        "reported", "predictions", "seconds", "environment", "command"}  # fmt: skip


def test_a_record_says_all_that_the_design_asks(serial: Any) -> None:
    for record in serial.session["records"]:
        assert record.keys() >= KEPT
        assert record["model"].keys() >= {"spec", "backend", "revision", "weights_sha256", "dtype"}
        assert record["data"].keys() >= {"fingerprint", "n", "expected_n"}
        assert sum(record["outcomes"].values()) == record["data"]["n"]
    assert serial.session["run"]["exit_status"] == 0


def test_the_files_of_a_record_are_those_it_names(serial: Any) -> None:
    for record in serial.records:
        for file in (record["predictions"], *record["artifacts"].values()):
            assert sha256((serial.latest / file["path"]).read_bytes()).hexdigest() == file["sha256"]


def test_records_are_written_as_they_come(world: Any) -> None:
    world.passes(world.plugin(PEEK))
    assert (world.folder / "peeked").read_text().split() == ["1", "2", "3", "4"]
    lines = (world.latest / "records.jsonl").read_text().splitlines()
    assert sorted(map(json.loads, lines), key=lambda record: record["case"]) == world.session["records"]


def test_latest_points_at_the_last_run(serial: Any, world: Any) -> None:
    assert (serial.latest).is_symlink()
    world.models = ("tinyclass[]",)
    for _ in range(2):
        world.passes()
        runs = sorted(path.name for path in world.latest.parent.iterdir() if not path.is_symlink())
        assert world.latest.readlink().name == runs[-1]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_reports_carry_plain_values(world: Any, workers: str) -> None:
    said = world.passes("-s", "-n", workers, world.plugin(PLAIN)).stdout.str()
    lines = [line[line.index("TYPES") :] for line in said.splitlines() if "TYPES" in line and " call " in line]
    assert len(lines) == 4
    assert "numpy" not in said
    for line in lines:
        assert set(eval(line.partition("call ")[2].removesuffix(" True"))) <= PYTHON


PYTHON = {"dict", "list", "tuple", "str", "int", "float", "NoneType", "bool"}


def test_junit_keeps_a_short_property(world: Any, tmp_path: Path) -> None:
    world.passes(f"--junitxml={tmp_path / 'junit.xml'}")
    cases = ElementTree.parse(tmp_path / "junit.xml").getroot().findall(".//testcase")
    assert len(cases) == 4
    for case in cases:
        (found,) = case.findall("properties/property")
        assert found.get("name") == "eyechart"
        assert len(found.get("value", "")) < 10_000


def test_the_summary_has_a_line_for_every_case_and_label_set(world: Any) -> None:
    result = world.passes()
    result.stdout.fnmatch_lines(
        [
            "*= eyechart =*",
            "case * protocol * labels * n * top-1 * top-5 *errors",
            "imagenet/tiny/tiny[[][]] * zero_shot * ImGT * 18 *[[]*,*[]]*[[]*,*[]]*0",
            "imagenet/tiny/tinyclass[[][]] * supervised * ImGT * 18 *",
            "imagenet/tiny2/tiny[[][]] * zero_shot * ImGT * 6 *",
            "*records and answers: reports/runs/*",
        ]
    )


def test_a_session_without_cases_says_nothing(world: Any) -> None:
    (world.folder / "test_other.py").write_text("def test_other(): pass")
    result = world.call("test_other.py")
    assert "= eyechart =" not in result.stdout.str()
    assert {path.name for path in world.folder.iterdir()} <= {"test_other.py", ".pytest_cache", "__pycache__"}
