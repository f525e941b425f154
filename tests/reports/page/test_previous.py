"""What changed since another run: of several runs, the earlier; or the one that is named."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyechart.cli import main
from eyechart.gate.baselines.baseline_files import write_baselines
from eyechart.gate.verdicts.decide import Rule
from eyechart.reports.page.write_page import PageOptions
from eyechart.results.evidence import Evidence
from eyechart.results.records import decode, read_run

pytestmark = pytest.mark.deep


def index(page: Path) -> dict[str, Any]:
    """What a page's index says."""
    call = (page.parent / "data/index.js").read_text(encoding="ascii").strip()
    name, value = json.loads(f"[{call.removeprefix('eyechart(').removesuffix(')')}]")
    assert name == "index"
    content: dict[str, Any] = json.loads(value)
    return content


def changes(page: Path) -> dict[str, Any]:
    """What changed, case by case: lost and gained."""
    cases = index(page)["cases"]
    moved = {case["model"]: case.get("change", {}).get("samples") for case in cases}
    return {model: samples and (samples["lost"], samples["gained"]) for model, samples in moved.items()}


def test_of_two_runs_the_later_is_compared_with_the_earlier(studio: Any) -> None:
    page = studio.page(studio.run("one", other=[0]), studio.run("two", other=[1, 2]))
    assert changes(page) == {"conse[]": (2, 1), "timm[tf_efficientnet_lite0]": (0, 0), "hf[mllm]": (0, 0)}


def test_a_run_is_not_compared_with_itself_and_alone_with_nothing(studio: Any) -> None:
    page = studio.page()
    assert {*changes(page).values()} == {None}


def test_a_named_baseline_is_compared_with_and_is_no_part_of_the_trend(studio: Any) -> None:
    page = studio.page(studio.run("two", other=[1, 2]), baseline=studio.run("one", other=[0]))
    assert changes(page)["conse[]"] == (2, 1)
    assert [run["folder"] for run in index(page)["runs"]] == ["two"]


def baseline(run: Path, folder: Path, *changed: dict[str, Any]) -> Path:
    """The baselines of a run's cases, as the gate writes them, with some fields changed, case by case."""
    records = read_run(run).records
    kept = [decode((run / record.evidence.path).read_bytes(), Evidence) for record in records if record.evidence]
    changes = changed or [{}] * len(kept)
    written = [msgspec.structs.replace(one, **fields) for one, fields in zip(kept, changes, strict=True)]
    write_baselines(folder, written)
    return folder


def test_a_file_of_baselines_is_compared_with_outcome_by_outcome(studio: Any, opened: Any, tmp_path: Path) -> None:
    kept = baseline(studio.run("one", other=[0]), tmp_path / "kept")
    page = studio.page(studio.run("two", other=[1, 2]), baseline=kept)
    assert changes(page) == {"conse[]": (2, 1), "timm[tf_efficientnet_lite0]": (0, 0), "hf[mllm]": (0, 0)}
    driver = opened(page, None)
    assert driver.samples("?changed=lost") == [studio.keys[position] for position in (1, 2)]
    assert driver.page.get_by_label("Since baseline").locator("option").all_inner_texts()[-1] == "outcome changed"
    driver.page.get_by_role("link", name=studio.keys[1]).click()
    assert driver.page.locator(".before").inner_text() == "Before: ✓ right"


def test_losses_of_accepted_baselines_that_add_up_are_a_loss_on_the_page(studio: Any, tmp_path: Path) -> None:
    kept = baseline(studio.run("one", other=[0]), tmp_path / "kept")
    (file,) = kept.rglob("conse*.json")
    lost = {"drift": {"updates": 3, "lost": 20, "gained": 0}}
    file.write_bytes(json.dumps(json.loads(file.read_bytes()) | lost).encode())
    page = studio.page(studio.run("two", other=[0, 1]), baseline=kept)
    verdict = index(page)["verdict"]
    assert verdict["text"].startswith("Regression of conse[] on imagenet over accepted versions: 21 images lost and 0 ")
    assert verdict["kind"] == "loss"


OTHERS: dict[str, dict[str, Any]] = {
    "fingerprint: 00000000 before, ": {"fingerprint": "0" * 64},
    "ground truth ImGT: 0 before, ": {"label_hashes": {"ImGT": "0"}},
    "seed: 7 before, 42 after": {"seed": 7},
}


def test_a_baseline_of_something_else_is_left_aside_and_it_is_said_why(
    studio: Any, opened: Any, tmp_path: Path
) -> None:
    kept = baseline(studio.run("one"), tmp_path / "kept", *OTHERS.values())
    page = studio.page(studio.run("two"), baseline=kept)
    assert {*changes(page).values()} == {None}
    driver = opened(page, "#/changes")
    reasons = driver.page.locator("details:has-text('Not compared (3)') li").all_inner_texts()
    for why in OTHERS:
        assert len([line for line in reasons if " is not compared: " in line and why in line]) == 1, (why, reasons)
    driver.go("#/cases")
    assert {*driver.page.locator("tbody .decision").all_inner_texts()} == {"≠ not comparable"}


def test_what_the_baseline_lacks_is_said(studio: Any, make_run: Any, opened: Any) -> None:
    page = studio.page(studio.run("two"), baseline=make_run("other"))
    assert {*changes(page).values()} == {None}
    driver = opened(page, "#/changes")
    reason, missing = driver.page.locator("details:has-text('Not compared (2)') li").all_inner_texts()
    assert missing.startswith("Only other ")
    assert reason.partition(" has no baseline for ")[2].count("imagenet/sample/") == 3
    driver.go("#/cases")
    assert {*driver.page.locator("tbody .decision").all_inner_texts()} == {"– no baseline"}


def test_the_page_shows_what_was_said_before(studio: Any, opened: Any) -> None:
    before = studio.run("one", words=[0, 2, 3], texts={3: "Nonsense <b>then</b>."})
    driver = opened(studio.page(before, studio.run("two")), "#/changes")
    driver.page.get_by_role("link", name="1 gained").last.click()
    driver.page.get_by_role("link", name=studio.keys[3]).click()
    was = driver.page.locator(".before")
    was.wait_for()
    assert was.inner_text().split("\n")[0].endswith("✗ wrong")
    assert was.locator("pre").inner_text() == "Nonsense <b>then</b>."


def test_a_trend_follows_a_case_over_its_runs(studio: Any, opened: Any) -> None:
    runs = [studio.run(name, other=[*range(wrong)]) for name, wrong in (("one", 0), ("two", 2), ("three", 1))]
    driver = opened(studio.page(*runs), "#/trends")
    driver.page.get_by_label("Cases").fill("conse")
    driver.page.get_by_text("1 case").wait_for()
    shares = [text.split()[0] for text in driver.page.locator("tbody td:nth-child(4)").all_inner_texts()]
    assert shares == ["100.00", "75.00", "87.50"]
    assert [*driver.page.locator("tbody td:nth-child(5)").all_inner_texts()] == ["—", "-25.00", "+12.50"]
    assert len(driver.page.locator("polyline").get_attribute("points").split()) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--baseline=none"], "There is no run or baseline at none"),
        (["--data=none"], "The data root none is no folder"),
        (["--side=-1"], "Invalid value for '--side': -1 is not in the range"),
    ],
)
def test_a_wrong_option_is_one_sentence(
    studio: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], said: str
) -> None:
    assert main(["page", str(studio.run()), f"--out={tmp_path / 'out'}", *options]) == 2
    assert said in capsys.readouterr().err


def test_the_command_says_where_the_page_is(studio: Any, copied: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = copied(studio.run())
    assert main(["page", str(run), "--side=0"]) == 0
    printed = capsys.readouterr()
    assert printed.out.strip() == str(run / "reports/page/index.html")
    assert printed.err.splitlines()[0] == "imagenet/sample, a random sample of 12 (seed 42): indexing images"
    assert not (run / "reports/page/images").exists()


def test_a_folder_with_something_else_is_left_alone(
    studio: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "index.html").write_text("my thesis", encoding="utf-8")
    assert main(["page", str(studio.run()), f"--out={folder}"]) == 2
    assert "files that are not a page of eyechart" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["index.html"]


def test_a_page_that_is_made_again_keeps_its_images_and_nothing_else(studio: Any, copied: Any) -> None:
    page = copied(studio.page())
    (page.parent / "data/old.js").write_text("old", encoding="ascii")
    images = {path: path.stat().st_mtime_ns for path in (page.parent / "images").rglob("*.js")}
    before = {path: path.read_bytes() for path in (page.parent / "data").rglob("*.js") if path.name != "old.js"}
    studio.write(PageOptions((studio.run(),), store=studio.make_run.root / "store", figures=False), page.parent)
    assert {path: path.stat().st_mtime_ns for path in (page.parent / "images").rglob("*.js")} == images
    assert {path: path.read_bytes() for path in (page.parent / "data").rglob("*.js")} == before
    assert sum(path.read_text("ascii").count("data:image/jpeg") for path in images) == 12


def test_what_is_not_compared_is_in_the_headline(studio: Any, tmp_path: Path) -> None:
    run = studio.run("one", other=[0])
    cases = [record.case for record in read_run(run).records]
    gone = cases[1].replace("/sample/", "/gone/")
    kept = baseline(run, tmp_path / "kept", {"fingerprint": "0" * 64, "limit": None}, {"case": gone}, {})
    content = index(studio.page(run, baseline=kept))
    said = content["verdict"]["text"]
    assert said.endswith(f" 2 cases were not compared. 1 case of {kept.parent.name}/kept is not here."), said
    assert content["verdict"]["kind"] == "open"
    listed = " ".join(content["since"]["notCompared"])
    assert f"{cases[0]} (" in listed
    assert f"Only {kept.parent.name}/kept has {gone} (" in listed


def test_a_tolerated_loss_is_significant(studio: Any) -> None:
    folders = studio.run("one", other=[]), studio.run("two", other=[*range(3)])
    said = index(studio.page(folders[1], baseline=folders[0], rule=Rule(0.499, 0.49)))["verdict"]["text"]
    assert "No number is significantly worse" not in said
    assert said.startswith("No significant loss fails a case: ")
    assert "significantly worse but tolerated" in said
