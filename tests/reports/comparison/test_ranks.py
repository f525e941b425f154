"""The ranks that chance does not exclude, from runs that the real recording wrote."""

from dataclasses import replace
from itertools import permutations

import msgspec
import pytest

from eyechart.reports.comparison.leaderboard import leaderboards
from eyechart.reports.comparison.ranks import RankedMetric, assign_ranks, score_cases
from eyechart.reports.runs import load
from tests.reports.comparison.tables_of_runs import CHAIN, boards, ranks


def test_models_that_chance_may_have_parted_share_ranks(run):
    wrong = {"conse[a]": range(0), "conse[b]": range(2), "conse[c]": range(60)}
    assert ranks(run("run", wrong)) == {"conse[a]": "1–2", "conse[b]": "1–2", "conse[c]": "3"}


def test_a_rank_is_excluded_by_every_pair_that_is_told_apart(run):
    """Of 0, 4, 8 and 12 wrong answers, only 0 and 8, 0 and 12, and 4 and 12 differ by enough."""
    assert ranks(run("run", CHAIN)) == {"conse[a]": "1–2", "conse[b]": "1–3", "conse[c]": "2–4", "conse[d]": "3–4"}


def test_fewer_ranks_are_excluded_with_a_smaller_alpha(run):
    assert {*ranks(run("run", CHAIN), alpha=1e-4).values()} == {"1–4"}


@pytest.mark.deep
def test_the_order_given_does_not_matter(run):
    found = [
        boards(run(f"run{index}", {name: CHAIN[name] for name in order}))[0].rows
        for index, order in enumerate([*permutations(CHAIN)][::9])
    ]
    assert all(rows == found[0] for rows in found)


def test_the_order_of_runs_does_not_matter(run):
    folders = [run(f"run{index}", {name: indices}) for index, (name, indices) in enumerate(CHAIN.items())]
    assert boards(*folders)[0].rows == boards(*reversed(folders))[0].rows == boards(run("run", CHAIN))[0].rows


@pytest.mark.parametrize("names", list(permutations("xyz")))
def test_equal_values_may_have_other_ranks_whatever_their_models_are_called(run, names):
    """The second is wrong about all that the first is wrong about and eight more, the third about others."""
    wrong = (range(8), range(16), range(8, 24))
    models = {f"conse[{name}]": indices for name, indices in zip(names, wrong, strict=True)}
    found = ranks(run("run", models))
    assert [found[model] for model in models] == ["1–2", "2–3", "1–3"]


def test_a_model_alone_is_first(run):
    assert ranks(run("run", {"conse[a]": range(3)})) == {"conse[a]": "1"}


def test_a_sample_of_two_splits_is_one_sampling_unit(run):
    """What eight images of one split cannot show, they cannot show twice."""
    wrong = {"conse[a]": (), "conse[b]": range(5)}
    folders = [run(split, wrong, split=split) for split in ("val", "again")]
    tables = leaderboards(load(folders), None, "ImGT", 0.05)
    assert [[row[0] for row in table.rows] for table in tables] == [["1–2", "1–2"]] * 3


def test_draws_by_another_seed_are_of_other_samples(session):
    begun = session()
    for model in ("hf[a]", "hf[b]"):
        begun.multiple_choice("random", [begun.right({index: "no"}) for index in range(3)], model=model)
    ranked, cases = RankedMetric("mc_acc", "ReGT", "all"), [*begun.pool().cases]
    first, second = score_cases(
        {id(case): case.model for case in cases}, [(case, ranked.find(case)) for case in cases], ranked
    )
    other = replace(second, evidence=msgspec.structs.replace(second.evidence, seed=second.evidence.seed + 1))
    methods = [assign_ranks([first, each], 0.05)[1].test[0].method for each in (second, other)]
    assert methods == ["paired bootstrap", "unpaired"]


def test_numbers_that_the_order_of_a_sum_parts_are_in_the_order_of_names(bench):
    for model, value in (("hf[b]", 0.1 + 0.2), ("hf[a]", 0.3)):
        bench.case("existence", model, metrics=[("acc", "ID", value, 99, (0.2, 0.4))])
    (board,) = leaderboards(bench.pool(), "acc", None, 0.05)
    assert [row[:2] for row in board.rows] == [("1–2", "hf[a]"), ("1–2", "hf[b]")]
