"""Equivalence expansion: closed, fair to order, and never to anyone's harm."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eyechart.statistics.accuracy import hits
from eyechart.statistics.equivalence import equivalence_groups, expand_labels

CLASSES = 9
STRICT = pytest.mark.parametrize("strict", [False, True])
classes = st.integers(0, CLASSES - 1)
pair_lists = st.lists(st.tuples(classes, classes), max_size=8)
label_tables = arrays(np.int64, st.tuples(st.integers(0, 6), st.integers(0, 4)), elements=st.integers(-1, CLASSES - 1))


def sets(table):
    return [set(row) - {-1} for row in table.tolist()]


def closed(labels, pairs, rounds=CLASSES):
    """The same by walking over the pairs, one step a round."""
    for _ in range(rounds):
        labels = labels | {b for a, b in pairs if a in labels} | {a for a, b in pairs if b in labels}
    return labels


@pytest.fixture(scope="session")
def twelve():
    path = Path(__file__).parents[1] / "golden" / "equivalent_pairs.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [(int(row["a"]), int(row["b"])) for row in csv.DictReader(file)]


@given(label_tables, pair_lists)
def test_expansion_walks_every_chain_of_pairs(labels, pairs) -> None:
    assert sets(expand_labels(labels, pairs, CLASSES)) == [closed(row, pairs) for row in sets(labels)]


@given(label_tables, pair_lists)
def test_strict_expansion_walks_one_step(labels, pairs) -> None:
    expected = [closed(row, pairs, rounds=0) | step(row, pairs) for row in sets(labels)]
    assert sets(expand_labels(labels, pairs, CLASSES, strict=True)) == expected


def step(labels, pairs):
    return {b for a, b in pairs if a in labels} | {a for a, b in pairs if b in labels}


@given(label_tables, pair_lists)
def test_idempotent(labels, pairs) -> None:
    once = expand_labels(labels, pairs, CLASSES)
    np.testing.assert_array_equal(expand_labels(once, pairs, CLASSES), once)


@STRICT
@given(pairs=pair_lists)
def test_symmetric(strict, pairs) -> None:
    admits = sets(expand_labels(np.arange(CLASSES)[:, None], pairs, CLASSES, strict=strict))
    assert all((a in admits[b]) == (b in admits[a]) for a in range(CLASSES) for b in range(CLASSES))


@STRICT
@given(label_tables, pair_lists, pair_lists, st.lists(classes, max_size=3))
def test_monotone_in_pairs_and_labels(strict, labels, pairs, more_pairs, more_labels) -> None:
    more = np.hstack([labels, np.tile(np.array(more_labels, np.int64), (len(labels), 1))])
    small = sets(expand_labels(labels, pairs, CLASSES, strict=strict))
    large = sets(expand_labels(more, pairs + more_pairs, CLASSES, strict=strict))
    assert all(a <= b for a, b in zip(small, large, strict=True))


@STRICT
@given(label_tables, pair_lists, st.randoms(use_true_random=False))
def test_free_of_order(strict, labels, pairs, random) -> None:
    turned = [pair[:: random.choice([1, -1])] for pair in random.sample(pairs, len(pairs))]
    shuffled = np.random.default_rng(random.randrange(99)).permuted(labels, axis=1)
    np.testing.assert_array_equal(
        expand_labels(shuffled, turned, CLASSES, strict=strict), expand_labels(labels, pairs, CLASSES, strict=strict)
    )


@STRICT
@given(label_tables, pair_lists, st.data())
def test_never_lowers_accuracy(strict, labels, pairs, data) -> None:
    top = data.draw(arrays(np.int64, (len(labels), 2), elements=st.integers(-1, CLASSES - 1)))
    admissible = expand_labels(labels, pairs, CLASSES, strict=strict)
    assert not (hits(top, labels, k=2) & ~hits(top, admissible, k=2)).any()


@given(label_tables, pair_lists)
def test_strict_is_within_transitive(labels, pairs) -> None:
    strict, transitive = (sets(expand_labels(labels, pairs, CLASSES, strict=flag)) for flag in (True, False))
    assert all(row <= a <= b for row, a, b in zip(sets(labels), strict, transitive, strict=True))


@pytest.mark.deep
@STRICT
@given(label_tables, pair_lists)
def test_rows_ascend_and_are_padded_at_the_end(strict, labels, pairs) -> None:
    table = expand_labels(labels, pairs, CLASSES, strict=strict)
    assert all(row == sorted(set(row) - {-1}) + [-1] * row.count(-1) for row in table.tolist())
    assert table.shape == (len(labels), max(map(len, sets(table)), default=0))


@given(pair_lists)
def test_groups_are_named_after_their_smallest_member(pairs) -> None:
    assert equivalence_groups(pairs, CLASSES).tolist() == [min(closed({a}, pairs)) for a in range(CLASSES)]


def test_the_twelve_pairs_are_disjoint(twelve) -> None:
    assert len({a for pair in twelve for a in pair}) == 24
    singles = np.arange(1000)[:, None]
    np.testing.assert_array_equal(
        expand_labels(singles, twelve, 1000), expand_labels(singles, twelve, 1000, strict=True)
    )


def test_the_twelve_pairs_admit_each_other_and_nothing_else(twelve) -> None:
    admits = sets(expand_labels(np.arange(1000)[:, None], twelve, 1000))
    partner = dict(twelve) | {b: a for a, b in twelve}
    assert admits == [{a, partner.get(a, a)} for a in range(1000)]
