"""The cells of sample tables against those that are written image by image."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eyechart.classification.answers.image_answers import format_classes, format_outcomes, format_scores, join_texts

NAMES = ("cat", "", "great white shark", "hen")
classes = st.integers(-1, len(NAMES) - 1)
tables = arrays(np.int64, st.tuples(st.integers(0, 6), st.integers(0, 3)), elements=classes)


@given(tables)
def test_labels_are_joined_as_image_by_image(labels) -> None:
    expected = ["; ".join(NAMES[label] for label in row if label >= 0) for row in labels.tolist()]
    assert [*join_texts(labels, NAMES.__getitem__, "; ")] == expected


@given(arrays(np.int64, st.integers(0, 8), elements=classes))
def test_classes_are_named_as_image_by_image(found) -> None:
    assert [*format_classes(found, NAMES.__getitem__)] == [NAMES[one] if one >= 0 else "" for one in found.tolist()]
    assert [*format_classes(found)] == [str(one) if one >= 0 else "" for one in found.tolist()]


@given(st.lists(st.sampled_from([0.0, 1.0, math.nan])))
def test_outcomes_are_digits(correct) -> None:
    found = format_outcomes(np.array(correct, np.float64))
    assert [*found] == ["" if math.isnan(one) else str(int(one)) for one in correct]


@given(st.lists(st.tuples(st.floats(width=32), classes)))
def test_scores_have_six_digits(rows) -> None:
    scores, indices = np.array([row[0] for row in rows], np.float32), np.array([row[1] for row in rows], np.int64)
    expected = [f"{score:.6g}" if index >= 0 else "" for score, index in rows]
    assert [*format_scores(scores, indices)] == expected
