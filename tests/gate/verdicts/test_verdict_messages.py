"""What the gate says of cases, sentence by sentence."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.gate.baselines.baseline_files import WrittenBaseline
from eyechart.gate.verdicts.page_link import PageLink
from eyechart.gate.verdicts.verdict_messages import (
    describe_incomplete_baseline,
    describe_losses,
    describe_missing_metrics,
    describe_no_baseline,
    describe_refusal,
    describe_written_baseline,
)

KEPT, CASE = Path("kept/m.json"), "imagenet/val/m[] (zero_shot)"
UPDATE = "with --eye-update-baseline."


@pytest.fixture(scope="module")
def case(make: Any) -> Any:
    return make([])


def test_a_number_that_the_baseline_lacks_is_named_and_several_are_counted(case: Any) -> None:
    rest = f"  They were not compared. Write the baseline again {UPDATE}"
    for lacking, count in (
        (["acc1 (ImGT)"], "one number that the case has now: acc1 (ImGT)"),
        (["f1 (A, B)", "ig (A, B)"], "2 numbers that the case has now: f1 (A, B), ig (A, B)"),
    ):
        assert describe_incomplete_baseline(case, KEPT, lacking) == f"{CASE}: {KEPT} does not have {count}.\n{rest}"


def test_a_case_that_is_worse_says_in_how_many_numbers_and_where_to_look(case: Any) -> None:
    sight = PageLink(Path("/here"), Path("/here/runs/1"), Path("/here/kept"))
    for count, numbers in ((1, "one number"), (2, "2 numbers")):
        assert describe_losses(case, count, KEPT, sight).splitlines() == [
            f"{CASE} is worse than the baseline in {numbers}.",
            f"  baseline: {KEPT}",
            "  run: /here/runs/1",
            "  page of both: eyechart page runs/1 --baseline kept --out page",
            f"  If it is meant to be so, accept it {UPDATE}",
        ]


def test_what_cannot_be_compared_is_said_with_the_remedy(case: Any) -> None:
    assert describe_refusal(case, KEPT, ["seed: 1, 2", "limit: 3, 4"]) == (
        f"{CASE} cannot be compared with {KEPT}:\n  seed: 1, 2\n  limit: 3, 4\n"
        f"  Run on what the baseline was made of, or write it again {UPDATE}"
    )
    assert describe_missing_metrics(case, KEPT, ["f1 (A, B)", "ig (A, B)"]) == (
        f"{CASE} has no value now for what {KEPT} has: f1 (A, B), ig (A, B). If it is meant to be so, "
        f"accept it {UPDATE}"
    )
    assert describe_no_baseline(case) == f"{CASE} has no baseline. Write it {UPDATE}"


def test_a_file_that_was_written_says_its_size_and_what_it_replaced(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(b"x" * 1234)
    assert describe_written_baseline(WrittenBaseline(path)) == f"baseline written: {path} (1,234 bytes). Commit it."
    assert f"(1,234 bytes); what it held before is lost: {path} is torn. Commit" in describe_written_baseline(
        WrittenBaseline(path, f"{path} is torn")
    )
