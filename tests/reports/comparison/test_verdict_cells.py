"""The cells and the order of verdicts, and the notes on what two runs do not have in common."""

import re

import pytest

from eyechart.gate.verdicts.decide import VERDICTS
from eyechart.reports.comparison.run_comparison import comparison_tables, match_runs
from eyechart.statistics.significance import holm
from tests.reports.comparison.tables_of_runs import CLIP, CONSE, SIZE, TIMM, notes, rows


def change(found):
    return next(row for row in comparison_tables(found)[0].rows if row[2:5] == ("acc1", "ImGT", "all"))[7]


def test_a_loss_is_told_with_its_samples_and_its_p(run):
    found = rows(run("a", {CONSE: {1}}), run("b", {CONSE: {*range(2, 14)}}))
    row = found[f"imagenet/val/{CONSE}", "zero_shot", "acc1", "ImGT", "all"]
    assert (row["n"], row["Lost"], row["Gained"], row["Test"]) == (SIZE, 12, 1, "exact McNemar")
    assert row["p"] == pytest.approx(2 * (1 + 13) / 2**13)
    assert (row["Before, %"], row["After, %"]) == pytest.approx((119 / 120, 108 / 120))
    assert row["Δ"] == pytest.approx(-11 / 120)


def test_the_change_has_its_interval(run):
    found = change(match_runs([run("a", {CONSE: ()}), run("b", {CONSE: {*range(12)}})]))
    assert found.ci[0] < -0.1 < found.ci[1] < 0


def test_exchanged_runs_turn_intervals_around(pair):
    one, other = pair(9)
    forth, back = (change(match_runs(indices)).ci for indices in ((one, other), (other, one)))
    assert forth == pytest.approx([-end for end in reversed(back)])


def test_the_correction_is_over_the_table_and_the_surest_come_first(pair):
    found = list(rows(*pair(5)).values())
    adjusted = [row["Adjusted p"] for row in found]
    assert adjusted == pytest.approx(holm([row["p"] for row in found]).tolist(), nan_ok=True)
    told = [(row["Adjusted p"], -abs(row["Δ"])) for row in found if row["Verdict"] == "inconclusive"]
    assert len(told) > 10
    assert told == sorted(told)


def test_losses_come_before_gains_however_sure_and_noise_after_both(run):
    one, other = run("a", {CONSE: (), TIMM: {*range(60)}}), run("b", {CONSE: {*range(20)}, TIMM: ()})
    found = rows(one, other)
    words = [row["Verdict"] for row in found.values()]
    assert words == sorted(words, key=VERDICTS.index)
    whole = {key[0]: row["Verdict"] for key, row in found.items() if key[2:] == ("acc1", "ImGT", "all")}
    assert whole == {f"imagenet/val/{CONSE}": "regression", f"imagenet/val/{TIMM}": "improvement"}


@pytest.mark.deep
def test_other_prompts_are_said_once(run):
    wrong = {CONSE: (), CLIP: {1}, TIMM: {2}}
    said = notes(run("a", wrong), run("b", wrong, variant={"templates": "7 (aa)"}))
    assert said.count("templates: 80 (0123abcd) before, 7 (aa) after") == 1
    assert f": imagenet/val/{CONSE} (zero_shot), imagenet/val/{CLIP} (zero_shot)." in said


def test_a_ground_truth_of_one_run_alone_is_said_and_the_others_are_compared(run):
    indices = run("a", {CONSE: {1}}), run("b", {CONSE: {1}}, labels=("ImGT",))
    assert {key[3] for key in rows(*indices)} == {"ImGT"}
    assert re.search(r"has a value only before: (\S+ \(\S*ReGT(, \S+)?\)(, )?)+\.", notes(*indices))


def test_a_refused_case_leaves_the_others(run):
    wrong = {CONSE: {1}, TIMM: {2}}
    indices = (
        run("a", wrong, variant={"parser_version": "words 1"}),
        run("b", wrong, variant={"parser_version": "words 2"}),
    )
    assert {key[0] for key in rows(*indices)} == {f"imagenet/val/{TIMM}"}
    assert f"imagenet/val/{CONSE} (zero_shot) is not compared: parser_version: words 1 before, words 2 after." in notes(
        *indices
    )
