"""What a session leaves for a CI: main numbers in junit's file, and a page of Markdown that says how it ended."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.gate.verdicts.decide import REGRESSION, Verdict
from eyechart.plugins.exit_codes import MEANINGS
from eyechart.plugins.result_files import FAILURES, LENGTH, NAME, _fence_block, _inline_code, _make_loss_table
from eyechart.results.evidence import MetricEvidence
from tests.gate.found_numbers import found
from tests.plugins.replayed_answers import properties, replayed

pytestmark = pytest.mark.deep

FORGED = "</code>`" + "`" * 5 + "<script>alert(1)</script>"


@pytest.fixture
def told(world: Any) -> Callable[..., str]:
    """Run to an expected end; the page of Markdown."""

    def told(*arguments: str, status: int = 0) -> str:
        result = world.run("--eye-summary=told.md", *arguments)
        assert result.ret == status, result.stdout.str() + result.stderr.str()
        return (world.folder / "told.md").read_text(encoding="utf-8")

    return told


def test_sessions_are_told_what_is_worse_before_other_failures(world: Any, told: Callable[..., str]) -> None:
    replayed(world)
    page = told("--eye-baseline=kept", "--eye-update-baseline")
    assert page.startswith("# eyechart: 2 passed\n\nExit status 0: every case passed.\n")
    assert "baseline written" in page
    lines = (world.folder / "a.csv").read_text().splitlines()
    (world.folder / "0.csv").write_text("\n".join([lines[0], *(f"{line.partition(',')[0]},??" for line in lines[1:])]))
    replayed(world, right=False)
    page = told("--eye-baseline=kept", "--junitxml=junit.xml", status=10)
    assert all("eyechart.acc1[ImGT]" in each for each in properties(world.folder / "junit.xml").values())
    first, verdict, status = page.split("\n\n")[:3]
    assert re.fullmatch("# eyechart: (1 passed, 1|2) failed", first)
    assert verdict.startswith("The gate: regression in ")
    assert status.startswith("Exit status 10: a regression, and nothing else")
    assert "## ` test_replay[imagenet/tiny/replay[path=a.csv]] `" in page
    assert "acc1 (ImGT) is worse than the baseline" in page
    assert re.search(
        r"^\| ` imagenet/tiny/replay\[path=a.csv\] \(replay\) ` \| .+ \| 100.00 % \| 0.00 % \|", page, re.MULTILINE
    )
    assert re.search(r"gate: \d+ numbers compared, \d+ significantly worse", page)
    world.models = ("replay[path=0.csv]", *world.models)
    page = told("--eye-baseline=kept", status=1)
    told_of = re.findall(r"^## ` \S+path=(.)\.csv", page, re.MULTILINE)
    assert {*told_of} == {"a", "0"}
    assert told_of == sorted(told_of, reverse=True)


def test_missing_data_is_told_under_strict(world: Any, told: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    world.data = tmp_path / "data"
    page = told("-k", "imagenet/val/", "--eye-strict", status=11)
    assert page.startswith("# eyechart: 2 failed\n\nExit status 11: missing data, or a missing case of the baseline")
    assert "imagenet/val" in page


def test_no_case_is_told(world: Any, told: Callable[..., str]) -> None:
    page = told("-k", "nothing_is_called_so", status=5)
    assert page == "# eyechart: no case ran\n\nExit status 5: no case was selected.\n\n"


def test_a_folder_that_is_not_there_is_refused(world: Any) -> None:
    result = world.run("--eye-summary=no/such/told.md")
    assert result.ret == 4
    assert "--eye-summary: there is no folder" in result.stderr.str()


def test_a_file_that_cannot_be_written_is_said(world: Any) -> None:
    (world.folder / "told.md").mkdir()
    result = world.run("--eye-summary=told.md")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["ERROR: --eye-summary: *told.md cannot be written: Is a directory."])


def test_every_status_that_can_be_is_explained() -> None:
    assert {*map(int, pytest.ExitCode), 10, 11, 12, 13} == {*MEANINGS}


@pytest.mark.parametrize("said", [FORGED, "```\n# forged\n```", "plain"])
def test_hostile_text_stays_in_its_block(said: str) -> None:
    from markdown_it import MarkdownIt

    (token,) = MarkdownIt().parse(_fence_block(said))
    assert (token.type, token.content) == ("fence", f"{said}\n")
    (inline,) = [each for each in MarkdownIt().parse(f"## {_inline_code(said)}") if each.type == "inline"]
    assert [child.type for child in inline.children or ()] == ["code_inline"]


@pytest.mark.parametrize("said", ["replay[path=a|b.csv]", FORGED, "plain"])
def test_a_hostile_name_stays_in_its_cell(said: str) -> None:
    from markdown_it import MarkdownIt

    proof = MetricEvidence(name="acc1", labels=said, subset="all", value=0.0, n=2, direction=1)
    sizes = {"before": 1.0, "after": 0.0, "delta": -1.0, "n": 2, "n_clusters": 2, "lost": (0, 1)}
    found = MetricComparison(said, "replay", said, proof, **sizes, ci=None, p=0.001, method="exact McNemar")
    text = "\n".join(_make_loss_table([Verdict(found, 0.001, REGRESSION)]))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    cells = [each.content for each in tokens if each.type == "inline"][9:]
    assert [_inline_code(f"{said} (replay)"), _inline_code(f"acc1 ({said})")] == cells[:2]
    assert cells[2:] == ["100.00 %", "0.00 %", "0.001", "2", "0", "regression", ""]


def test_a_long_text_is_cut() -> None:
    assert len(_fence_block("x" * 1_000_000)) < LENGTH + 100
    assert len(_inline_code("x" * 1_000_000)) < NAME + 10


def test_the_longest_page_is_one_that_github_takes() -> None:
    texts, names = (
        FAILURES + 1,
        3 * FAILURES,
    )  # every failure has a heading and a line of the table, in the widest letters
    assert len((_fence_block("😀" * 10**6) * texts + _inline_code("😀" * 10**6) * names).encode()) < 2**20


def test_the_row_of_a_case_is_its_primary_metric_if_that_is_worse() -> None:
    primary, other = found(0.004, family="primary metrics"), found(0.002, name="f1", family="other metrics")
    *_, row, end = _make_loss_table([Verdict(primary, 0.009, REGRESSION), Verdict(other, 0.002, REGRESSION)])
    assert "acc1 (ImGT)" in row
    assert row.endswith("| regression | 1 |")
    assert not end
