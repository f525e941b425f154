"""Slices of a case: their tests, the false discovery rate, and the power for a class that lost."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import binomtest

from eyechart.data.dataset.dataset import SliceVariable
from eyechart.errors import ReportError
from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.policy.tiers import Policy, PolicyRule
from eyechart.gate.slices.slice_messages import describe_slices
from eyechart.gate.slices.slice_tests import SliceChanges, compare_case_slices, count_slices, decide_slices
from eyechart.gate.verdicts.decide import IMPROVEMENT, REGRESSION, Rule
from eyechart.results.slices import read_slices, write_slices
from eyechart.statistics.clusters import clustered_change_interval, clustered_mcnemar
from eyechart.statistics.false_discovery import discrete_benjamini_hochberg

ALPHA, SURE = 0.05, 0.001
RULE = Rule(ALPHA)


def variable(codes: Any, name: str = "class") -> SliceVariable:
    """A variable with a value per number."""
    return SliceVariable(name, tuple(f"c{index}" for index in range(max(codes) + 1)), np.array(codes, np.int64))


@pytest.fixture
def verdicts(make: Any, share: Any, tmp_path: Path) -> Any:
    """The verdicts on the slices of one case, and all of its slices."""

    def verdicts(before: Any, after: Any, variables: Any, rule: Rule = RULE, groups: Any = None) -> Any:
        old, new = (make(share(acc1=outcome), groups=groups) for outcome in (before, after))
        new = replace(new, slices=write_slices(variables, tmp_path))
        numbers = list(compare_metrics(old, new))
        slices = [*compare_case_slices(old, new, new, numbers, tmp_path)]
        return decide_slices(slices, rule), slices

    return verdicts


def test_dogs_lost_and_nothing_else_did(verdicts: Any) -> None:
    before = np.ones(400)
    after = np.ones(400)
    after[100:120] = 0
    decided, slices = verdicts(before, after, [variable(np.arange(400) // 100)])
    assert [(v.comparison.name, v.decision) for v in decided] == [("acc1 (ImGT, class=c1)", REGRESSION)]
    (line,) = describe_slices(decided, slices)
    assert line == (
        "imagenet/val/m[] (zero_shot): slices of acc1 (ImGT): class=c1 lost 20.0 points (n=100, 100 right before, "
        "80 now, all others unchanged, p=1.9e-06 adjusted); 1 of 4 slices lost"
    )


def test_a_loss_of_all_classes_alike_names_none(verdicts: Any) -> None:
    before, after = np.ones(400), np.ones(400)
    after[::5] = 0
    assert verdicts(before, after, [variable(np.arange(400) // 100)])[0] == []


def test_a_slice_that_stayed_is_not_named_and_the_loss_of_the_others_stands_beside_one_that_lost_more(
    verdicts: Any,
) -> None:
    before, after = np.ones(400), np.ones(400)
    after[:40], after[100:300:20] = 0, 0
    decided, slices = verdicts(before, after, [variable(np.arange(400) // 100)])
    (line,) = describe_slices(decided, slices)
    assert "class=c0 lost 40.0 points (n=100, 100 right before, 60 now, the others lost 3.3 points, p=" in line
    assert line.endswith("; 1 of 4 slices lost")


def test_a_case_without_a_primary_proportion_has_slices_of_its_first_proportion(
    make: Any, share: Any, drawn: Any, tmp_path: Path
) -> None:
    before, after = np.ones(40), np.repeat([1.0, 0.0], 20)
    old, new = (make([drawn(outcome), *share(acc=outcome, tree_acc=before)]) for outcome in (before, after))
    new = replace(new, slices=write_slices([variable(np.arange(40) // 20)], tmp_path))
    numbers = list(compare_metrics(old, new))
    assert (numbers[0].metric.name, numbers[0].primary) == ("f1", True)
    slices = [*compare_case_slices(old, new, new, numbers, tmp_path)]
    (line,) = describe_slices(decide_slices(slices, RULE), slices)
    assert ": slices of acc (ImGT): class=c1 lost 100.0 points" in line


def test_a_case_without_a_proportion_has_no_slices(make: Any, drawn: Any, tmp_path: Path) -> None:
    case = make([drawn(np.ones(40))], samples=40)
    case = replace(case, slices=write_slices([variable(np.arange(40) // 20)], tmp_path))
    assert [*compare_case_slices(case, case, case, list(compare_metrics(case, case)), tmp_path)] == []


def test_a_gain_is_named_after_the_losses(verdicts: Any) -> None:
    before, after = np.repeat([1.0, 0.0, 1.0], 30), np.repeat([1.0, 1.0, 0.0], 30)
    decided, slices = verdicts(before, after, [variable(np.arange(90) // 30)])
    assert [verdict.decision for verdict in decided] == [IMPROVEMENT, REGRESSION]
    (line,) = describe_slices(decided, slices)
    assert line.index("class=c2 lost 100.0 points") < line.index("class=c1 gained 100.0 points")
    assert line.endswith("1 of 3 slices lost, 1 gained")


def test_nothing_is_said_of_slices_without_a_change_unless_verbose(verdicts: Any) -> None:
    decided, slices = verdicts(np.ones(20), np.ones(20), [variable(np.arange(20) // 10)])
    assert [*describe_slices(decided, slices)] == []
    assert [*describe_slices(decided, slices, verbose=True)] == [
        "imagenet/val/m[] (zero_shot): slices of acc1 (ImGT): 0 of 2 slices lost"
    ]


def test_verbose_names_the_largest_losses_that_may_be_chance(verdicts: Any) -> None:
    before, after = np.ones(40), np.ones(40)
    after[[0, 1, 12, 24, 25]], before[25] = 0, 0
    decided, slices = verdicts(before, after, [variable(np.arange(40) // 10)])
    assert [*describe_slices(decided, slices)] == []
    (line,) = describe_slices(decided, slices, verbose=True)
    losses = "class=c0 2 lost, 0 gained (n=10), class=c1 1 lost, 0 gained (n=10), class=c2 1 lost, 0 gained (n=10)"
    assert line.endswith(f"0 of 4 slices lost; not significantly: {losses}")


def test_a_slice_fails_a_case_by_a_rule_on_its_subset_alone(verdicts: Any) -> None:
    slices = [variable(np.arange(40) // 20)]
    before, after = np.ones(40), np.repeat([1.0, 0.0], 20)
    every, own = (Policy(rules=(PolicyRule(subset=subset, tier="critical"),)) for subset in ("*", "class=c1"))
    assert not any(v.regression for v in verdicts(before, after, slices, Rule(ALPHA, policy=every))[0])
    assert [v.regression for v in verdicts(before, after, slices, Rule(ALPHA, policy=own))[0]] == [False, True]


@pytest.mark.parametrize("size", [1, 3])
def test_each_slice_has_the_numbers_of_the_tests_of_whole_metrics(make: Any, share: Any, size: int) -> None:
    chance = np.random.default_rng(size)
    codes, groups = chance.integers(-1, 4, 300), np.arange(300) // size
    before, after = (np.where(chance.random(300) < 0.1, np.nan, chance.random(300) < 0.6) for _ in range(2))
    (whole,) = compare_metrics(make(share(acc1=before)), make(share(acc1=after)))
    changes = SliceChanges.count(variable(codes), whole, before, after, groups)
    for index in range(4):
        rows = codes == index
        test = clustered_mcnemar(before[rows], after[rows], groups[rows])
        counts = (changes.lost[index], changes.gained[index], changes.n[index])
        assert counts == (test.lost, test.gained, test.n)
        assert changes.least[index] <= changes.p[index] + 1e-12
        if size == 1:
            interval = clustered_change_interval(before[rows], after[rows], groups[rows])
            assert changes.interval(index) == pytest.approx(interval)


def test_slices_of_the_samples_that_both_runs_have(make: Any, share: Any, tmp_path: Path) -> None:
    run = replace(make(share(acc1=np.ones(40))), slices=write_slices([variable(np.arange(40) // 20)], tmp_path))
    before = make(share(acc1=np.ones(10)))
    after = replace(make(share(acc1=np.repeat([1.0, 0.0], 5))), keys=run.keys[15:25], slices=run.slices)
    (part,) = compare_case_slices(before, after, run, compare_metrics(before, after), tmp_path)
    assert (part.n.tolist(), part.lost.tolist()) == ([5, 5], [0, 5])


def test_a_sequential_run_has_no_slices(make: Any, share: Any, tmp_path: Path) -> None:
    before, after = make(share(acc1=np.ones(40))), make(share(acc1=np.repeat([1.0, 0.0], 20)))
    run = replace(after, slices=write_slices([variable(np.arange(40) // 20)], tmp_path))
    numbers = list(compare_metrics(before, run))
    assert len([*compare_case_slices(before, run, run, numbers, tmp_path)]) == 1
    assert [*compare_case_slices(before, run, replace(run, sequential=True), numbers, tmp_path)] == []


def test_a_damaged_file_of_slices_is_refused(make: Any, share: Any, tmp_path: Path) -> None:
    case = replace(make(share(acc1=np.ones(4))), slices=write_slices([variable([0, 0, 1, 1])], tmp_path))
    (file,) = (tmp_path / "slices").iterdir()
    assert read_slices(case, tmp_path)[0].codes.tolist() == [0, 0, 1, 1]
    file.write_bytes(file.read_bytes().replace(b"c1", b"c2"))
    with pytest.raises(ReportError, match=r"cannot be read \(its content has another digest"):
        read_slices(case, tmp_path)


def test_slices_that_cannot_be_significant_are_not_counted() -> None:
    p, least = [0.01, 0.012, 0.03, 1.0, 1.0], [1e-4, 0.001, 0.03, 0.5, 1.0]
    assert discrete_benjamini_hochberg(p, least, ALPHA).tolist() == [0.012, 0.012, 1, 1, 1]
    assert discrete_benjamini_hochberg([0.5], [0.5], ALPHA).tolist() == [1]


def session(chance: np.random.Generator, loss: Any, size: int, changed: float) -> tuple[Any, Any, Any]:
    """Outcomes of 20 classes of 60 images in clusters of `size`; `loss` (20,) is the true loss of each class."""
    units = np.arange(1200) // size
    lost, gained = ((changed + sign * loss.repeat(60 // size)) / 2 for sign in (1, -1))
    draw = chance.random(len(lost))
    step = np.where(draw < lost, -1, np.where(draw < lost + gained, 1, 0))[units]
    before = np.where(step == 0, chance.random(1200) < 0.7, step < 0).astype(float)
    return before, np.where(step == 0, before, step > 0).astype(float), units


CODES = np.arange(1200) // 60
OVERLAPPING = [variable(CODES), variable(CODES // 4, "group"), variable(np.arange(1200) % 3, "light")]


@pytest.fixture
def false_rate(make: Any, share: Any) -> Any:
    """The proportion of wrong slices among those called significant, by session; all slices overlap two others."""
    (whole,) = compare_metrics(make(share(acc1=np.ones(1200))), make(share(acc1=np.ones(1200))))

    def false_rate(loss: Any, size: int, changed: float, sessions: int) -> list[float]:
        chance, rates = np.random.default_rng(17), []
        true = np.concatenate([loss, loss.reshape(5, 4).mean(1), np.full(3, loss.mean())]) != loss.mean()
        for _ in range(sessions):
            before, after, units = session(chance, loss, size, changed)
            counts = [SliceChanges.count(part, whole, before, after, units) for part in OVERLAPPING]
            p, least = (np.concatenate([getattr(part, name) for part in counts]) for name in ("p", "least"))
            significant = discrete_benjamini_hochberg(p, least, ALPHA) < ALPHA
            rates.append(float((significant & ~true).sum() / max(1, significant.sum())))
        return rates

    return false_rate


SESSIONS = pytest.mark.parametrize("sessions", [40, pytest.param(300, marks=pytest.mark.deep)])


@SESSIONS
@pytest.mark.parametrize(("size", "changed"), [(1, 0.05), (1, 0.3), (3, 0.3)])
def test_without_a_change_a_slice_is_significant_in_at_most_alpha_of_the_sessions(
    false_rate: Any, size: int, changed: float, sessions: int
) -> None:
    rates = false_rate(np.zeros(20), size, changed, sessions)
    wrong = sum(rate > 0 for rate in rates)
    assert binomtest(wrong, len(rates), ALPHA, alternative="greater").pvalue > SURE


@SESSIONS
@pytest.mark.parametrize("size", [1, 3])
def test_a_uniform_loss_of_four_points_names_a_slice_in_at_most_alpha_of_the_sessions(
    false_rate: Any, size: int, sessions: int
) -> None:
    rates = false_rate(np.full(20, 0.04), size, 0.06, sessions)
    wrong = sum(rate > 0 for rate in rates)
    assert binomtest(wrong, len(rates), ALPHA, alternative="greater").pvalue > SURE


@SESSIONS
@pytest.mark.parametrize("size", [1, 3])
def test_the_false_discovery_rate_with_some_classes_that_lost(false_rate: Any, size: int, sessions: int) -> None:
    """A class that gains as much as one loses leaves the mean of all classes, and of the lights, without a change."""
    loss = np.repeat([0.28, -0.28, 0.0], [1, 1, 18])
    rates = np.array(false_rate(loss, size, 0.3, sessions))
    assert rates.mean() - 3 * rates.std() / len(rates) ** 0.5 < ALPHA


def test_dogs_that_lost_twenty_points_are_found(verdicts: Any) -> None:
    """With 1 of 20 classes of 60 images at a loss, and 2 % of the images of the others changed."""
    chance, detected = np.random.default_rng(5), 0
    for _ in range(60):
        before, after, _ = session(chance, np.zeros(20), 1, 0.02)
        after[:60] = np.where(chance.random(60) < 0.2, 0, before[:60])
        before[:60] = np.where(after[:60] == 0, 1, before[:60])
        decided, _ = verdicts(before, after, [variable(CODES)])
        detected += [(v.comparison.metric.subset, v.decision) for v in decided][:1] == [("class=c0", REGRESSION)]
    assert detected >= 55


def test_a_thousand_classes_of_fifty_thousand_images_take_less_than_a_second(verdicts: Any) -> None:
    chance = np.random.default_rng(3)
    codes = np.tile(np.arange(1000), 50)
    before, after = ((chance.random(50_000) < 0.7).astype(float) for _ in range(2))
    after[codes < 200] = 0
    start = time.perf_counter()
    decided, slices = verdicts(before, after, [variable(codes)])
    assert len(decided) > 150
    assert count_slices(slices) == 1000
    assert time.perf_counter() - start < 1
