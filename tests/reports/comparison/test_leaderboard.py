"""`leaderboard`: its boards, their notes and numbers, from runs that the real recording wrote."""

import csv
from io import StringIO

import msgspec
import pytest

from eyechart import load_run
from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.reports.comparison.leaderboard import WEIGHTS, leaderboards
from eyechart.reports.runs import load
from eyechart.reports.tables.render import NumberCell
from eyechart.results.records import read_run
from tests.reports.comparison.tables_of_runs import CHAIN, CLIP, SIZE, WRONG, boards, ranks


def test_numbers_have_their_n_and_interval_and_the_test_its_own(run):
    (board,) = boards(run("run", {"conse[a]": (), "conse[b]": range(30)}))
    number, change, p = board.rows[1][2:5]
    assert (number.value, number.n) == (0.75, SIZE)
    assert number.ci[0] < 0.75 < number.ci[1]
    assert change.ci[0] < change.value == -0.25 < change.ci[1] < 0
    assert p.value == 1 / 2001  # no draw of 2,000 has 30 equal signs


def test_every_protocol_and_ground_truth_has_its_board(run):
    found = boards(run("run", {"conse[a]": (), "timm[a]": range(9)}), labels=None)
    assert [board.title for board in found] == [
        f"imagenet/val, {protocol}: acc1 under {labels}"
        for protocol in ("supervised", "zero_shot")
        for labels in ("ImGT", "ReGT")
    ]


def test_several_splits_have_ranks_with_equal_weights_of_splits_or_of_samples(make_run):
    """In 12 images of the one split the second model is better, in 100 of the other the first one."""

    def wrong_answers(first, second, size):
        truths = tuple((index, (index,), None) for index in range(size))
        return truths, {
            f"conse[{name}]": ("zero_shot", [WRONG if index in wrong else index for index in range(size)])
            for name, wrong in (("a", first), ("b", second))
        }

    few, said_few = wrong_answers(range(11), (), 12)
    many, said_many = wrong_answers((), range(20), 100)
    folders = [
        make_run(
            "few", models=said_few | {"conse[c]": said_few["conse[a]"]}, truths=few, labels=("ImGT",), split="few"
        ),
        make_run("many", models=said_many, truths=many, labels=("ImGT",), split="many"),
    ]
    by_splits, by_samples = (leaderboards(load(folders), None, None, 0.05, weights)[-1] for weights in WEIGHTS)
    assert by_splits.title == "imagenet, 2 splits, zero_shot: acc1 under ImGT"
    assert [row[:2] for row in by_splits.rows] == [("1", "conse[b]"), ("2", "conse[a]")]
    assert by_splits.rows[0][2].value == pytest.approx((1 + 0.8) / 2)
    assert [row[1] for row in by_samples.rows] == ["conse[a]", "conse[b]"]
    assert by_samples.rows[0][2].value == pytest.approx(101 / 112)
    assert "Each split has the same weight; --weights=samples may give other ranks." in by_splits.notes[0]
    assert "112 samples" in by_splits.notes[0]
    assert "Left out, since a split does not have it: conse[c]." in by_splits.notes


def test_python_has_the_ranks_as_frames(run):
    frame, _, over_splits = load_run(run("a", CHAIN), run("b", CHAIN, split="test")).ranks(labels="ReGT", alpha=0.05)
    assert frame[["lowest_rank", "highest_rank"]].values.tolist() == [[1, 2], [1, 3], [2, 4], [3, 4]]
    assert frame.attrs["title"] == "imagenet/test, zero_shot: acc1 under ReGT"
    assert over_splits["Model"].tolist() == [*CHAIN]


def test_less_is_better_where_it_is(run):
    found = boards(run("run", {"timm[a]": (), "timm[b]": range(60)}), metric="brier")
    assert [row[1] for row in found[0].rows] == ["timm[b]", "timm[a]"]  # so unsure that who is wrong is better
    assert "Lower is better" in found[0].notes[0]


def test_ranks_are_explained(run):
    (board,) = boards(run("run", CHAIN), alpha=0.01)
    assert "together are right with a probability of about 0.99." in board.notes[0]


def test_published_numbers_stand_beside(run):
    (board,) = boards(run("run", {CLIP: (), "conse[a]": range(9)}))
    assert board.columns[-2:] == ("Reported", "Source")
    assert [cell.value if isinstance(cell, NumberCell) else cell for cell in board.rows[0][-2:]] == [
        0.6656,
        "open_clip results",
    ]
    assert board.rows[1][-2:] == (None, None)


def test_published_numbers_are_of_the_original_labels_alone(run):
    assert "Reported" not in boards(run("run", {CLIP: ()}), labels="ReGT")[0].columns


def test_two_wordings_of_a_protocol_are_told_apart(run):
    folders = run("a", {"conse[a]": ()}), run("b", {"conse[a]": range(30)}, variant={"templates": "7 (aa)"})
    assert ranks(*folders) == {"conse[a], zero_shot (a)": "2", "conse[a], zero_shot (b)": "1"}


def test_numbers_alone_are_compared_by_their_intervals_and_it_is_said(run, make_run):
    folder = run("run", {"conse[a]": (), "conse[b]": range(60)})
    kept = [msgspec.structs.replace(record, evidence=None) for record in read_run(folder).records]
    make_run.written(folder, tuple(kept))
    assert ranks(folder) == {"conse[a]": "1", "conse[b]": "2"}
    assert "compared by their intervals only" in "\n".join(boards(folder)[0].notes)


def test_each_set_of_pairs_has_its_board_where_none_is_the_whole(bench):
    for model, shift in (("hf[a]", 0.0), ("hf[b]", -0.3)):
        numbers = [("acc", name, 0.9 + shift, 99, (0.85 + shift, 0.95 + shift)) for name in ("ID", "OOD-H")]
        bench.case("existence", model, metrics=numbers)
    found = leaderboards(bench.pool(), "acc", None, 0.05)
    assert [board.title.partition(": ")[2] for board in found] == [
        "acc under OODBench, ID",
        "acc under OODBench, OOD-H",
    ]
    assert [row[0] for row in found[0].rows] == ["1", "2"]


def test_what_is_no_number_to_rank_by_is_refused_with_the_nearest(run):
    with pytest.raises(ReportError, match=r"models cannot be ranked by 'acc2'; did you mean"):
        boards(run("run", CHAIN), metric="acc2")


def test_labels_that_no_record_has_are_refused_with_what_there_is(run):
    with pytest.raises(ReportError, match=r"=ReGt; did you mean ReGT\? There are: acc1 \(ImGT\), acc1 \(ReGT\)"):
        boards(run("run", CHAIN), labels="ReGt")


def test_a_number_that_no_record_has_is_refused_with_those_there_are(run):
    with pytest.raises(ReportError, match=r"by 'mcc'.* Choose from: acc1, acc5, answered, intersection"):
        boards(run("run", CHAIN), metric="mcc")


def test_the_command_writes_every_format(run, capsys):
    folder = str(run("run", CHAIN))
    assert main(["leaderboard", folder, "--labels", "ReGT"]) == 0
    assert "### imagenet/val, zero_shot: acc1 under ReGT" in capsys.readouterr().out
    assert main(["leaderboard", folder, "--metric", "acc1", "--format", "tex"]) == 0
    assert r"\toprule" in capsys.readouterr().out
    assert main(["leaderboard", folder, "--format", "csv", "--alpha", "0.01"]) == 0
    rows = list(csv.DictReader(StringIO(capsys.readouterr().out)))
    assert {row["labels"] for row in rows} == {"ImGT", "ReGT"}
