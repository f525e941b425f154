"""What a run leaves: records as they come, one file of them at the end, a link to the latest, a table on the screen."""

import json
import re
import subprocess
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from record_schema import SCHEMA_FILE

pytestmark = pytest.mark.deep

KEPT = {"schema", "case", "benchmark", "protocol", "split", "variant", "model", "data", "seed", "outcomes", "metrics",
        "reported", "predictions", "seconds", "environment", "command"}  # fmt: skip


def test_a_record_says_all_that_the_design_asks(serial: Any) -> None:
    for record in serial.session["records"]:
        assert record.keys() >= KEPT
        assert record["model"].keys() >= {"spec", "backend", "revision", "weights_sha256", "dtype"}
        assert record["model"]["name"]
        assert record["data"].keys() >= {"fingerprint", "n", "expected_n"}
        assert sum(record["outcomes"].values()) == record["data"]["n"]
    assert serial.session["run"]["exit_status"] == 0


def test_a_record_says_where_its_numbers_come_from(serial: Any) -> None:
    assert re.fullmatch(r"([0-9a-f]{40}(-dirty)?)?", serial.session["run"]["git_commit"])
    stored = {path.parent.name for path in serial.folder.rglob("key.json")}
    for record in serial.session["records"]:
        assert record["store_entries"]
        assert {*record["store_entries"]} <= stored
        assert record["environment"]["numpy"] == np.__version__
        names = json.loads((serial.latest / record["data"]["class_names"]["path"]).read_bytes())
        assert len(names) == 1000
        assert all(metric["n"] > 0 for metric in record["metrics"])


def test_the_schema_describes_what_a_session_writes(serial: Any) -> None:
    validator = Draft202012Validator(json.loads(SCHEMA_FILE.read_bytes()))
    validator.validate(serial.session)
    record = validator.evolve(schema={**validator.schema, "$ref": "#/$defs/Record"})
    lines = (serial.latest / "records.jsonl").read_text().splitlines()
    assert len(lines) == len(serial.records)
    for line in lines:
        record.validate(json.loads(line))


def test_a_run_has_the_commit_before_the_session_and_latest_points_at_it(world: Any) -> None:
    def git(*arguments: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        command = ("git", "-C", str(world.folder), *who, *arguments)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (world.folder / "notes.txt").write_text("one")
    git("add", "notes.txt")
    git("commit", "-qm", "one")
    world.models = ("tinyclass[]",)
    for text, state in (("one", ""), ("two", "-dirty")):
        (world.folder / "notes.txt").write_text(text)
        world.passes()
        assert world.session["run"]["git_commit"] == git("rev-parse", "HEAD") + state
        runs = sorted(path.name for path in world.latest.parent.iterdir() if not path.is_symlink())
        assert world.latest.readlink().name == runs[-1]


def test_the_files_of_a_record_are_those_it_names(serial: Any) -> None:
    for record in serial.records:
        for file in (record["predictions"], *record["artifacts"].values()):
            assert sha256((serial.latest / file["path"]).read_bytes()).hexdigest() == file["sha256"]


def test_records_are_written_as_they_come(serial: Any) -> None:
    assert (serial.folder / "lengths").read_text().split() == ["1", "2", "3", "4"]
    lines = (serial.latest / "records.jsonl").read_text().splitlines()
    assert sorted(map(json.loads, lines), key=lambda record: record["case"]) == serial.session["records"]


def test_reports_carry_plain_values(serial: Any) -> None:
    lines = (serial.folder / "types.jsonl").read_text().splitlines()
    assert len(lines) == 4
    for line in lines:
        assert set(json.loads(line)) <= {"dict", "list", "tuple", "str", "int", "float", "NoneType", "bool"}


def test_the_summary_has_a_line_for_every_case_and_label_set(serial: Any) -> None:
    serial.said.fnmatch_lines(
        [
            "*= eyechart =*",
            "case * protocol * metric * labels or subset * value in % [[]95 % interval[]] * n * errors",
            "imagenet/tiny/tiny[[][]] * zero_shot * acc1 * ImGT * [[]*,*[]] * 18 * 0",
            "imagenet/tiny/tiny[[][]] * zero_shot * acc5 * ImGT * [[]*,*[]] * 18 * 0",
            "imagenet/tiny2/tiny[[][]] * zero_shot * acc1 * ImGT * 6 *",
            "imagenet/tiny/tinyclass[[][]] * supervised * acc1 * ImGT * 18 *",
            "*records and answers: reports/runs/*",
            "the page: eyechart page reports/runs/*",
        ]
    )
