"""`pytest -k oodbench` with nothing given: packaged pairs, two detectors and a small model, each asked once."""

import copy
import csv
from collections.abc import Callable
from typing import Any

import pytest

from eyechart.plugins.exit_codes import ERRORS

pytestmark = pytest.mark.deep

MLLM, CLIPS = "hf[toybox-mllm]", ("open_clip[toybox-clip]", "open_clip[toybox-clip-b]")
FORMATS = ("coco", "nuscenes")
COCO = "oodbench/sample-coco"


def begin(world: Any, *arguments: str, keep: str = f"{COCO}/", code: int = 0) -> str:
    """Run the cases of a split to an expected end."""
    said: str = world.installed(keep, "--eye-limit=16", *arguments, code=code)
    return said


def timeless(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records without what a clock says of their sets, or how much was asked just now."""
    kept = copy.deepcopy(records)
    for record in kept:
        for took in (record["usage"] or {}).get("sets", {}).values():
            del took["seconds"], took["fresh"]
    return kept


def fresh(records: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """How much was asked in this run, and how much there is, case by case."""
    sets = [record["usage"]["sets"].values() for record in records if record["usage"]]
    return [tuple(sum(took[what] for took in some) for what in ("fresh", "answers")) for some in sets]


@pytest.fixture(scope="module")
def asked(new_world: Callable[[], Any]) -> Any:
    """A world after a run with nothing given, its records and its files."""
    world = new_world()
    world.said = begin(world, keep=" or ".join(f"oodbench/sample-{kind}/" for kind in FORMATS))
    world.first, world.written = world.session["records"], world.files
    return world


def test_both_formats_are_asked_about_under_every_protocol(asked: Any) -> None:
    found = sorted((record["case"], record["protocol"]) for record in asked.first)
    words = [(f"oodbench/sample-{kind}/{MLLM}", name) for kind in FORMATS for name in ("existence", "progression")]
    seen = [(f"oodbench/sample-{kind}/{clip}", "detection") for kind in FORMATS for clip in CLIPS]
    assert found == sorted(words + seen)


def test_both_formats_have_the_sets_of_both_benchmarks(asked: Any) -> None:
    for record in asked.first:
        if record["protocol"] == "existence":
            sets = {metric["subset"] for metric in record["metrics"] if metric["name"] != "answered"}
            assert sets == {"ID", "OOD-S", "OOD-H"}
            assert record["variant"]["detectors"] == "+".join(CLIPS)
            outcomes = record["outcomes"]
            assert sum(outcomes.values()) == record["usage"]["requests"] - record["outcomes"]["error"]


def test_progression_asks_what_existence_did_not(asked: Any) -> None:
    for (new, every), record in zip(fresh(asked.first), [one for one in asked.first if one["usage"]], strict=True):
        assert 0 < new <= every
        assert new == every or record["protocol"] == "progression"


def test_a_second_run_asks_nothing_and_writes_the_same(asked: Any) -> None:
    begin(asked)
    assert asked.session["run"]["loads"] == 0
    assert {new for new, _ in fresh(asked.session["records"])} == {0}
    first = [record for record in asked.first if record["split"] == "sample-coco"]
    assert timeless(asked.records) == timeless([{name: record[name] for name in asked.records[0]} for record in first])
    assert asked.files.items() <= asked.written.items()


def test_another_threshold_asks_about_new_pairs_alone(world: Any) -> None:
    begin(
        world,
        "--eye-set=existence.threshold=0.05,0.9",
        "--eye-set=existence.max_pairs=8",
        keep=f"existence and {COCO}/hf",
    )
    records = world.session["records"]
    assert [record["variant"]["threshold"] for record in records] == ["0.05", "0.9"]
    (first, all_of_it), (new, every) = fresh(records)
    assert first == all_of_it
    assert 0 < new < every


def test_what_a_case_wrote_can_be_replayed_and_what_was_not_said_fails_the_case(asked: Any, world: Any) -> None:
    wanted = next(one for one in asked.first if (one["split"], one["protocol"]) == ("sample-coco", "existence"))
    lines = asked.written[wanted["predictions"]["path"]].splitlines(keepends=True)
    (world.folder / "said.csv").write_bytes(b"".join(lines))
    (world.folder / "part.csv").write_bytes(b"".join(lines[:-1]))
    models = [f"--eye-model=replay[path={name}.csv,of=existence]" for name in ("said", "part")]
    said = begin(world, *models, code=ERRORS)
    (found,) = (record for record in world.records if "said.csv" in record["case"])
    assert (found["metrics"], found["outcomes"]) == (wanted["metrics"], wanted["outcomes"])
    assert found["data"] == wanted["data"]
    assert "1 of " in said
    assert "has no answer to the negative question about" in said


def test_who_is_no_detector_is_refused_with_a_reason(asked: Any) -> None:
    arguments = (f"--eye-set=existence.detectors={MLLM}", f"--eye-model={MLLM}", "-k", f"{COCO}/")
    result = asked.call("--pyargs", "eyechart.benchmarks", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"existence.detectors: {MLLM} is not a detector. Expected an encoder" in result.stderr.str()


def test_distributions_are_compared_where_a_reference_suits_and_the_others_are_skipped(asked: Any) -> None:
    options = (f"--eye-set=distribution.reference={COCO}", f"--eye-model={CLIPS[0]}", "-rs")
    said = begin(asked, *options, keep="oodbench and distribution and not cityscapes")
    assert f"the categories of {COCO} differ from those of oodbench/sample-nuscenes" in said
    assert f"{COCO} is the split itself, not a second sample" in said
    (record,) = asked.records
    assert (record["split"], record["protocol"]) == ("sample-lvis", "distribution")
    values = {metric["name"]: metric["value"] for metric in record["metrics"]}
    assert {*values} == {"answered", "mmd2", "mmd2_tau", "mmd2_null", "mmd2_p"}
    assert 0 < values["mmd2_p"] <= 1


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            "distribution.reference=oodbench/sample-cocoo",
            "distribution.reference: There is no split oodbench/sample-cocoo; did you mean oodbench/sample-coco",
        ),
        (
            "existence.detectors=open_clp[a]+conse[]",
            "existence.detectors: The model 'open_clp[a]' names the backend 'open_clp'",
        ),
    ],
)
def test_what_is_misspelled_is_refused_at_once(pytester: pytest.Pytester, given: str, why: str) -> None:
    result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", f"--eye-set={given}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --eye-set: {why.replace('[', '[[]')}*"])


def test_every_answer_stands_in_the_csv(asked: Any) -> None:
    for record in asked.first:
        if record["protocol"] == "existence":
            rows = list(csv.DictReader(asked.written[record["predictions"]["path"]].decode().splitlines()))
            assert len(rows) == sum(record["outcomes"].values())
            assert sum(row["correct"] == "1" for row in rows) == record["outcomes"]["correct"]
