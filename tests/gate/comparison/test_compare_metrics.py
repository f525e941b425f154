"""What is a loss: by hand, by direction, over a session; what may be compared at all; which samples say most."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.gate.comparison.compare_metrics import (
    added_metrics,
    compare_metrics,
    differences,
    missing_metrics,
    remarks,
    samples_to_show,
)
from eyechart.gate.verdicts.decide import Rule, decide
from eyechart.gate.verdicts.verdict_messages import (
    describe_loss,
    describe_nearest_to_loss,
    describe_remarks,
    format_p_value,
)
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import RESAMPLES
from eyechart.statistics.intervals import Interval
from eyechart.statistics.paired import change_interval
from eyechart.statistics.resampling import unit_bootstrap_shares
from eyechart.statistics.significance import holm
from tests.gate.found_numbers import NAN, found


def test_the_counts_of_a_share_are_those_by_hand(make: Any, share: Any) -> None:
    before, after = [1, 1, 1, 1, 1, 0, 0, NAN, 1], [0, 0, 1, 0, NAN, 1, 0, 0, 0]
    (only,) = compare_metrics(make(share(acc1=before)), make(share(acc1=after)))
    assert (only.lost, only.gained, only.n) == ((0, 1, 3, 8), 1, 7)
    assert (only.before, only.after) == (5 / 7, 2 / 7)
    assert only.delta == pytest.approx(-3 / 7)
    assert only.p == pytest.approx(2 * (1 + 5) / 2**5)
    assert (only.method, only.ci) == ("exact McNemar", change_interval(before, after))


def test_holm_is_over_the_whole_session() -> None:
    values = [0.001, 0.004, NAN, 0.03, 0.9]
    verdicts = decide([found(p) for p in values], Rule(0.01))
    np.testing.assert_array_equal([each.adjusted for each in verdicts], holm(values))
    assert [each.regression for each in verdicts] == [True, False, False, False, False]
    assert [each.regression for each in decide([found(0.004)], Rule(0.01))] == [True]


@pytest.mark.parametrize(("drop", "fails"), [(0, True), (0.09, True), (0.11, False), (1, False)])
def test_a_loss_must_be_larger_than_what_is_let_pass(drop: float, fails: bool) -> None:
    assert decide([found(1e-9, -0.1)], Rule(0.01, drop))[0].regression is fails


@pytest.mark.parametrize("better", [1, -1])
def test_worse_is_by_the_number_s_own_direction(better: int) -> None:
    down, up = decide([found(1e-9, delta, better=better) for delta in (-0.1, 0.1)], Rule(0.01))
    assert (down.regression, up.regression) == (better > 0, better < 0)
    assert (down.improvement, up.improvement) == (better < 0, better > 0)


def test_what_nobody_can_judge_is_neither_loss_nor_gain() -> None:
    (verdict,) = decide([found(NAN, -0.5)], Rule(0.01))
    assert (verdict.regression, verdict.improvement) == (False, False)


def test_draws_are_paired(make: Any, drawn: Any) -> None:
    right = np.random.default_rng(0).integers(0, 2, 400)
    worse = np.where(np.arange(400) % 20 == 0, 0, right)
    same, other = (next(compare_metrics(make([drawn(right)]), make([drawn(now)]))) for now in (right, worse))
    assert (same.p, same.method) == (1, "paired bootstrap")
    assert other.p < 0.05
    assert other.ci is not None
    assert other.ci.high < 0


@pytest.mark.parametrize(("noise", "p"), [(1e-7, 1.0), (9e-7, 1.0), (1.1e-6, None), (1e-4, None)])
def test_a_change_that_is_float_noise_has_a_p_of_1(make: Any, named: Any, noise: float, p: float | None) -> None:
    moves = np.random.default_rng(0).normal(noise, noise / 4, RESAMPLES)
    draws = np.random.default_rng(1).normal(0.5, 1e-4, RESAMPLES)
    before = named("ece", 0.5, bootstrap=lambda: draws)
    after = named("ece", 0.5 + noise, bootstrap=lambda: draws + moves)
    (found,) = compare_metrics(make([before]), make([after]))
    assert found.method == "paired bootstrap"
    assert (found.p == 1.0) is (p == 1.0)


@pytest.fixture
def of_images(named: Any) -> Any:
    """A share of answers, as many to each image; all answers to an image are alike."""

    def of_images(right: Sequence[float], each: int, units: int | None) -> Estimate:
        images = np.array(right, np.float64)
        draws = unit_bootstrap_shares(images, np.ones_like(images), RESAMPLES, 42)
        return named("f1", float(images.mean()), n=len(images) * each, bootstrap=lambda: draws, n_clusters=units)

    return of_images


def exchanged(changes: Any) -> float:
    """The share of all ways to exchange the runs, image by image, that differ by as much: the exact p-value."""
    signs = np.array(list(product((-1, 1), repeat=len(changes))))
    return float((np.abs(signs @ changes) >= abs(changes.sum()) - 1e-9).mean())


@pytest.mark.parametrize(
    "after", [(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1), (0,) * 12, (0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1)]
)
def test_answers_to_one_image_are_no_more_sure_than_it_alone(make: Any, of_images: Any, after: Any) -> None:
    exact = exchanged(np.array(after) - 1)
    p, many = (
        next(compare_metrics(make([of_images((1,) * 12, 40, units)]), make([of_images(after, 40, units)]))).p
        for units in (12, None)
    )
    assert exact / 2 < p < exact * 2
    assert many < exact / 1000


def test_of_two_runs_the_fewer_images_count_and_a_file_that_does_not_say_counts_answers(
    make: Any, of_images: Any
) -> None:
    old, new = make([of_images((1, 1, 0), 9, None)]), make([of_images((1, 0, 0), 9, 3)])
    for sides in ((old, new), (new, old), (new, new)):
        (only,) = compare_metrics(*sides)
        assert (only.n, only.n_clusters) == (27, 3)
    assert [proof.n_clusters for proof in make([of_images((1, 1), 1, 2)]).metrics] == [0]  # as it is with any number


@pytest.mark.parametrize("sizes", [(9, 12), (12, 9), (9, 9)])
@pytest.mark.parametrize("drawn", [True, False])
def test_of_two_runs_with_unequal_n_the_smaller_counts(
    make: Any, named: Any, sizes: tuple[int, int], *, drawn: bool
) -> None:
    draws = np.random.default_rng(0).normal(0.5, 0.01, RESAMPLES)
    before, after = (make([named("ece", n=n, bootstrap=(lambda: draws) if drawn else None)]) for n in sizes)
    (found,) = compare_metrics(before, after)
    assert (found.n, found.n_clusters) == (9, 9)
    assert found.counts == (sizes if sizes[0] != sizes[1] else None)


def test_numbers_alone_are_compared_as_unpaired(make: Any, named: Any) -> None:
    one, other = (
        make([named("ece", value, interval=Interval(*ends))])
        for value, ends in ((0.1, (0.05, 0.15)), (0.4, (0.35, 0.45)))
    )
    (only,) = compare_metrics(one, other)
    assert (only.method, only.loss) == ("unpaired", pytest.approx(0.3))
    assert only.p < 1e-6
    (unsure,) = compare_metrics(make([named("ece", interval=None)]), other)
    assert np.isnan(unsure.p)


def test_where_only_one_side_has_samples_the_intervals_are_compared(make: Any, share: Any, named: Any) -> None:
    (only,) = compare_metrics(make([named()]), make(share(acc1=[1, 0, 1, 1])))
    assert only.method == "unpaired"
    alone, drawn = (make([named("ece", bootstrap=draws)]) for draws in (None, lambda: np.linspace(0, 1, RESAMPLES)))
    for sides in ((alone, drawn), (drawn, alone)):
        assert [each.method for each in compare_metrics(*sides)] == ["unpaired"]


def test_only_numbers_with_a_direction_and_two_values_are_compared(make: Any, share: Any, named: Any) -> None:
    before = make([*share(acc1=[1], mmd2=[1], acc5=[1], oop=[1]), named("mcc", None)])
    after = make([*share(acc1=[1], mmd2=[1], f1=[1]), named("acc5", None)])
    assert [each.metric.name for each in compare_metrics(before, after)] == ["acc1"]
    assert missing_metrics(before, after) == ["acc5 (ImGT)"]
    assert added_metrics(before, after) == ["f1 (ImGT)"]


@pytest.mark.parametrize("other", [
    {"fingerprint": "g"}, {"label_hashes": {"ImGT": "u"}}, {"seed": 7}, {"samples": 3},
    {"variant": {"parser_version": "2"}}, {"variant": {}}, {"variant": {"parser_version": "1", "equivalences": "none"}},
    {"variant": {"parser_version": "1", "support_n": "7"}},
    {"variant": {"parser_version": "1", "support_sha256": "0123456789ab"}},
])  # fmt: skip
def test_what_forbids_a_comparison(make: Any, share: Any, other: Any) -> None:
    base = make(share(acc1=[1, 0]))
    (said,) = differences(base, replace(base, **other))
    assert " in the baseline, " in said
    what = {"label_hashes": "ground truth ImGT"}.get(key := next(iter(other)), key)
    assert any(name in said for name in (what, "parser_version", "equivalences", "support_"))


EMPTY = ("ImGT=exclude", "ImGT=exclude, ReaL=correct", "ImGT=exclude, ReaL=wrong", "ReaL=correct, ImGT=exclude")


@pytest.mark.parametrize(("sides", "said"), [
    ((0, 1), []), ((1, 3), []), ((1, 2), ["no labels in ReaL: correct in the baseline, wrong now"]),
])  # fmt: skip
def test_a_ground_truth_that_one_side_has_forbids_nothing(
    make: Any, share: Any, sides: tuple[int, int], said: list[str]
) -> None:
    truths = {"ImGT": "1" * 64, "ReaL": "2" * 64}
    before, after = (
        make(share(acc1=[1]), label_hashes={name: truths[name] for name in truths if name in EMPTY[side]},
             variant={"empty": EMPTY[side]}) for side in sides
    )  # fmt: skip
    assert differences(before, after) == said
    assert len(differences(after, before)) == len(said)
    assert not remarks(before, after)


def test_the_ground_truth_that_differs_is_named_alone(make: Any) -> None:
    sides = (make([], label_hashes={"ImGT": "1" * 64, "ReaL": each * 64, each: each}) for each in "23")
    assert differences(*sides) == ["ground truth ReaL: 22222222 in the baseline, 33333333 now"]


def test_numbers_of_a_ground_truth_that_one_side_has_are_missing_or_added(make: Any, named: Any) -> None:
    old, new = ([named(labels=name) for name in names] for names in (("ImGT",), ("ImGT", "ReaL")))
    before, after = make(old), make(new, label_hashes={"ImGT": "t", "ReaL": "r"})
    assert not differences(before, after)
    assert [each.metric.labels for each in compare_metrics(before, after)] == ["ImGT"]
    assert (added_metrics(before, after), missing_metrics(after, before)) == (["acc1 (ReaL)"], ["acc1 (ReaL)"])


@pytest.mark.parametrize("other", [
    {"weights_sha256": "1" * 64}, {"variant": {"parser_version": "1", "names": "openai"}},
    {"environment": {"platform": "there"}}, {"environment": {}},
])  # fmt: skip
def test_what_is_only_noted(make: Any, share: Any, other: Any) -> None:
    base = make(share(acc1=[1, 0]))
    now = replace(base, **other)
    assert differences(base, now) == []
    assert len(remarks(base, now)) == 1


def test_a_case_and_itself_differ_in_nothing(make: Any, share: Any) -> None:
    base = make(share(acc1=[1, 0]))
    assert not [*differences(base, base), *remarks(base, base), *missing_metrics(base, base)]


def test_the_samples_that_most_numbers_lost_come_first(make: Any, share: Any) -> None:
    before = make(share(acc1=[1] * 14, acc5=[1] * 14))
    after = make(share(acc1=[0] * 13 + [1], acc5=[1] * 7 + [0, 1, 0] + [1] * 4))
    every = list(compare_metrics(before, after))
    assert samples_to_show(every[0], every) == [7, 9, 0, 1, 2, 3, 4, 5, 6, 8]
    assert samples_to_show(every[1], every) == [7, 9]


def test_a_loss_says_everything(make: Any, share: Any) -> None:
    now = make(share(acc1=[0] * 20 + [1]))
    every = list(compare_metrics(make(share(acc1=[1] * 20 + [0])), now))
    said = describe_loss(decide(every, Rule(0.01))[:1], every, now.keys)
    for part in ("95.24 % in the baseline, 4.76 % now: -90.48 points [", "n=21", "p=2.1e-05, p=2.1e-05 adjusted",
                 "exact McNemar", "right before and wrong now: 20; wrong before and right now: 1",
                 "    00000\n"):  # fmt: skip
        assert part in said


def test_numbers_that_lost_the_same_samples_are_told_as_one(make: Any, share: Any) -> None:
    now = make(share(acc1=[0] * 20 + [1], acc5=[0] * 20 + [1], mc_acc=[0] * 19 + [1, 1]))
    every = list(compare_metrics(make(share(acc1=[1] * 20 + [0], acc5=[1] * 20 + [0], mc_acc=[1] * 20 + [0])), now))
    assert [one.changed_samples == every[0].changed_samples for one in every] == [True, True, False]
    said = describe_loss(decide(every, Rule(0.01))[:2], every, now.keys)
    assert "acc1 (ImGT) is worse than the baseline.\n  Top-1 accuracy: the proportion of images whose best" in said
    assert "  the same samples also changed: acc5 (ImGT)\n" in said


def test_what_came_nearest_to_a_loss_is_said() -> None:
    noise = [found(0.5, delta=-0.1), found(0.02, delta=-0.2), found(0.01, delta=0.3)]
    (said,) = describe_nearest_to_loss(decide(noise, Rule(0.001)))
    assert "-20.00 points (p=0.02, p=0.04 adjusted)" in said
    assert not [*describe_nearest_to_loss(decide([found(1e-9, delta=-0.5), found(0.5, delta=0.5)], Rule(0.01)))]


def test_no_p_value_is_written_as_0() -> None:
    assert [format_p_value(p) for p in (0.0, 1e-320, 0.25, 1.0)] == ["p<1e-300", "p<1e-300", "p=0.25", "p=1"]


def test_a_remark_about_several_cases_is_said_once(make: Any, share: Any) -> None:
    one = make(share(acc1=[1]))
    assert list(describe_remarks({"a": [one], "b": [one, one]})) == ["imagenet/val/m[] (zero_shot): a", "b (2 cases)"]
