"""The answers to a drawn sample become the accuracy of every model under the annotators' labels."""

import csv
import re
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

import eyechart
from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.reports.annotation.answer_files import key_path, read_key
from eyechart.reports.annotation.reannotated import CHANGE, CHANGED, NEW, POPULATION, PUBLISHED, WORTH
from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables


@pytest.fixture
def table(sampled: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    """Make the table of some answers and return its rows and notes, or what is said where it is refused."""

    def table(*files: Path, code: int = 0, run: Path | None = None) -> Any:
        options = [f"--annotations={path}" for path in files]
        assert main(["table", "reannotated", str(run or sampled.run), "--format=csv", *options]) == code
        output = capsys.readouterr()
        return (list(csv.DictReader(StringIO(output.out))), output.err) if code == 0 else output.err

    return table


def truth(world: Any, model_is_right: bool = False) -> dict[str, list[int]]:
    """What the annotator chooses: the label, or for every sixth image the first model's class."""
    return {
        name: [shot.model] if model_is_right and n % 6 == 0 else [*shot.labels]
        for n, (name, shot) in enumerate(world.shots.items())
    }


def number(row: dict[str, str], column: str) -> list[float]:
    return [float(row[name]) for name in (column, f"{column} low", f"{column} high")]


def test_labels_that_confirm_the_published_ones_keep_the_accuracy(annotate: Any, sampled: Any, table: Any) -> None:
    rows, notes = table(sampled.answer(annotate("--sample=20"), truth(sampled)))
    assert [row["Model"] for row in rows] == ["timm[tf_efficientnet_lite0]", "conse[]"]
    for row, accuracy in zip(rows, (25 / 30, 20 / 30), strict=True):
        value, low, high = number(row, NEW)
        assert value == pytest.approx(100 * accuracy, abs=0.01) == float(row[PUBLISHED])
        assert low <= value <= high
        assert float(row[f"{POPULATION} low"]) < low
        assert int(row[WORTH]) > 20
    assert float(rows[1][CHANGE]) == pytest.approx(-100 / 6, abs=0.1)
    assert "from 20 of them, drawn uniformly" in notes
    assert "for the number of labels that was set before" in notes


def test_differences_are_from_the_reference(annotate: Any, sampled: Any) -> None:
    answers = sampled.answer(annotate("--sample=30"), truth(sampled))
    runs = replace(load([sampled.run]), annotations=(answers,), references=("conse[]",))
    (made,) = tables("reannotated", runs)
    assert [row[0] for row in made.rows] == ["conse[]", "timm[tf_efficientnet_lite0]"]
    assert made.rows[1][made.columns.index(CHANGE)].value == pytest.approx(5 / 30)
    with pytest.raises(ReportError, match=r"--reference is 'conse'; did you mean conse\[\]\?"):
        tables("reannotated", replace(runs, references=("conse",)))


def test_all_images_of_a_split_leave_nothing_to_estimate(annotate: Any, sampled: Any, table: Any) -> None:
    rows, _ = table(sampled.answer(annotate("--sample=30"), truth(sampled, model_is_right=True)))
    assert number(rows[0], NEW) == [100, 100, 100]
    assert [row[CHANGED] for row in rows] == ["5", "0"]
    assert number(rows[1], NEW) == pytest.approx([100 * 20 / 30] * 3, abs=0.01)
    assert number(rows[1], CHANGE) == pytest.approx([-100 / 3] * 3, abs=0.1)


def test_a_stratified_draw_has_more_of_what_models_dispute(annotate: Any, sampled: Any, table: Any) -> None:
    sheet = annotate("--sample=12", "--draw=stratified")
    assert Counter(item.category for item in read_key(key_path(sheet)).items) == {"0": 6, "1": 3, "2": 3}
    rows, notes = table(sampled.answer(sheet, truth(sampled)))
    assert float(rows[0][NEW]) == pytest.approx(100 * 25 / 30, abs=0.01)
    assert "drawn from strata of agreement with the label" in notes


def test_parts_of_a_sample_are_one_sample(annotate: Any, sampled: Any, table: Any) -> None:
    sheets = [annotate("--sample=20", f"--part={part}/2", name=f"part-{part}") for part in (1, 2)]
    keys = [{item.key for item in read_key(key_path(sheet)).items} for sheet in sheets]
    assert (len(keys[0]), len(keys[1]), keys[0] & keys[1]) == (10, 10, set())
    files = [sampled.answer(sheet, truth(sampled), f"{sheet.stem}.json") for sheet in sheets]
    whole = sampled.answer(annotate("--sample=20"), truth(sampled), "whole.json")
    assert table(*files)[0] == table(whole)[0]
    assert "part-1.json: 10 of the sample's 20 pictures are answered." in table(files[0], code=2)


def test_samples_of_two_seeds_are_two_samples(annotate: Any, sampled: Any) -> None:
    sheets = [annotate("--sample=12", f"--seed={seed}", name=f"seed-{seed}") for seed in (1, 2)]
    files = [sampled.answer(sheet, truth(sampled), f"{sheet.stem}.json") for sheet in sheets]
    made = tables("reannotated", replace(load([sampled.run]), annotations=tuple(files)))
    assert [table.title.partition(":")[0] for table in made] == ["imagenet/tiny", "imagenet/tiny"]
    assert len({table.title for table in made}) == 2


def answer_first(world: Any, sheet: Path, n: int) -> Path:
    """Answers to the first n pictures of a sheet."""
    first = [world.keys[item.key] for item in read_key(key_path(sheet)).items][:n]
    chosen = truth(world)
    path: Path = world.answer(sheet, {name: chosen[name] for name in first})
    return path


def test_looking_before_all_are_answered_is_refused(annotate: Any, sampled: Any, table: Any) -> None:
    message = table(answer_first(sampled, annotate("--sample=20"), 19), code=2)
    assert "19 of the sample's 20 pictures are answered" in message
    assert "--sequential" in message


def test_a_sequential_sample_may_be_looked_at(annotate: Any, sampled: Any, table: Any) -> None:
    sheet = annotate("--sample=25", "--sequential")
    widths = []
    for n in (5, 15, 25):
        rows, notes = table(answer_first(sampled, sheet, n))
        value, low, high = number(rows[0], NEW)
        assert low <= 100 * 25 / 30 <= high
        assert low <= value <= high
        assert f"{n} of 25 drawn pictures are used" in notes
        assert "The price: about twice as many labels" in notes
        assert not {POPULATION, WORTH} & {*rows[0]}
        _, low_change, high_change = number(rows[1], CHANGE)
        assert low_change <= -100 / 6 + 0.1
        assert -100 / 6 - 0.1 <= high_change <= 100 / 3
        widths.append(high - low)
    assert widths[0] > widths[1] > widths[2]


def test_answers_after_one_that_is_missing_do_not_count(annotate: Any, sampled: Any, table: Any) -> None:
    sheet = annotate("--sample=25", "--sequential")
    skipped = sampled.keys[read_key(key_path(sheet)).items[8].key]
    _, notes = table(sampled.answer(sheet, truth(sampled) | {skipped: None}))
    assert "8 of 25 drawn pictures are used" in notes


def test_a_model_that_the_sheet_did_not_offer_is_left_out(
    annotate: Any, sampled: Any, table: Any, tmp_path: Path
) -> None:
    sheet = annotate("--sample=20")
    answers = sampled.answer(sheet, truth(sampled))
    key = msgspec.json.decode(key_path(sheet).read_bytes())
    for item in key["items"]:
        item["candidates"] = [one for one in item["candidates"] if one["by"] != ["imagenet/tiny/conse[] (supervised)"]]
    key_path(sheet).write_bytes(msgspec.json.encode(key))
    answers = sampled.answer(sheet, truth(sampled))
    rows, notes = table(answers)
    assert [row["Model"] for row in rows] == ["timm[tf_efficientnet_lite0]"]
    assert re.search(r"conse\[\] \(supervised\) is left out: its classes of \d+ pictures were not on the sheet", notes)


def test_python_and_the_page_have_the_table(annotate: Any, sampled: Any, tmp_path: Path) -> None:
    answers = sampled.answer(annotate("--sample=20"), truth(sampled))
    (frame,) = eyechart.load_run(sampled.run).table("reannotated", annotations=[answers])
    assert frame[NEW].round(1).tolist() == [83.3, 66.7]
    page = tmp_path / "page"
    eyechart.load_run(sampled.run).page(page, figures=False, annotations=[answers])
    assert "accuracy under new labels instead of ReGT" in "".join(
        path.read_text("utf-8") for path in page.rglob("*.js") if "reannotated" in path.name
    )


def test_answers_to_disputed_images_are_no_sample(sampled: Any, table: Any) -> None:
    answers = sampled.answer(sampled.sheet(category="single_label_other"), truth(sampled))
    assert "needs the answers to the sheet of a drawn sample" in table(answers, code=2)


def test_a_run_about_other_images_is_refused(annotate: Any, sampled: Any, make_shot_world: Any) -> None:
    answers = sampled.answer(annotate("--sample=20"), truth(sampled))
    other = make_shot_world(name="other")
    with pytest.raises(ReportError, match="these runs have no case about the same images and labels"):
        tables("reannotated", replace(load([other.run]), annotations=(answers,)))
