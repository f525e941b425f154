"""Numbers of pairs: scikit-learn finds the same ones, sets partition the pairs, outcomes add up to all answers."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from eyechart.models.types import Usage
from eyechart.oodbench.answers.pair_predictions import ExistencePredictions, ProgressionPredictions
from eyechart.oodbench.division.pairs import Division
from eyechart.oodbench.metrics.pair_estimates import answer_shares, degradation, stage_accuracies, yes_no_measures
from eyechart.results.estimates import Estimate
from eyechart.results.records import Metric
from eyechart.statistics.degenerate_intervals import share_interval
from eyechart.statistics.yes_no import MEASURES, MISSING, UNPARSED, YES

pytestmark = pytest.mark.deep

SETS = ("ID", "OOD-S", "OOD-H", "Hard")
PAIR = st.tuples(
    st.sampled_from(SETS), st.booleans(), st.booleans(), st.tuples(*[st.integers(UNPARSED, YES)] * 2), st.booleans()
)
NUMBERS = settings(max_examples=15)
SAID = {
    "errors": {},
    "usage": Usage(),
    "cost": None,
    "timings": {},
    "names": (),
    "seed": 7,
}


def divided(sets: list[str], main: list[bool], present: list[bool], rows: list[int] | None = None) -> Division:
    """A division with these pairs."""
    m = len(sets)
    return Division(
        rows=np.array(range(m) if rows is None else rows, np.int64),
        categories=np.zeros(m, np.int64),
        sets=tuple(sets),
        main=np.array(main, np.bool_),
        present=np.array(present, np.bool_),
        flags=np.zeros((m, 0), np.int64),
        hardness=np.full(m, np.nan),
        detectors=(),
        parameters={},
        fingerprint="",
        annotation="",
    )


def told(pairs: list[Any], benchmark: str = "initial", images: list[int] | None = None) -> ExistencePredictions:
    """Answers to two questions about every pair; some pairs ended in an error."""
    sets, main, present, answers, lost = ([pair[part] for pair in pairs] for part in range(5))
    whole = np.array([(MISSING, MISSING) if gone else both for both, gone in zip(answers, lost, strict=True)], np.int64)
    division = divided(
        sets, [one or name in ("ID", "Hard") for one, name in zip(main, sets, strict=True)], present, images
    )
    asked = np.arange(len(sets)) if benchmark == "initial" else np.flatnonzero(division.main)
    said = SAID | {
        "variant": {"division_scope": benchmark},
    }
    return ExistencePredictions(
        pictures(0), division, indices=asked, answers=whole.reshape(-1, 2)[asked], completions=(), **said
    )


def pictures(count: int) -> Any:
    """A data set of which only the keys matter."""
    return SimpleNamespace(keys=("",) * count)


def existence_estimates(found: ExistencePredictions) -> Iterator[Estimate]:
    """Every number of a case of existence."""
    for metric in (yes_no_measures, answer_shares, degradation):
        yield from metric(found)


def metrics_of(estimates: Iterable[Estimate]) -> list[Metric]:
    """The numbers as a record has them."""
    return [estimate.metric for estimate in estimates]


def numbers(found: ExistencePredictions) -> dict[tuple[str, str], Metric]:
    return {(one.name, one.subset): one for one in metrics_of(existence_estimates(found))}


def pooled(found: ExistencePredictions, mask: Any) -> tuple[Any, Any]:
    """What is right and what was said, question by question; what could not be parsed is the wrong one."""
    said, right = found.answers[mask].ravel(), found.expected[mask].ravel()
    kept = said != MISSING
    return right[kept], np.where(said == UNPARSED, ~right, said == YES)[kept]


@NUMBERS
@given(st.lists(PAIR, min_size=1, max_size=12))
def test_scikit_learn_finds_the_same_numbers(pairs: list[Any]) -> None:
    found = told(pairs)
    scored = numbers(found)
    for name, mask in found.set_masks():
        right, said = pooled(found, mask)
        values = [scored[measure, name].value for measure in MEASURES]
        assert values == ([None] * 5 if not len(right) else pytest.approx(reference(right, said)))
        assert {scored[measure, name].n for measure in MEASURES} == {len(right)}


def reference(right: Any, said: Any) -> list[float]:
    """Accuracy, F1, precision, recall and Matthews' correlation by scikit-learn; a share of nothing is 0."""
    shares = metrics.precision_recall_fscore_support(right, said, average="binary", zero_division=0)
    table = metrics.confusion_matrix(right, said, labels=[False, True])
    empty = 0 in (*table.sum(axis=0), *table.sum(axis=1))
    mcc = 0.0 if empty else metrics.matthews_corrcoef(right, said)
    return [metrics.accuracy_score(right, said), shares[2], shares[0], shares[1], mcc]


@NUMBERS
@given(st.lists(PAIR, min_size=1, max_size=12))
def test_shares_of_answers_are_those_of_answers_that_came(pairs: list[Any]) -> None:
    found = told(pairs)
    scored = numbers(found)
    for name, mask in found.set_masks():
        came = found.answers[mask][found.answers[mask] != MISSING]
        for what, code in (("yes_rate", YES), ("unparsed", UNPARSED)):
            wanted = pytest.approx((came == code).mean()) if len(came) else None
            assert (scored[what, name].value, scored[what, name].n) == (wanted, len(came))


@NUMBERS
@given(st.lists(PAIR, min_size=1, max_size=12), st.sampled_from(["main", "initial"]))
def test_sets_partition_the_pairs(pairs: list[Any], benchmark: str) -> None:
    found = told(pairs, benchmark)
    masks = dict(found.set_masks())
    plain = [mask for name, mask in masks.items() if not name.endswith("'")]
    assert (np.sum(plain, axis=0) == found.division.main[found.indices]).all()
    assert {name for name in masks if name.endswith("'")} == ({"OOD-S'", "OOD-H'"} if benchmark == "initial" else set())
    if benchmark == "initial":
        whole = [masks[name] for name in ("OOD-S'", "OOD-H'")] + [mask for name, mask in masks.items() if name in SETS]
        assert (np.sum(whole, axis=0) >= 1).all()


@NUMBERS
@given(st.lists(PAIR, max_size=12))
def test_outcomes_add_up_to_all_answers(pairs: list[Any]) -> None:
    found = told(pairs)
    came = found.count_outcomes()
    assert came.correct + came.wrong + came.unparsed + came.error == found.answers.size
    assert came.error == 2 * sum(lost for *_, lost in pairs)


@NUMBERS
@given(st.lists(PAIR, min_size=1, max_size=12))
def test_intervals_hold_their_values(pairs: list[Any]) -> None:
    for one in metrics_of(existence_estimates(told(pairs))):
        assert (one.value is None) <= (one.ci is None)
        if one.ci is not None and one.value is not None:
            assert one.ci[0] - 1e-9 <= one.value <= one.ci[1] + 1e-9


@NUMBERS
@given(st.lists(PAIR, min_size=1, max_size=12))
def test_falls_are_from_the_pairs_in_distribution(pairs: list[Any]) -> None:
    scored = numbers(told(pairs))
    falls = {key: one for key, one in scored.items() if key[0].endswith("_delta")}
    assert ("acc_delta", "ID") not in falls
    for (name, category), one in falls.items():
        first, second = (scored[name.removesuffix("_delta"), of] for of in ("ID", category))
        known = None not in (first.value, second.value)
        assert one.value == (pytest.approx(first.value - second.value) if known else None)
        assert one.n == first.n + second.n


def test_pairs_without_an_answer_change_no_number() -> None:
    pairs = [(name, True, True, (1, index % 2), False) for index in range(20) for name in SETS]
    lost = [(name, True, True, (0, 0), True) for name in SETS]
    assert numbers(told([*pairs, *lost])) == numbers(told(pairs))


def test_both_questions_of_a_pair_are_drawn_together() -> None:
    """Whoever says the same to both is right once a pair, whichever pairs are drawn; falls are as sure."""
    pairs = [(name, True, True, (index % 2,) * 2, False) for index in range(30) for name in SETS]
    scored = numbers(told(pairs))
    other = share_interval([0.5], 0.5, 30)  # resamples do not differ, which does not make thirty pairs sure
    assert [scored["acc", name].ci for name in SETS] == [pytest.approx(other)] * 4
    assert scored["acc_delta", "OOD-H"].ci == pytest.approx((-0.08, 0.08), abs=0.01)
    assert scored["recall", "ID"].ci != pytest.approx(other)


def test_pairs_of_one_image_are_drawn_together() -> None:
    """Three pairs of one image, all answered alike, say no more than one; so do the numbers' units."""
    once = [(name, True, True, (1, index % 2), False) for index in range(30) for name in SETS]
    often = [pair for pair in once for _ in range(3)]
    alone, apart, together = told(once), told(often), told(often, images=[at // 3 for at in range(len(often))])
    found = numbers(together)
    for key, one in numbers(alone).items():
        assert found[key].ci == (None if one.ci is None else pytest.approx(one.ci))
    wide, narrow = found["acc", "ID"].ci, numbers(apart)["acc", "ID"].ci
    assert wide is not None
    assert narrow is not None
    assert wide[1] - wide[0] > 1.5 * (narrow[1] - narrow[0])
    of_three, of_one = ({each.key: each.n_clusters for each in existence_estimates(of)} for of in (together, alone))
    assert of_three == of_one
    assert of_three["acc", "OODBench", "ID", "", ""] == 30
    assert of_three["acc_delta", "OODBench", "OOD-H", "", ""] == 60
    assert None not in of_three.values()


def test_sets_that_are_alike_fall_by_nothing() -> None:
    scored = numbers(told([(name, True, True, (1, index % 2), False) for index in range(30) for name in SETS]))
    assert scored["acc_delta", "OOD-H"].value == 0
    assert scored["acc_p", "OOD-H"].value == pytest.approx(0.5, abs=0.15)
    assert scored["acc_p", "OOD-H"].ci_method == "permutation"


def test_a_clear_fall_is_as_rare_as_two_thousand_shuffles_can_show() -> None:
    scored = numbers(told([(name, True, True, (int(name == "ID"), 0), False) for _ in range(30) for name in SETS]))
    assert scored["acc_p", "OOD-H"].value == pytest.approx(1 / 2001)


def test_another_seed_draws_anew_and_the_same_one_does_not() -> None:
    found = told([(name, True, True, (1, index % 3 > 0), False) for index in range(30) for name in SETS])
    first, again, other = (metrics_of(existence_estimates(replace(found, seed=seed))) for seed in (7, 7, 8))
    assert first == again != other


SAMPLE = st.tuples(
    st.sampled_from(SETS[:3]),
    st.integers(0, 4),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(MISSING, YES), st.integers(MISSING, 3), st.integers(MISSING, YES)),
)


def asked(samples: list[Any]) -> ProgressionPredictions:
    """Answers to three questions about every sample, whose pairs stand side by side in the division."""
    sets, rows, counts, answers = ([sample[part] for sample in samples] for part in range(4))
    twice = [part for part in range(len(samples)) for _ in range(2)]
    division = divided([sets[at] for at in twice], [True] * len(twice), [True] * len(twice), [rows[at] for at in twice])
    table = np.array(answers, np.int64).reshape(-1, 3)
    return ProgressionPredictions(
        pictures(0),
        division,
        first=np.arange(0, len(twice), 2),
        second=np.arange(1, len(twice), 2),
        counts=np.array(counts, np.int64).reshape(-1, 2),
        existence=table[:, 0],
        counting=table[:, 1],
        logic=table[:, 2],
        completions=(),
        variant={},
        **SAID,
    )


@NUMBERS
@given(st.lists(SAMPLE, min_size=1, max_size=12))
def test_stages_are_shares_of_samples_without_an_error(samples: list[Any]) -> None:
    scored = {(one.name, one.subset): one for one in metrics_of(stage_accuracies(asked(samples)))}
    for name in {sample[0] for sample in samples}:
        whole = [sample[2:] for sample in samples if sample[0] == name and MISSING not in sample[3]]
        right = [(e == YES, c == n[1], c == n[1] and x == (n[0] > n[1])) for n, (e, c, x) in whole]
        found = [scored[stage, name] for stage in ("e_acc", "c_acc", "l_acc")]
        wanted = pytest.approx(np.mean(right, axis=0).tolist()) if whole else [None] * 3
        assert ([one.value for one in found], {one.n for one in found}) == (wanted, {len(whole)})


@NUMBERS
@given(st.lists(SAMPLE, min_size=1, max_size=12))
def test_logic_is_never_better_than_counting(samples: list[Any]) -> None:
    scored = {(one.name, one.subset): one.value for one in metrics_of(stage_accuracies(asked(samples)))}
    for _, name in scored:
        assert (scored["l_acc", name] or 0) <= (scored["c_acc", name] or 0)


@NUMBERS
@given(st.lists(SAMPLE, max_size=12))
def test_outcomes_of_samples_add_up_to_all_answers(samples: list[Any]) -> None:
    came = asked(samples).count_outcomes()
    assert came.correct + came.wrong + came.unparsed + came.error == 3 * len(samples)
    assert came.error == sum(answer == MISSING for sample in samples for answer in sample[3])


def test_samples_of_one_image_are_drawn_together() -> None:
    alike = [("ID", index // 10, (1, 1), (int(index < 20), 1, 0)) for index in range(40)]
    apart = [(name, index, counts, said) for index, (name, _, counts, said) in enumerate(alike)]
    wide, narrow = (next(stage_accuracies(asked(samples))).metric.ci for samples in (alike, apart))
    assert wide is not None
    assert narrow is not None
    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])
