"""What a run leaves: records as they come, one file of them at the end, a link to the latest, a table on the screen."""

import json
from hashlib import sha256
from typing import Any

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


def test_the_files_of_a_record_are_those_it_names(serial: Any) -> None:
    for record in serial.records:
        for file in (record["predictions"], *record["artifacts"].values()):
            assert sha256((serial.latest / file["path"]).read_bytes()).hexdigest() == file["sha256"]


def test_records_are_written_as_they_come(serial: Any) -> None:
    assert (serial.folder / "lengths").read_text().split() == ["1", "2", "3", "4"]
    lines = (serial.latest / "records.jsonl").read_text().splitlines()
    assert sorted(map(json.loads, lines), key=lambda record: record["case"]) == serial.session["records"]


def test_latest_points_at_the_last_run(serial: Any, world: Any) -> None:
    assert (serial.latest).is_symlink()
    world.models = ("tinyclass[]",)
    for _ in range(2):
        world.passes()
        runs = sorted(path.name for path in world.latest.parent.iterdir() if not path.is_symlink())
        assert world.latest.readlink().name == runs[-1]


def test_reports_carry_plain_values(serial: Any) -> None:
    lines = (serial.folder / "types.jsonl").read_text().splitlines()
    assert len(lines) == 4
    for line in lines:
        assert set(json.loads(line)) <= {"dict", "list", "tuple", "str", "int", "float", "NoneType", "bool"}


def test_the_summary_has_a_line_for_every_case_and_label_set(serial: Any) -> None:
    serial.said.fnmatch_lines(
        [
            "*= eyechart =*",
            "case * protocol * labels * n * top-1 * top-5 *errors",
            "imagenet/tiny/tiny[[][]] * zero_shot * ImGT * 18 *[[]*,*[]]*[[]*,*[]]*0",
            "imagenet/tiny2/tiny[[][]] * zero_shot * ImGT * 6 *",
            "imagenet/tiny/tinyclass[[][]] * supervised * ImGT * 18 *",
            "*records and answers: reports/runs/*",
        ]
    )


def test_a_session_without_cases_says_nothing(world: Any) -> None:
    (world.folder / "test_other.py").write_text("def test_other(): pass")
    result = world.call("test_other.py")
    assert "= eyechart =" not in result.stdout.str()
    assert {path.name for path in world.folder.iterdir()} <= {"test_other.py", ".pytest_cache", "__pycache__"}
