"""tools/golden.py finds each kind of change in golden files, and lets pass what differs between runs and machines."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

METRIC = {"name": "acc1", "labels": "ImGT", "subset": "all", "value": 0.8286, "n": 140, "ci": [0.7576, 0.882]}
CASE = "imagenet/sample/conse[] zero_shot"
RECORDS = {CASE: {"status": "passed", "metrics": {"acc1 ImGT all": METRIC}}, "toybox/sample/conse[] zero_shot": {}}
LINES = ["key,top1,score1,said", "a,3,0.734912,hen", 'b,5,0.2,"a, b', 'c"', ""]
KEY = {"digest": "0b1c", "versions": "aa", "key": {"question": "mcq", "seed": 42}}


@pytest.fixture
def folder(golden: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of golden files instead of the repository's."""
    monkeypatch.setattr("golden_compare.GOLDEN", tmp_path)
    golden.write_golden("main/records.json", RECORDS)
    golden.write_golden("main/samples.json.gz", {CASE: {"predictions": {"csv": LINES}}})
    golden.write_golden("main/tables.json", {"T2": {"csv": ["Model,acc,Time", "conse,82.86,12 s"]}, "T4": None})
    golden.write_golden("main/keys.json", {"mcq toybox-mllm 0": KEY})
    return tmp_path


def found(golden: Any, name: str, change: Any) -> list[str]:
    """What differs after a function changed what a golden file holds."""
    before = golden.read_golden(f"main/{name}")
    change(after := deepcopy(before))
    return [str(each) for each in golden.find_differences(f"main/{name}", before, after)]


def test_what_was_written_is_read_back(golden: Any, folder: Path) -> None:
    assert golden.read_golden("main/records.json") == RECORDS
    assert golden.read_golden("main/samples.json.gz")[CASE]["predictions"]["csv"] == LINES
    assert golden.read_golden("main/none.json") == {}
    data = (folder / "main/samples.json.gz").read_bytes()
    golden.write_golden("main/samples.json.gz", golden.read_golden("main/samples.json.gz"))
    assert (folder / "main/samples.json.gz").read_bytes() == data


def test_values_that_compare_as_equal_are_not_written(golden: Any, folder: Path) -> None:
    records, file = deepcopy(RECORDS), "main/records.json"
    records[CASE]["metrics"]["acc1 ImGT all"].update(value=0.8286 * (1 + 1e-6), n=141)
    records[CASE]["metrics"]["macro ImGT all"] = added = {"value": 0.25}
    kept = golden.keep_equal(file, golden.read_golden(file), records)
    assert kept[CASE]["metrics"] == {"acc1 ImGT all": {**METRIC, "n": 141}, "macro ImGT all": added}
    before = {CASE: {"csv": LINES}}
    near = {CASE: {"csv": [line.replace("0.734912", "0.734913") for line in LINES]}}
    wider = {CASE: {"csv": [LINES[0] + ",more", "a,3,0.734913,hen,1", *LINES[2:]]}}
    assert golden.keep_equal("main/samples.json", before, near) == before
    assert golden.keep_equal("main/samples.json", before, wider) == wider


def test_a_changed_value_is_found_with_its_case_and_field(golden: Any, folder: Path) -> None:
    said = found(golden, "records.json", lambda r: r[CASE]["metrics"]["acc1 ImGT all"].update(value=0.8287))
    assert said == [f"main/records.json: {CASE} / metrics / acc1 ImGT all / value: 0.8286 -> 0.8287"]


@pytest.mark.parametrize(
    ("field", "value", "differs"),
    [
        ("value", 0.8286 * (1 + 1e-6), False),
        ("value", 0.8286 * (1 + 1e-4), True),
        ("value", None, True),
        ("n", 141, True),
        ("ci", [0.7576 + 1e-8, 0.882], False),
        ("ci", [0.7576], True),
        ("ci", None, True),
        ("name", "acc5", True),
    ],
)
def test_numbers_differ_beyond_a_tolerance(golden: Any, folder: Path, field: str, value: Any, differs: bool) -> None:
    said = found(golden, "records.json", lambda r: r[CASE]["metrics"]["acc1 ImGT all"].update({field: value}))
    assert bool(said) == differs


def test_a_missing_case_is_found(golden: Any, folder: Path) -> None:
    said = found(golden, "records.json", lambda r: r.pop(CASE))
    assert said == [f"main/records.json: {CASE}: there -> missing"]


def test_an_added_case_is_found(golden: Any, folder: Path) -> None:
    said = found(golden, "records.json", lambda r: r.update(more={}))
    assert said == ["main/records.json: more: missing -> there"]


@pytest.mark.parametrize(
    ("line", "text", "expected"),
    [
        (1, "a,4,0.734912,hen", ["column top1, 1 of 2 rows, row 0 (a, 3): \"3\" -> \"4\""]),
        (1, "a,3,0.734913,hen", []),  # the last digit, of six
        (1, "a,3,0.7352,hen", ["column score1, 1 of 2 rows, row 0 (a, 3): \"0.734912\" -> \"0.7352\""]),
        (1, "a,3,0.734912,cock", ["column said, 1 of 2 rows, row 0 (a, 3): \"hen\" -> \"cock\""]),
        (0, "key,top1,score2,said", ["column score1: there -> missing", "column score2: missing -> there"]),
        (4, "d,1,1,e", ["rows: 2 -> 3"]),
    ],
)  # fmt: skip
def test_changed_cells_columns_and_rows_are_found(
    golden: Any, folder: Path, line: int, text: str, expected: list[str]
) -> None:
    said = found(golden, "samples.json.gz", lambda s: s[CASE]["predictions"]["csv"].__setitem__(line, text))
    assert said == [f"main/samples.json.gz: {CASE} / predictions / {each}" for each in expected]


@pytest.mark.parametrize(
    ("before", "after", "same"), [("1", "0.999999", True), ("1", "0.99", False), ("1", "2", False)]
)
def test_a_number_that_rounds_to_a_whole_one_is_a_number_with_a_fraction(
    golden: Any, before: str, after: str, same: bool
) -> None:
    sides = ({"csv": ["key,score1", f"a,{score}"]} for score in (before, after))
    assert bool([*golden.find_differences("samples.json", *sides)]) != same


@pytest.mark.parametrize(
    ("cells", "differs"),
    [("conse,82.86,99 s", False), ("conse,82.87,12 s", False), ("conse,82.88,12 s", True), ("timm,82.86,12 s", True)],
)
def test_cells_differ_beyond_the_last_digit_and_times_do_not(
    golden: Any, folder: Path, cells: str, differs: bool
) -> None:
    assert bool(found(golden, "tables.json", lambda t: t["T2"]["csv"].__setitem__(1, cells))) == differs


def test_a_table_that_is_empty_now_is_found(golden: Any, folder: Path) -> None:
    assert found(golden, "tables.json", lambda t: t.update(T2=None))
    assert found(golden, "tables.json", lambda t: t.update(T4={"csv": ["Model"]}))


def test_digests_of_keys_are_compared_under_equal_versions_alone(golden: Any, folder: Path) -> None:
    name = "mcq toybox-mllm 0"
    assert found(golden, "keys.json", lambda k: k[name].update(digest="ffff"))
    assert not found(golden, "keys.json", lambda k: k[name].update(digest="ffff", versions="bb"))
    assert found(golden, "keys.json", lambda k: k[name].update(versions="bb", key={"question": "mcq", "seed": 43}))


def test_a_run_is_read_without_what_differs_from_run_to_run(golden: Any, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("\n".join(LINES), encoding="utf-8")
    file = {"path": "answers.csv", "sha256": "00"}
    record = {"case": "imagenet/sample/conse[]", "protocol": "zero_shot", "metrics": [METRIC], "seconds": 3.5,
              "usage": {"requests": 3, "sets": {"ID": {"answers": 3, "fresh": 2}}}, "predictions": file}  # fmt: skip
    run = {"run": {"exit_status": 0, "started": "today"}, "records": [record]}
    (tmp_path / "records.json").write_text(json.dumps(run), encoding="utf-8")
    records, samples = golden.read_records(tmp_path)
    assert records == {"run": {"exit_status": 0}, CASE: {
        "case": "imagenet/sample/conse[]", "protocol": "zero_shot", "metrics": {"acc1 ImGT all": METRIC},
        "usage": {"requests": 3, "sets": {"ID": {"answers": 3}}}, "predictions": {},
    }}  # fmt: skip
    assert samples == {CASE: {"predictions": {"csv": LINES}}}


def test_a_test_fails_with_the_differences_or_writes_its_part(
    golden: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden.check("main/records.json", RECORDS)
    with pytest.raises(AssertionError, match=r"records.json: more: missing -> there"):
        golden.check("main/records.json", RECORDS | {"more": {}})
    monkeypatch.setenv(golden.OUT, str(folder))
    golden.check("main/records.json", {"more": {}})
    assert json.loads((folder / "records.json").read_text(encoding="utf-8")) == {"more": {}}


def test_a_run_needs_its_store(
    golden: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["golden.py", "compare", "--main", "reports"])
    with pytest.raises(SystemExit) as ended:
        golden.main()
    assert ended.value.code == 2
    assert "--main and --store go together" in capsys.readouterr().err


def test_one_protocol_is_written_alone(golden: Any) -> None:
    kept = {"run": 1, "a/b/c[] mcq": 1, "a/gone/c[] mcq": 1, "a/b/c[] posterior": 1}
    now = {"run": 2, "a/b/c[] mcq": 2, "a/new/c[] mcq": 2, "a/b/c[] posterior": 2}
    assert golden.with_cases_of("mcq", kept, now) == {
        "run": 1,
        "a/b/c[] mcq": 2,
        "a/new/c[] mcq": 2,
        "a/b/c[] posterior": 1,
    }
