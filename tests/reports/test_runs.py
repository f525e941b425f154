"""Runs are read whole or refused; records of several runs are merged, and only what may be compared is put together."""

import json
import shutil
from pathlib import Path

import pytest

from eyechart.errors import ReportError
from eyechart.reports.runs import load, model_name

CLIP = "open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]"
ONE = {"conse[]": ("zero_shot", [356] * 18)}
OTHER = {"conse[]": ("zero_shot", [0] * 18)}


def accuracies(runs):
    return {case.model: case.metric("acc1", "ImGT").value for group in runs.groups for case in group.cases}


def edit(folder, change):
    """Change the run's records.json."""
    path = folder / "records.json"
    content = json.loads(path.read_text())
    change(content["records"][0])
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (CLIP, "ViT-B-32/laion2b_s34b_b79k"),
        ("open_clip[ViT-B-32,dtype=float32,pretrained=openai]", "ViT-B-32/openai[dtype=float32]"),
        ("open_clip[ViT-B-32]", "ViT-B-32"),
        ("timm[tf_efficientnet_lite0]", "timm[tf_efficientnet_lite0]"),
        ("replay[path=/home/me/said.csv,name=GPT-4o]", "GPT-4o"),
        ("replay[path=said.csv]", "replay[path=said.csv]"),
        ("no spec ]", "no spec ]"),
    ],
)
def test_a_model_has_mills_name(spec, name):
    assert model_name(spec) == name


def test_two_models_of_one_name_are_refused(make_run):
    same = {f"replay[path={path},name=GPT-4o]": ("replay", [0] * 18) for path in ("one.csv", "other.csv")}
    with pytest.raises(ReportError, match=r"two models have the name GPT-4o, .*one\.csv.* and .*other\.csv.*\. Give"):
        load([make_run("run", same)])


def test_the_later_run_wins_and_it_is_said(make_run):
    first, second = make_run("first", ONE), make_run("second", OTHER)
    there, back = load([first, second]), load([second, first])
    assert (accuracies(there), accuracies(back)) == ({"conse[]": 2 / 17}, {"conse[]": 3 / 17})
    name = "second (2026-01-01 00:00:00 UTC)"
    assert there.notes == (f"imagenet/val/conse[] (zero_shot): the record of {name} replaces that of an earlier run.",)


def test_models_of_several_runs_stand_together(make_run):
    runs = load([make_run("one", ONE), make_run("two", {CLIP: ("zero_shot", [0] * 18)})])
    (group,) = runs.groups
    assert {case.model for case in group.cases} == {"conse[]", "ViT-B-32/laion2b_s34b_b79k"}
    assert runs.notes == ()


def test_a_further_ground_truth_is_no_other_variant(make_run):
    runs = load([make_run("one", ONE, ("ImGT",)), make_run("two", ONE)])
    ((case,),) = (group.cases for group in runs.groups)
    assert case.labels == ("ImGT", "ReGT", "WeaselGT")


def test_other_words_are_another_row_with_a_letter(make_run):
    runs = load([make_run("one", ONE), make_run("two", ONE, variant={"templates": "7"})])
    (group,) = runs.groups
    assert sorted(group.protocol_names().values()) == ["zero_shot (a)", "zero_shot (b)"]
    assert any("zero_shot (b): templates 7." in note for note in group.notes())


@pytest.mark.parametrize("what", ["rules", "truth", "images", "empty"])
def test_what_may_not_be_compared_stands_apart(make_run, what):
    change = {
        "rules": lambda record: record["variant"].update(equivalences="none"),
        "truth": lambda record: record["data"]["labels"].update(ReGT="f" * 64),
        "images": lambda record: record["data"].update(fingerprint="f" * 64),
        "empty": lambda record: record["variant"].update(empty="ImGT=exclude, ReGT=wrong, WeaselGT=correct"),
    }[what]
    second = make_run("two", {CLIP: ("zero_shot", [0] * 18)})
    edit(second, change)
    groups = load([make_run("one", ONE), second]).groups
    assert [group.title for group in groups] == ["imagenet/val", "imagenet/val (2)"]


def test_a_choice_of_images_is_named(make_run):
    (group,) = load([make_run(limit=18)]).groups
    assert group.title == "imagenet/val, a random sample of 18 (seed 42)"


def test_errors_are_noted_and_left_out_of_every_score(make_run):
    runs = load([make_run(models=ONE, errors={0: "truncated"})])
    (note,) = runs.notes
    assert note == "imagenet/val/conse[] (zero_shot): 1 of 18 images ended in an error and are left out of every score."
    scored = runs.groups[0].cases[0].samples(["ImGT.correct"])
    assert scored["ImGT.correct"].notna().sum() == 16  # not the error and the image without a label


def test_a_run_is_named_by_its_folder_or_its_file(run_folder):
    assert accuracies(load([run_folder])) == accuracies(load([run_folder / "records.json"]))


def test_no_run_is_refused(tmp_path):
    with pytest.raises(ReportError, match=r"No run can be read at .*records.json .*Name the folder of a run"):
        load([tmp_path])


def test_a_run_without_records_is_refused(make_run):
    with pytest.raises(
        ReportError, match=r"has no record: no case of that session recorded a metric \(exit status 0\)"
    ):
        load([make_run(models={})])


def test_a_mistyped_ground_truth_gets_the_nearest(run_folder):
    with pytest.raises(ReportError, match=r"'ReGt'; did you mean ReGT.*There are: ImGT, ReGT, WeaselGT.*--eye-labels"):
        load([run_folder]).select_labels("ReGt")


def answers_of(folder: Path) -> Path:
    """The file of the case that ConSE answered."""
    (path,) = (folder / "predictions").glob("zero_shot-imagenet-val-conse*.csv")
    return path


def shorten(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8")[:-5], encoding="utf-8")


@pytest.mark.parametrize(("damage", "says"), [(Path.unlink, "cannot be read"), (shorten, "has changed since the run")])
def test_damaged_answers_are_refused(make_run, damage, says):
    folder = make_run(models=ONE)
    damage(answers_of(folder))
    case = load([folder]).groups[0].cases[0]
    with pytest.raises(ReportError, match=rf"conse-\w+\.csv {says}.*[Rr]un the case again"):
        case.samples(["key"])


def test_a_record_leads_to_no_file_outside_its_run(make_run, tmp_path):
    folder = make_run(models=ONE)
    shutil.copy(answers_of(folder), tmp_path / "outside.csv")
    edit(folder, lambda record: record["predictions"].update(path="../outside.csv"))
    with pytest.raises(ReportError, match=r"outside\.csv, which lies outside of it"):
        load([folder]).groups[0].cases[0].samples(["key"])


def test_answers_without_a_ground_truths_columns_are_refused(make_run):
    folder = make_run(models=ONE)
    edit(folder, lambda record: record["metrics"][0].update(labels="ReaL"))
    with pytest.raises(ReportError, match=r"\.csv has no column ReaL\.correct; its columns are key, .*ImGT\.correct"):
        load([folder]).groups[0].cases[0].samples(["ReaL.correct"])
