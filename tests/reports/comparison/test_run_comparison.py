"""`compare`: the table of what differs between two runs or two models, from runs that the real recording wrote."""

import csv
import json
from io import StringIO
from pathlib import Path

import msgspec
import numpy as np
import pytest

import eyechart
from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.gate.baselines.baseline_files import write_baselines
from eyechart.gate.baselines.stored_cases import read_cases
from eyechart.gate.verdicts.decide import DEFAULT_RULE, Rule
from eyechart.gate.verdicts.value_texts import format_points
from eyechart.reports.comparison.run_comparison import comparison_tables, match_models, match_runs
from eyechart.results.records import read_run
from tests.reports.comparison.tables_of_runs import CLIP, CONSE, SIZE, TIMM, TRUTHS, notes, plain, rows

RELABELLED = ((0, (0, 2), None), *TRUTHS[1:])


@pytest.mark.deep
def test_exchanged_runs_turn_changes_around_and_keep_p(pair):
    one, other = pair(0)
    forth, back = rows(one, other), rows(other, one)
    assert {*forth} == {*back}
    for key, row in forth.items():
        same, turned = ("p", "Adjusted p", "n", "Test"), ("Before, %", "After, %", "Lost", "Gained")
        assert [row[name] for name in same] == pytest.approx([back[key][name] for name in same], nan_ok=True)
        mirrored = [back[key][name] for name in ("After, %", "Before, %", "Gained", "Lost")]
        assert [row[name] for name in turned] == pytest.approx(mirrored, nan_ok=True)
        assert row["Δ"] == pytest.approx(-back[key]["Δ"], nan_ok=True)


@pytest.mark.parametrize("seed", range(2))
def test_a_run_has_no_difference_from_itself(pair, seed):
    one, _ = pair(seed)
    for row in rows(one, one).values():
        assert row["Δ"] == 0
        assert (row["p"], row["Adjusted p"]) == (1, 1)
        assert not row["Lost"]
        assert not row["Gained"]


def test_other_names_and_another_order_of_the_samples_change_nothing(run):
    order = np.random.default_rng(0).permutation(SIZE).tolist()
    wrong = [{3, 5, 8, 13}, {5, *range(20, 40)}]
    first = [run(f"first{index}", {CONSE: each}) for index, each in enumerate(wrong)]
    shuffled = tuple(TRUTHS[row] for row in order)
    moved = [{order.index(row) for row in each} for each in wrong]
    second = [run(f"second{index}", {CONSE: each}, shuffled) for index, each in enumerate(moved)]
    kept, again = (shares(rows(*indices)) for indices in (first, second))
    assert kept == again


def shares(found):
    """What is told of shares, but for p after a correction that other numbers have a part in."""
    left_out = ("Adjusted p",)
    told = {key: row for key, row in found.items() if row["Test"] == "exact McNemar"}
    assert told
    return {key: {name: each for name, each in row.items() if name not in left_out} for key, row in told.items()}


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        (DEFAULT_RULE, "inconclusive"),
        (Rule(0.5), "regression"),
        (Rule(0.5, 0.06), "tolerated"),
        (Rule(0.5, 0.05), "regression"),
    ],
)
def test_what_is_a_loss_can_be_chosen(run, rule, word):
    made = comparison_tables(match_runs([run("a", {CONSE: ()}), run("b", {CONSE: {*range(7)}})]), rule)[0]
    (found,) = (row for row in made.rows if row[2:5] == ("acc1", "ImGT", "all"))
    assert found[-1] == word
    assert f"adjusted p < {rule.alpha:g}, for" in "".join(made.notes)
    assert (f"of at most {format_points(rule.max_drop)} is tolerated" in "".join(made.notes)) is bool(rule.max_drop)


def test_rounds_are_paired_by_their_draws(session):
    folders = []
    for name, indices in (("one", range(3)), ("other", range(3, 9))):
        begun = session(name=name)
        begun.multiple_choice("random", [begun.right(dict.fromkeys(indices, "no")) for _ in range(3)])
        begun.pool()
        folders.append(begun.folder)
    found = [row for key, row in rows(*folders).items() if key[2] == "mc_acc"]
    assert {row["Test"] for row in found} == {"paired bootstrap"}
    assert {row["Lost"] for row in found} == {None}


def test_numbers_without_what_they_were_made_of_are_compared_by_their_intervals(run, make_run):
    folder = run("a", {CONSE: ()})
    kept = [msgspec.structs.replace(record, evidence=None) for record in read_run(folder).records]
    found = rows(make_run.written(folder, tuple(kept)), run("b", {CONSE: {*range(30)}}))
    assert {row["Test"] for row in found.values()} == {"unpaired"}
    assert found[f"imagenet/val/{CONSE}", "zero_shot", "acc1", "ImGT", "all"]["p"] < 0.001


@pytest.fixture
def baseline(tmp_path):
    """A run as a baseline with other weights and another library."""

    def baseline(folder):
        changed = {"weights_sha256": "1" * 64, "environment": {"torch": "2.0"}}
        write_baselines(
            tmp_path / "kept", [msgspec.structs.replace(each, **changed) for each in read_cases(folder).values()]
        )
        return tmp_path / "kept"

    return baseline


def test_a_baseline_stands_for_a_run(run, baseline):
    folder = run("a", {CONSE: {4}})
    location = baseline(folder)
    told = notes(location, folder)
    assert "weights: 11111111 before, 00000000 after." in told
    assert "torch: 2.0 before" in told
    assert rows(next(location.rglob("*.json")), folder / "records.json").keys() == rows(folder, folder).keys()


def test_other_data_are_refused_with_what_differs(run):
    indices = run("a", {CONSE: ()}), run("b", {CONSE: ()}, TRUTHS[:60])
    with pytest.raises(ReportError, match=r"cannot be compared\. .*fingerprint: .* before, .* after; .*samples: 120"):
        comparison_tables(match_runs(indices))


@pytest.mark.parametrize(
    ("how", "said"),
    [({"truths": RELABELLED},
      r"\(zero_shot\) is not compared: ground truth ReGT: \w{8} before, \w{8} after\. Run"),
     ({"variant": {"parser_version": "words 2"}}, r"parser_version: \w+ before, words 2 after")],
)  # fmt: skip
def test_other_labels_and_another_parser_are_refused(run, how, said):
    indices = run("a", {CONSE: ()}), run("b", {CONSE: ()}, **how)
    with pytest.raises(ReportError, match=said):
        comparison_tables(match_runs(indices))


def test_what_one_side_has_alone_is_said(run):
    failed = dict.fromkeys(range(SIZE), "timeout")
    one, other = run("a", {CONSE: (), TIMM: ()}), run("b", {CONSE: (), CLIP: ()}, errors=failed)
    said = notes(one, other)
    assert f"Only before, and not compared: imagenet/val/{TIMM} (supervised)." in said
    assert f"Only after, and not compared: imagenet/val/{CLIP} (zero_shot)." in said
    assert f"imagenet/val/{CONSE} (zero_shot) has a value only before: acc1 (ImGT)" in said


def test_two_models_of_a_run_are_compared_under_one_protocol(run):
    folder = run("a", {CONSE: {*range(20)}, CLIP: {1}, TIMM: ()})
    found = rows(folder, specs=(CONSE, "ViT-B-32/laion2b_s34b_b79k"))
    assert {key[:2] for key in found} == {("imagenet/val", "zero_shot")}
    assert found["imagenet/val", "zero_shot", "acc1", "ReGT", "all"]["Gained"] == 19


def test_models_of_two_runs_are_compared(run):
    one, other = run("a", {CONSE: {*range(20)}, CLIP: ()}), run("b", {CONSE: (), CLIP: {1}})
    found = rows(one, other, specs=("conse[]", CLIP))
    assert found["imagenet/val", "zero_shot", "acc1", "ReGT", "all"]["Gained"] == 19


def test_named_models_are_compared_on_a_split_whose_name_begins_like_theirs(make_run):
    said = {f"{name}=conse[]": ("zero_shot", [truth[0] for truth in TRUTHS]) for name in ("v", "va")}
    found = rows(make_run("a", models=said, truths=TRUTHS), specs=("v", "va"))
    assert found["imagenet/val", "zero_shot", "acc1", "ImGT", "all"]["n"] == SIZE


def test_a_model_that_is_not_there_is_refused_with_the_nearest(run):
    with pytest.raises(ReportError, match=r"has no model 'cones\[\]'; did you mean conse\[\]\?"):
        match_models([run("a", {CONSE: ()})], ["cones[]", CONSE])


def test_models_that_were_asked_in_different_ways_have_nothing_in_common(run):
    found = match_models([run("a", {CONSE: (), TIMM: ()})], [CONSE, TIMM])
    with pytest.raises(ReportError, match=r"no case in common: imagenet/val \(zero_shot\) on one side, .*supervised"):
        comparison_tables(found)


def test_the_command_writes_every_format(run, capsys):
    indices = [str(run("a", {CONSE: ()})), str(run("b", {CONSE: {*range(9)}}))]
    assert main(["compare", *indices]) == 0
    assert "| exact McNemar" in capsys.readouterr().out
    assert main(["compare", *indices, "--format", "tex"]) == 0
    assert r"\toprule" in capsys.readouterr().out
    assert main(["compare", *indices, "--format", "csv"]) == 0
    read = csv.DictReader(StringIO(capsys.readouterr().out))
    first = next(row for row in read if row["Test"] == "exact McNemar")
    assert (first["before"], first["Δ"], first["Lost"]) == ("a (2026-01-01 00:00:00 UTC)", "-7.50", "9")


def test_a_refusal_is_one_sentence(run, tmp_path: Path, capsys):
    (tmp_path / "text.json").write_text(json.dumps({"schema": 99}), encoding="utf-8")
    assert main(["compare", str(run("a", {CONSE: ()})), str(tmp_path / "text.json")]) == 2
    assert "has schema 99; this eyechart reads schema" in capsys.readouterr().err


def test_both_n_are_shown_where_errors_left_fewer_samples(run):
    one, other = run("one", {CONSE: set()}), run("other", {CONSE: set()}, errors={1: "timeout", 2: "timeout"})
    found = {key[2:]: row for key, row in rows(one, other).items()}
    assert [found["acc1", "ImGT", "all"][name] for name in ("n", "Before n", "After n", "Δ")] == [118, 120, 118, 0]
    answered = found["answered", "ImGT", "asked"]
    assert [answered[name] for name in ("n", "Before n", "After n", "Lost", "Gained")] == [120, 120, 120, 2, 0]
    assert "fewer samples: acc1 (ImGT) has n=120 before, n=118 after (and" in notes(one, other)
    same = comparison_tables(match_runs((one, one)))[0]
    assert not {"Before n", "After n"} & {*same.columns}
    assert "answered" not in {row[2] for row in same.rows}


GROUPED = tuple((index // 12, (index // 12,), None) for index in range(SIZE))  # ten classes of twelve images


@pytest.fixture
def lost_class(run):
    """Two runs: the first is wrong about five images of class 5, the second about all images of class 3."""
    return run("one", {CONSE: {*range(60, 65)}}, GROUPED), run("two", {CONSE: {*range(36, 48)}}, GROUPED)


def test_a_class_that_lost_has_a_row_of_its_own(lost_class):
    metrics, slices = comparison_tables(match_runs(lost_class), Rule(0.05))
    (row,) = [dict(zip(slices.columns, map(plain, row), strict=True)) for row in slices.rows]
    about = ("Case", "Metric", "Labels", "Subset", "n", "Lost", "Gained", "Verdict")
    assert [row[name] for name in about] == [
        f"imagenet/val/{CONSE}",
        "acc1",
        "ImGT",
        "class=3",
        12,
        12,
        0,
        "regression",
    ]
    assert slices.title.endswith(": 1 of 10 slices lost, 0 gained")
    assert "such as class=dog: 1 of 10 slices lost, 0 gained; 9 have too few changed samples" in "\n".join(
        metrics.notes
    )


def test_slices_without_a_change_are_counted_in_a_note(run):
    one = run("one", {CONSE: {*range(3)}}, GROUPED)
    (metrics,) = comparison_tables(match_runs((one, one)))
    assert "such as class=dog: 0 of 10 slices lost, 0 gained; 10 have too few changed samples" in "\n".join(
        metrics.notes
    )


def test_two_models_are_compared_slice_by_slice(run):
    both = run("both", {CONSE: (), CLIP: {*range(36, 48)}}, GROUPED)
    _, slices = comparison_tables(match_models([both], [CONSE, CLIP]), Rule(0.05))
    assert [row[:5] for row in slices.rows] == [("imagenet/val", "zero_shot", "acc1", "ImGT", "class=3")]


def test_a_baseline_has_no_slices_and_a_run_after_it_has(lost_class, tmp_path):
    write_baselines(tmp_path / "kept", read_cases(lost_class[0]).values())
    write_baselines(tmp_path / "later", read_cases(lost_class[1]).values())
    assert len(comparison_tables(match_runs((tmp_path / "kept", lost_class[1])), Rule(0.05))) == 2
    (alone,) = comparison_tables(match_runs((tmp_path / "kept", tmp_path / "later")), Rule(0.05))
    assert "class=dog" not in "\n".join(alone.notes)


def test_the_command_prints_the_slices_after_the_metrics(lost_class, capsys):
    main(["compare", *map(str, lost_class), "--alpha=0.05"])
    metrics, slices = capsys.readouterr().out.split("1 of 10 slices lost, 0 gained\n")
    assert "class=3" not in metrics
    assert "class=3" in slices


def test_slices_are_a_data_frame(lost_class):
    comparison = eyechart.compare(*lost_class, alpha=0.05)
    first, second = comparison.slices[["subset", "lost", "gained", "verdict"]].values.tolist()[:2]
    assert first == ["class=3", 12, 0, "regression"]
    assert second == ["class=5", 0, 5, "inconclusive"]
    assert len(comparison.slices) == 10


def test_an_adjusted_p_value_at_its_floor_is_named_as_a_limit(run, capsys):
    folders = [run("before", {CONSE: []}), run("after", {CONSE: range(40)})]
    assert main(["compare", *folders]) == 0
    assert "is the smallest adjusted p-value that 10,000 random sign flips can show." in capsys.readouterr().out
    assert main(["compare", folders[0], run("alike", {CONSE: [3]})]) == 0
    assert "is the smallest" not in capsys.readouterr().out
