"""Yes and no against scikit-learn, plain loops, and what balance implies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, matthews_corrcoef, precision_recall_fscore_support

from eyechart.statistics.yes_no import (
    MEASURES,
    MISSING,
    NO,
    UNPARSED,
    YES,
    confusion_measures,
    confusion_tables,
    derive_measures,
)

counts = st.tuples(*[st.integers(0, 6)] * 4)
questions = st.tuples(st.sampled_from([YES, NO, UNPARSED, MISSING]), st.booleans())
answered = st.integers(1, 3).flatmap(
    lambda q: st.lists(st.lists(questions, min_size=q, max_size=q), min_size=1, max_size=12)
)


def columns(drawn):
    answers = np.array([[said for said, _ in row] for row in drawn], np.int64).reshape(len(drawn), -1)
    return answers, np.array([[right for _, right in row] for row in drawn], bool).reshape(answers.shape)


def plain_table(row):
    """One pair's cells, question by question."""
    cells = [0, 0, 0, 0]
    for said, right in row:
        yes = not right if said == UNPARSED else said == YES
        cells[2 * (not yes) + (not right)] += said != MISSING
    return cells


def vectors(table):
    """Truth and answer of every question in a table."""
    return np.repeat([1, 0, 1, 0], table), np.repeat([1, 1, 0, 0], table)


@given(answered)
def test_a_table_is_a_plain_count(drawn) -> None:
    assert confusion_tables(*columns(drawn)).tolist() == [plain_table(row) for row in drawn]


def test_each_answer_to_either_question_by_hand() -> None:
    answers = [[1], [1], [0], [0], [-1], [-1], [-2], [-2]]  # yes, no, unparsed and missing
    true, false = [True], [False]
    assert confusion_tables(answers, [true, false] * 4).tolist() == [
        [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [0] * 4, [0] * 4,
    ]  # fmt: skip


@given(answered)
def test_what_could_not_be_read_is_wrong_and_what_is_missing_is_nowhere(drawn) -> None:
    answers, expected = columns(drawn)
    wrong = np.where(answers == UNPARSED, np.where(expected, NO, YES), answers)
    np.testing.assert_array_equal(confusion_tables(answers, expected), confusion_tables(wrong, expected))
    assert confusion_tables(answers, expected).sum() == (answers != MISSING).sum()


@pytest.mark.filterwarnings("ignore:A single label was found:UserWarning")  # which is what is tried here
@given(counts.filter(any))
def test_measures_are_scikit_learns_on_every_margin(table) -> None:
    truth, said = vectors(table)
    precision, recall, f1, _ = precision_recall_fscore_support(truth, said, average="binary", zero_division=0)
    theirs = (accuracy_score(truth, said), f1, precision, recall, matthews_corrcoef(truth, said))
    assert tuple(confusion_measures(table).values()) == pytest.approx(theirs)


@given(st.lists(counts, min_size=1, max_size=5), st.integers(1, 1000))
def test_measures_work_row_by_row_and_do_not_depend_on_the_size(rows, times) -> None:
    together, larger = confusion_measures(rows), confusion_measures(np.array(rows) * times)
    for index, row in enumerate(rows):
        for name in MEASURES:
            assert confusion_measures(row)[name] == pytest.approx(together[name][index], nan_ok=True)
            assert larger[name][index] == pytest.approx(together[name][index], nan_ok=True)


@given(counts)
def test_exchanging_yes_and_no_leaves_accuracy_and_matthews_correlation(table) -> None:
    found, turned = confusion_measures(table), confusion_measures(table[::-1])
    for name in ("acc", "mcc"):
        assert turned[name] == pytest.approx(float(found[name]), nan_ok=True)


@given(counts)
def test_right_and_wrong_exchanged_turn_matthews_correlation(table) -> None:
    tp, fp, fn, tn = table
    assert confusion_measures((fn, tn, tp, fp))["mcc"] == pytest.approx(-confusion_measures(table)["mcc"], nan_ok=True)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ((0, 0, 3, 3), (0.5, 0, 0, 0, 0)),  # no answer yes
        ((3, 3, 0, 0), (0.5, 2 / 3, 0.5, 1, 0)),  # no answer no
        ((0, 2, 0, 2), (0.5, 0, 0, 0, 0)),  # nothing to say yes to
        ((0, 0, 0, 4), (1, 0, 0, 0, 0)),  # nor said
        ((4, 0, 0, 0), (1, 1, 1, 1, 0)),  # nothing to say no to
        ((4, 0, 0, 4), (1, 1, 1, 1, 1)),
        ((0, 4, 4, 0), (0, 0, 0, 0, -1)),
        ((0, 0, 0, 0), (np.nan,) * 5),
    ],
)
def test_degenerate_margins(table, expected) -> None:
    assert tuple(confusion_measures(table).values()) == pytest.approx(expected, nan_ok=True)


def test_counts_of_millions_do_not_overflow() -> None:
    assert confusion_measures(np.array([10**9, 0, 0, 10**9]))["mcc"] == 1


@given(st.integers(0, 50), st.integers(0, 50), st.integers(50, 90))
def test_balance_leaves_no_choice(tp, tn, half) -> None:
    found = confusion_measures((tp, half - tn, half - tp, tn))
    implied = derive_measures(found["acc"], found["recall"])
    assert implied["fpr"] == pytest.approx((half - tn) / half, abs=1e-12)
    for name in ("precision", "f1", "mcc"):
        assert implied[name] == pytest.approx(float(found[name]), abs=1e-9)


def test_what_cannot_be_has_a_rate_outside_the_unit() -> None:
    assert derive_measures([0.9, 0.2], [0.5, 0.9])["fpr"] == pytest.approx([-0.3, 1.5])
    assert np.isnan(derive_measures(np.nan, 0.5)["mcc"])


@given(st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_derived_broadcasts(accuracy, recalls) -> None:
    together = derive_measures(accuracy, recalls)
    for index, recall in enumerate(recalls):
        assert {name: values[index] for name, values in together.items()} == derive_measures(accuracy, recall)
