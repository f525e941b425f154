"""Average precision is scikit-learn's, whatever the ties; resamples are those of repeated images."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from eyechart.statistics.average_precision import (
    average_precision,
    mean_average_precision,
    mean_average_precision_bootstrap,
)

images = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9, -3.0]), st.booleans()), min_size=1, max_size=30)


@given(images)
def test_it_is_that_of_scikit_learn(pairs: list[tuple[float, bool]]) -> None:
    scores, relevant = map(np.array, zip(*pairs, strict=True))
    value = average_precision(scores, relevant)
    if relevant.any():
        assert value == pytest.approx(average_precision_score(relevant, scores))
    else:
        assert np.isnan(value)


@given(images, st.integers(0, 99))
def test_the_order_of_images_does_not_matter(pairs: list[tuple[float, bool]], seed: int) -> None:
    scores, relevant = map(np.array, zip(*pairs, strict=True))
    order = np.random.default_rng(seed).permutation(len(scores))
    assert average_precision(scores[order], relevant[order]) == pytest.approx(
        average_precision(scores, relevant), nan_ok=True
    )


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 99))
def test_a_resample_has_the_value_of_its_images(n: int, classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, relevant = random.integers(0, 5, (n, classes)) / 4, random.random((n, classes)) < 0.4
    scores[random.random(n) < 0.2] = np.nan  # images that do not count
    samples = [np.bincount(random.integers(n, size=n), minlength=n) for _ in range(5)]
    expected = [
        mean_average_precision(scores.repeat(counts, axis=0), relevant.repeat(counts, axis=0)) for counts in samples
    ]
    np.testing.assert_allclose(mean_average_precision_bootstrap(scores, relevant, samples), expected)


def test_images_that_do_not_count_change_nothing() -> None:
    scores, relevant = np.array([[0.9], [np.nan], [0.4]]), np.array([[0], [1], [1]])
    assert mean_average_precision(scores, relevant) == mean_average_precision(scores[[0, 2]], relevant[[0, 2]]) == 0.5


@pytest.mark.parametrize(("scores", "relevant"), [([[0.1]], [[1, 0]]), ([0.1], [1]), ([[0.1], [0.2]], [[1]])])
def test_tables_of_other_shapes_are_refused(scores: object, relevant: object) -> None:
    with pytest.raises(ValueError, match="mean_average_precision"):
        mean_average_precision(scores, relevant)
