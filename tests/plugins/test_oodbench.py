"""`pytest -k oodbench` with nothing given: the packaged pairs, two detectors and a small model, each asked once."""

import copy
import csv
from collections.abc import Callable
from typing import Any

import pytest

from eyechart.plugins.exit_codes import ERRORS

pytestmark = pytest.mark.deep

MLLM, CLIPS = "hf[toybox-mllm]", ("open_clip[toybox-clip]", "open_clip[toybox-clip-b]")
FORMATS = ("cityscapes", "coco", "lvis", "nuscenes")
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
    world.said = begin(world, keep="oodbench")
    world.first, world.written = world.session["records"], world.files
    return world


def test_every_format_is_asked_about_under_every_protocol(asked: Any) -> None:
    found = sorted((record["case"], record["protocol"]) for record in asked.first)
    words = [(f"oodbench/sample-{kind}/{MLLM}", name) for kind in FORMATS for name in ("existence", "progression")]
    seen = [(f"oodbench/sample-{kind}/{clip}", "detection") for kind in FORMATS for clip in CLIPS]
    assert found == sorted(words + seen)


def test_every_format_has_the_sets_of_both_benchmarks(asked: Any) -> None:
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
    begin(asked, keep="oodbench")
    assert asked.session["run"]["loads"] == 0
    assert {new for new, _ in fresh(asked.session["records"])} == {0}
    plain = [{name: record[name] for name in asked.records[0]} for record in asked.first]
    assert timeless(asked.records) == timeless(plain)
    assert asked.files == asked.written


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


def test_two_workers_write_the_same(asked: Any, world: Any) -> None:
    begin(world, "-n2")
    found = [record for record in world.records if record["split"] == "sample-coco"]
    wanted = [{name: record[name] for name in found[0]} for record in asked.first if record["split"] == "sample-coco"]
    assert timeless(found) == timeless(wanted)
    assert world.files.items() <= asked.written.items()


def test_what_a_case_wrote_can_be_replayed(asked: Any, world: Any) -> None:
    wanted = next(one for one in asked.first if (one["split"], one["protocol"]) == ("sample-coco", "existence"))
    (world.folder / "said.csv").write_bytes(asked.written[wanted["predictions"]["path"]])
    begin(world, "--eye-model=replay[path=said.csv,of=existence]")
    (found,) = world.records
    assert (found["metrics"], found["outcomes"]) == (wanted["metrics"], wanted["outcomes"])
    assert found["data"] == wanted["data"]


def test_what_was_not_said_elsewhere_fails_the_case(asked: Any, world: Any) -> None:
    wanted = next(path for path in asked.written if path.startswith("predictions/existence-oodbench-sample-coco"))
    lines = asked.written[wanted].splitlines(keepends=True)
    (world.folder / "said.csv").write_bytes(b"".join(lines[:-1]))
    said = begin(world, "--eye-model=replay[path=said.csv,of=existence]", code=ERRORS)
    assert "1 of " in said
    assert "has no answer to the negative question about" in said


def test_letters_are_refused_with_a_reason(asked: Any) -> None:
    said = begin(
        asked,
        *(f"--eye-set={name}.parser=mill" for name in ("existence", "progression")),
        f"--eye-model={MLLM}",
        code=1,
    )
    assert said.count("The parser 'mill' reads letters, but the answers to this question are yes, no or a number.") >= 2


def test_distributions_are_compared_where_a_reference_is_named(asked: Any) -> None:
    begin(asked, "--eye-set=distribution.reference=oodbench/sample-lvis", f"--eye-model={CLIPS[0]}")
    one, other = sorted(asked.records, key=lambda record: record["protocol"])
    assert (one["protocol"], other["protocol"]) == ("detection", "distribution")
    values = {metric["name"]: metric["value"] for metric in other["metrics"]}
    assert {*values} == {"answered", "mmd2", "mmd2_tau", "mmd2_null", "mmd2_p"}
    assert 0 < values["mmd2_p"] <= 1


@pytest.mark.parametrize(
    ("split", "why"),
    [
        ("nuscenes", f"the categories of {COCO} differ from those of oodbench/sample-nuscenes"),
        ("coco", f"{COCO} is the split itself, not a second sample"),
    ],
)
def test_a_split_that_no_reference_suits_is_skipped(asked: Any, split: str, why: str) -> None:
    keep = f"distribution and sample-{split}/"
    assert why in begin(asked, f"--eye-set=distribution.reference={COCO}", f"--eye-model={CLIPS[0]}", "-rs", keep=keep)


def test_a_reference_that_is_misspelled_is_refused_with_the_nearest(world: Any) -> None:
    result = world.call(
        "--pyargs", "eyechart.benchmarks", "-k", COCO, "--eye-set=distribution.reference=oodbench/sample-cocoo"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = "distribution.reference: There is no split oodbench/sample-cocoo; did you mean oodbench/sample-coco"
    result.stderr.fnmatch_lines([f"ERROR: --eye-set: {said}*"])


OF_FILES = (
    "--collect-only",
    "--eye-set=existence.division=mine",
    "--eye-set=existence.threshold=0.01",
    "--eye-set=existence.hard_samples=own",
)


@pytest.mark.parametrize(("more", "said"), [((), True), (("--eye-set=existence.division=built,mine",), False)])
def test_options_that_a_division_from_a_file_leaves_idle_are_named(
    world: Any, more: tuple[str, ...], said: bool
) -> None:
    idle = "which --eye-set=existence.threshold=0.01 and --eye-set=existence.hard_samples=own cannot change"
    assert (idle in begin(world, *OF_FILES, *more)) == said


def test_who_is_no_detector_is_refused(asked: Any) -> None:
    said = begin(asked, f"--eye-set=existence.detectors={MLLM}", f"--eye-model={MLLM}", code=1)
    assert f"{MLLM} is not a detector" in said


def test_a_detector_with_a_typo_is_refused_at_once(world: Any) -> None:
    result = world.call(
        "--pyargs", "eyechart.benchmarks", "-k", COCO, "--eye-set=existence.detectors=open_clp[a]+conse[]"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--eye-set: existence.detectors: The model 'open_clp[a]' names the backend 'open_clp'" in result.stderr.str()


def test_every_answer_stands_in_the_csv(asked: Any) -> None:
    for record in asked.first:
        if record["protocol"] == "existence":
            rows = list(csv.DictReader(asked.written[record["predictions"]["path"]].decode().splitlines()))
            assert len(rows) == sum(record["outcomes"].values())
            assert sum(row["correct"] == "1" for row in rows) == record["outcomes"]["correct"]
