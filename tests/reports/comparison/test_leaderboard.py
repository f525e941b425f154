"""`leaderboard`: ranks that chance does not decide, from runs that the real recording wrote."""

import csv
from io import StringIO
from itertools import permutations

import msgspec
import pytest

from eyechart import load_run
from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.gate.baselines.stored_cases import read_cases
from eyechart.reports.comparison.leaderboard import WEIGHTS, leaderboards
from eyechart.reports.comparison.ranks import RankedMetric, _compare_pair, _select_metric
from eyechart.reports.runs import load
from eyechart.reports.tables.render import NumberCell
from eyechart.results.records import read_run

CLIP, TIMM = "open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]", "timm[a]"
SIZE, WRONG = 120, 999
TRUTHS = tuple((index, (index,) if index % 3 else (index, index + 1), None) for index in range(SIZE))
CHAIN = {"conse[a]": range(0), "conse[b]": range(4), "conse[c]": range(8), "conse[d]": range(12)}


@pytest.fixture
def run(make_run):
    """A run in which each model is wrong about some of the images."""

    def run(wrong, name="run", **how):
        said = {
            model: ("supervised" if model.startswith("timm") else "zero_shot", answers({*indices}))
            for model, indices in wrong.items()
        }
        return make_run(name, models=said, truths=TRUTHS, labels=("ImGT", "ReGT"), **how)

    return run


def answers(wrong):
    return [WRONG if row in wrong else truth[0] for row, truth in enumerate(TRUTHS)]


def boards(*folders, metric=None, labels="ImGT", alpha=0.05):
    return leaderboards(load(folders), metric, labels, alpha)


def ranks(*folders, **how):
    """Every model's rank on the only board."""
    (board,) = boards(*folders, **how)
    return {row[1]: row[0] for row in board.rows}


def test_models_that_chance_may_have_parted_share_ranks(run):
    wrong = {"conse[a]": range(0), "conse[b]": range(2), "conse[c]": range(60)}
    assert ranks(run(wrong)) == {"conse[a]": "1–2", "conse[b]": "1–2", "conse[c]": "3"}


def test_a_rank_is_excluded_by_every_pair_that_is_told_apart(run):
    """Of 0, 4, 8 and 12 wrong answers, only 0 and 8, 0 and 12, and 4 and 12 differ by enough."""
    assert ranks(run(CHAIN)) == {"conse[a]": "1–2", "conse[b]": "1–3", "conse[c]": "2–4", "conse[d]": "3–4"}


def test_fewer_ranks_are_excluded_with_a_smaller_alpha(run):
    assert {*ranks(run(CHAIN), alpha=1e-4).values()} == {"1–4"}


@pytest.mark.deep
def test_the_order_given_does_not_matter(run):
    found = [
        boards(run({name: CHAIN[name] for name in order}, f"run{index}"))[0].rows
        for index, order in enumerate([*permutations(CHAIN)][::9])
    ]
    assert all(rows == found[0] for rows in found)


def test_the_order_of_runs_does_not_matter(run):
    folders = [run({name: indices}, f"run{index}") for index, (name, indices) in enumerate(CHAIN.items())]
    assert boards(*folders)[0].rows == boards(*reversed(folders))[0].rows == boards(run(CHAIN))[0].rows


@pytest.mark.parametrize("names", list(permutations("xyz")))
def test_equal_values_may_have_other_ranks_whatever_their_models_are_called(run, names):
    """The second is wrong about all that the first is wrong about and eight more, the third about others."""
    wrong = (range(8), range(16), range(8, 24))
    models = {f"conse[{name}]": indices for name, indices in zip(names, wrong, strict=True)}
    found = ranks(run(models))
    assert [found[model] for model in models] == ["1–2", "2–3", "1–3"]


def test_a_model_alone_is_first(run):
    assert ranks(run({"conse[a]": range(3)})) == {"conse[a]": "1"}


def test_numbers_have_their_n_and_interval_and_the_test_its_own(run):
    (board,) = boards(run({"conse[a]": (), "conse[b]": range(30)}))
    number, change, p = board.rows[1][2:5]
    assert (number.value, number.n) == (0.75, SIZE)
    assert number.ci[0] < 0.75 < number.ci[1]
    assert change.ci[0] < change.value == -0.25 < change.ci[1] < 0
    assert p.value == 1 / 2001  # no draw of 2,000 has 30 equal signs


def test_every_protocol_and_ground_truth_has_its_board(run):
    found = boards(run({"conse[a]": (), TIMM: range(9)}), labels=None)
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


def test_a_sample_of_two_splits_is_one_sampling_unit(run):
    """What eight images of one split cannot show, they cannot show twice."""
    wrong = {"conse[a]": (), "conse[b]": range(5)}
    folders = [run(wrong, split, split=split) for split in ("val", "again")]
    tables = leaderboards(load(folders), None, "ImGT", 0.05)
    assert [[row[0] for row in table.rows] for table in tables] == [["1–2", "1–2"]] * 3


def test_python_has_the_ranks_as_frames(run):
    frame, _, over_splits = load_run(run(CHAIN, "a"), run(CHAIN, "b", split="test")).ranks(labels="ReGT", alpha=0.05)
    assert frame[["lowest_rank", "highest_rank"]].values.tolist() == [[1, 2], [1, 3], [2, 4], [3, 4]]
    assert frame.attrs["title"] == "imagenet/test, zero_shot: acc1 under ReGT"
    assert over_splits["Model"].tolist() == [*CHAIN]


def test_less_is_better_where_it_is(run):
    found = boards(run({"timm[a]": (), "timm[b]": range(60)}), metric="brier")
    assert [row[1] for row in found[0].rows] == ["timm[b]", "timm[a]"]  # so unsure that who is wrong is better
    assert "Lower is better" in found[0].notes[0]


def test_ranks_are_explained(run):
    (board,) = boards(run(CHAIN), alpha=0.01)
    assert "together are right with a probability of about 0.99." in board.notes[0]


def test_published_numbers_stand_beside(run):
    (board,) = boards(run({CLIP: (), "conse[a]": range(9)}))
    assert board.columns[-2:] == ("Reported", "Source")
    assert [cell.value if isinstance(cell, NumberCell) else cell for cell in board.rows[0][-2:]] == [
        0.6656,
        "open_clip results",
    ]
    assert board.rows[1][-2:] == (None, None)


def test_published_numbers_are_of_the_original_labels_alone(run):
    assert "Reported" not in boards(run({CLIP: ()}), labels="ReGT")[0].columns


def test_two_wordings_of_a_protocol_are_told_apart(run):
    folders = run({"conse[a]": ()}, "a"), run({"conse[a]": range(30)}, "b", variant={"templates": "7 (aa)"})
    assert ranks(*folders) == {"conse[a], zero_shot (a)": "2", "conse[a], zero_shot (b)": "1"}


def test_numbers_alone_are_compared_by_their_intervals_and_it_is_said(run, make_run):
    folder = run({"conse[a]": (), "conse[b]": range(60)})
    kept = [msgspec.structs.replace(record, evidence=None) for record in read_run(folder).records]
    make_run.written(folder, tuple(kept))
    assert ranks(folder) == {"conse[a]": "1", "conse[b]": "2"}
    assert "compared by their intervals only" in "\n".join(boards(folder)[0].notes)


def test_draws_by_another_seed_are_of_other_samples(session):
    begun = session()
    begun.multiple_choice("random", [begun.right({index: "no"}) for index in range(3)])
    begun.pool()
    (one,) = (_select_metric(each, RankedMetric("mc_acc", "ReGT", "all")) for each in read_cases(begun.folder).values())
    methods = [_compare_pair(one, msgspec.structs.replace(one, seed=seed)).method for seed in (one.seed, one.seed + 1)]
    assert methods == ["paired bootstrap", "unpaired"]


def test_numbers_that_the_order_of_a_sum_parts_are_in_the_order_of_names(bench):
    for model, value in (("hf[b]", 0.1 + 0.2), ("hf[a]", 0.3)):
        bench.case("existence", model, metrics=[("acc", "ID", value, 99, (0.2, 0.4))])
    (board,) = leaderboards(bench.pool(), "acc", None, 0.05)
    assert [row[:2] for row in board.rows] == [("1–2", "hf[a]"), ("1–2", "hf[b]")]


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
        boards(run(CHAIN), metric="acc2")


def test_labels_that_no_record_has_are_refused_with_what_there_is(run):
    with pytest.raises(ReportError, match=r"=ReGt; did you mean ReGT\? There are: acc1 \(ImGT\), acc1 \(ReGT\)"):
        boards(run(CHAIN), labels="ReGt")


def test_a_number_that_no_record_has_is_refused_with_those_there_are(run):
    with pytest.raises(ReportError, match=r"by 'mcc'.* Choose from: acc1, acc5, answered, intersection"):
        boards(run(CHAIN), metric="mcc")


def test_the_command_writes_every_format(run, capsys):
    folder = str(run(CHAIN))
    assert main(["leaderboard", folder, "--labels", "ReGT"]) == 0
    assert "### imagenet/val, zero_shot: acc1 under ReGT" in capsys.readouterr().out
    assert main(["leaderboard", folder, "--metric", "acc1", "--format", "tex"]) == 0
    assert r"\toprule" in capsys.readouterr().out
    assert main(["leaderboard", folder, "--format", "csv", "--alpha", "0.01"]) == 0
    rows = list(csv.DictReader(StringIO(capsys.readouterr().out)))
    assert {row["labels"] for row in rows} == {"ImGT", "ReGT"}


@pytest.mark.parametrize("alpha", ["0", "1", "x", "0.05,0.01"])
def test_what_is_no_level_is_refused(run, alpha, capsys):
    assert main(["leaderboard", "run", "--alpha", alpha]) == 2
    assert "--alpha" in capsys.readouterr().err
