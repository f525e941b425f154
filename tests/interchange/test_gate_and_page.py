"""A pair of runs of another tool goes through the gate and onto the page, which a browser opens."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.gate.baselines.baseline_files import read_baselines
from eyechart.gate.session.gate_status import ABSENT, INCONCLUSIVE, REGRESSION

FILES = Path(__file__).parent / "files" / "inspect"


@pytest.fixture
def pair(import_files: Any) -> tuple[Path, Path]:
    """The runs before and after, under one name of the model."""
    runs = [import_files("inspect", FILES / f"{name}.eval", "--model=shapes") for name in ("before", "after")]
    return runs[0], runs[1]


def test_a_baseline_of_the_first_run_fails_the_second(
    pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = pair
    kept = tmp_path / "baselines"
    assert main(["baseline", before, "--out", kept]) == 0
    assert capsys.readouterr().out.startswith(f"baseline written: {kept / 'shapes'}")
    assert [*read_baselines(kept)] == [("shapes/shapes/shapes", "inspect_ai")]
    assert main(["compare", kept, after, "--check"]) == REGRESSION
    assert "regression" in capsys.readouterr().out
    assert main(["compare", kept, after]) == 0
    assert main(["compare", kept, before, "--check"]) == 0


def test_the_status_of_a_comparison_is_that_of_the_gate(
    pair: tuple[Path, Path], import_files: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = pair
    assert main(["compare", after, before, "--check"]) == 0  # an improvement
    assert main(["compare", before, before, "--check", "--margin=0.001"]) == INCONCLUSIVE
    assert "is inconclusive.\n" in capsys.readouterr().err
    both = import_files("inspect", FILES / "before.eval", FILES / "epochs.json", "--model=shapes")
    assert main(["compare", both, before, "--check"]) == ABSENT


def test_the_status_tells_what_cannot_be_compared(
    pair: tuple[Path, Path], import_files: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other samples, no case in common, and a metric that is gone."""
    before, _ = pair
    short = import_files("inspect", FILES / "epochs.json", "--model=shapes", "--benchmark=shapes/shapes")
    assert main(["compare", before, short, "--check"]) == REGRESSION
    assert "cannot be compared" in capsys.readouterr().err
    assert main(["compare", before, short]) == 2
    renamed = import_files("inspect", FILES / "before.eval", "--model=other")
    assert main(["compare", before, renamed, "--check"]) == ABSENT
    said = capsys.readouterr().err
    assert "have no case in common" in said
    assert (
        "The models have different names: shapes and other. Compare two models with --models 'shapes' 'other'" in said
    )
    assert "prompts" not in said
    log = json.loads((FILES / "epochs.json").read_bytes())
    log["results"]["scores"].pop()
    (tmp_path / "fewer.json").write_text(json.dumps(log), encoding="utf-8")
    runs = [import_files("inspect", path, "--model=m") for path in (FILES / "epochs.json", tmp_path / "fewer.json")]
    assert main(["compare", *runs, "--check"]) == REGRESSION
    assert main(["compare", *reversed(runs), "--check"]) == 0


def test_a_run_of_other_samples_is_refused(pair: tuple[Path, Path], import_files: Any) -> None:
    from eyechart.reports.comparison.run_comparison import comparison_tables, match_runs

    short = import_files("inspect", FILES / "epochs.json", "--model=shapes", "--benchmark=shapes/shapes")
    with pytest.raises(ReportError, match="cannot be compared"):
        comparison_tables(match_runs([pair[0], short]))


@pytest.mark.deep
def test_the_page_shows_what_changed_sample_by_sample(pair: tuple[Path, Path], browser: Any, tmp_path: Path) -> None:
    before, after = pair
    folder = tmp_path / "page"
    assert main(["page", after, "--baseline", before, "--out", folder]) == 0
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{(folder / 'index.html').as_uri()}#/changes")
    row = page.get_by_role("row").filter(has_text="choice")
    expect(row).to_contain_text("regression")
    expect(row).to_contain_text("82.50")
    row.get_by_role("link", name="28 lost").click()
    page.locator(".cards .key").first.wait_for()
    assert page.locator(".found").inner_text().startswith("28 ")
    page.get_by_role("link", name="shape-").first.click()
    expect(page.locator(".before")).to_contain_text("right")
    assert complaints == []
