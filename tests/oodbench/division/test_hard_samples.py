"""Mining keeps the hardest of each category, whatever the order of proposals and images."""

from collections import Counter, defaultdict
from math import ceil, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.oodbench.division.hard_samples import (
    HardSamples,
    Proposals,
    hardness,
    keep_annotated,
    mine_hard_samples,
    propose_top_categories,
)

IMAGES, CATEGORIES = 4, 3
KEYS = ["d", "b", "a", "c"]
ONE = st.tuples(st.integers(0, IMAGES - 1), st.integers(0, CATEGORIES - 1), st.integers(1, 8).map(lambda n: n / 8))
FOUND = st.lists(ONE, max_size=30)
OPTIONS = st.fixed_dictionaries(
    {"k": st.integers(1, 4), "q": st.sampled_from([1, 10, 33.3, 50, 100]), "gamma": st.sampled_from([0, 1, 2.0])}
)


def proposals(rows) -> Proposals:
    row, category, probability = zip(*rows, strict=True) if rows else ((), (), ())
    return Proposals(np.array(row, np.int64), np.array(category, np.int64), np.array(probability, np.float64))


def listed(found: HardSamples) -> list[tuple[int, int, float]]:
    return [*zip(found.rows.tolist(), found.categories.tolist(), found.hardness.tolist(), strict=True)]


def oracle(rows, k, q, gamma):
    """Algorithm 1, line by line."""
    boxes = defaultdict(list)
    for row, category, p in rows:
        boxes[row, category].append((-((1 - p) ** gamma) * -log(p), KEYS[row], row))
    listed = defaultdict(list)
    for (_, category), found in boxes.items():
        listed[category] += sorted(found)[:k]
    kept = [(minus, key, category, row)
            for category, found in listed.items()
            for minus, key, row in sorted(found)[: ceil(round(q * len(found) / 100, 9))]]  # fmt: skip
    best = {}
    for minus, _, category, row in sorted(kept):
        best.setdefault((row, category), -minus)
    return [(row, category, value) for (row, category), value in best.items()]


@given(FOUND, OPTIONS)
def test_it_is_the_algorithm(rows, options):
    found = listed(mine_hard_samples(proposals(rows), KEYS, **options))
    expected = oracle(rows, **options)
    assert [pair[:2] for pair in found] == [pair[:2] for pair in expected]
    assert [pair[2] for pair in found] == pytest.approx([pair[2] for pair in expected])


@given(FOUND, OPTIONS, st.randoms(use_true_random=False))
def test_the_order_of_proposals_does_not_matter(rows, options, rng):
    shuffled = rng.sample(rows, len(rows))
    assert listed(mine_hard_samples(proposals(shuffled), KEYS, **options)) == listed(
        mine_hard_samples(proposals(rows), KEYS, **options)
    )


@given(FOUND, OPTIONS, st.permutations(range(IMAGES)))
def test_the_order_of_images_does_not_matter(rows, options, order):
    moved = [(order.index(row), category, p) for row, category, p in rows]
    found = listed(mine_hard_samples(proposals(moved), [KEYS[index] for index in order], **options))
    back = [(order[row], category, value) for row, category, value in found]
    assert back == listed(mine_hard_samples(proposals(rows), KEYS, **options))


@given(FOUND, OPTIONS)
def test_more_is_kept_of_more(rows, options):
    found = {pair[:2] for pair in listed(mine_hard_samples(proposals(rows), KEYS, **options))}
    assert found <= {pair[:2] for pair in listed(mine_hard_samples(proposals(rows), KEYS, **(options | {"q": 100})))}
    assert {pair[1] for pair in found} == {row[1] for row in rows}


@given(FOUND)
def test_a_pair_is_there_once_and_the_hardest_come_first(rows):
    found = listed(mine_hard_samples(proposals(rows), KEYS, k=4, q=100))
    assert max(Counter(pair[:2] for pair in found).values(), default=1) == 1
    assert [pair[2] for pair in found] == sorted((pair[2] for pair in found), reverse=True)


def test_the_hardest_of_an_image_and_a_fifth_of_a_category_are_the_default():
    rows = [(image, 0, p / 100) for image in range(10) for p in (10 + image, 50 + image)]
    found = mine_hard_samples(proposals(rows), "abcdefghij")
    assert found.rows.tolist() == [0, 1]


@given(st.floats(0, 1, exclude_min=True), st.floats(0, 1, exclude_min=True), st.floats(0, 5))
def test_less_probable_is_harder(p, other, gamma):
    low, high = sorted((p, other))
    found = hardness([low, high], gamma)
    assert found[0] >= found[1] >= 0


@given(st.lists(st.lists(st.floats(0.01, 1) | st.just(float("nan")), min_size=3, max_size=3), max_size=9))
def test_an_image_proposes_its_most_probable_category(rows):
    found = propose_top_categories(np.array(rows).reshape(-1, 3))
    scored = [index for index, row in enumerate(rows) if not np.isnan(row).any()]
    assert found.rows.tolist() == scored
    assert found.probabilities.tolist() == [max(rows[index]) for index in scored]
    assert found.categories.tolist() == [rows[index].index(max(rows[index])) for index in scored]


@given(FOUND, st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=4, max_size=4))
def test_what_is_not_annotated_is_counted(rows, present):
    kept, others = keep_annotated(proposals(rows), present)
    expected = [one for one in rows if present[one[0]][one[1]]]
    assert [*zip(kept.rows, kept.categories, kept.probabilities, strict=True)] == expected
    assert len(kept) + others == len(rows)


FEW = proposals([(0, 0, 0.5)])
REFUSED = {
    "probabilities 0": lambda: hardness([0.0]),
    "probabilities nan": lambda: hardness([float("nan")]),
    "probabilities 1.5": lambda: propose_top_categories([[1.5]]),
    "probabilities (2, 0)": lambda: propose_top_categories(np.empty((2, 0))),
    "gamma -1": lambda: hardness([0.5], -1),
    "k 0": lambda: mine_hard_samples(FEW, KEYS, k=0),
    "q 0": lambda: mine_hard_samples(FEW, KEYS, q=0),
    "q 101": lambda: mine_hard_samples(FEW, KEYS, q=101),
    "keys '1 repeated'": lambda: mine_hard_samples(FEW, ["a", "a"]),
    "rows 0": lambda: mine_hard_samples(FEW, []),
    "categories (0,)": lambda: mine_hard_samples(Proposals(FEW.rows, FEW.rows[:0], FEW.probabilities), KEYS),
    "present (1, 1)": lambda: keep_annotated(FEW, [[1]]),
    "rows 3": lambda: keep_annotated(proposals([(3, 0, 0.5)]), [[True]]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_refuses(what):
    parameter, got = what.split(" ", 1)
    with pytest.raises(ValueError) as refusal:
        REFUSED[what]()
    assert str(refusal.value).startswith(f"The '{parameter}' parameter of ")
    assert got in str(refusal.value).split(" Got ")[1]
