"""Dividing is the paper's section 4, told here in plain Python, whatever the order of images and categories."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ModelError
from eyechart.oodbench.data.annotation import Annotation
from eyechart.oodbench.division.division_files import serialize_division
from eyechart.oodbench.division.flags import combine_flags, compute_flags, draw_sample
from eyechart.oodbench.division.pairs import (
    ID,
    OOD_H,
    OOD_S,
    Division,
    DivisionSettings,
    _candidate_pairs,
    build_division,
    flag_failures,
)
from tests.oodbench.division.scenes import LOGITS, UNKNOWN, Scenes, scenes

SHARES = st.sampled_from([0.0, 0.05, 0.3, 1.0]) | st.floats(0, 1)
FEW = st.integers(0, 4)


def pairs(division: Division, dataset: Dataset) -> set[tuple[object, ...]]:
    """A division without the order of anything."""
    rows = zip(division.rows, division.categories, division.sets, division.main, division.present, division.flags,
               strict=True)  # fmt: skip
    return {
        (dataset.keys[row], dataset.names[category], name, bool(main), bool(here), tuple(map(int, codes)))
        for row, category, name, main, here, codes in rows
    }


@given(scenes(), SHARES)
def test_pairs_are_of_one_set_each(world, threshold):
    notation, usable = world.dataset.details, np.ones(len(world.states), bool)
    found = [flag_failures(one, notation, usable, threshold) for one in world.detected()]
    every = [
        {*zip(some.rows.tolist(), some.categories.tolist(), strict=True)}
        for some in _candidate_pairs(found, absent=False).values()
    ]
    assert sum(map(len, every)) == len(set().union(*every)) == world.present.sum()


@given(scenes(), SHARES, FEW, st.integers(0, 3), st.booleans())
def test_one_seed_makes_one_file(world, threshold, most, seed, absent):
    rules = DivisionSettings(threshold, most, seed, absent)
    first, again = (build_division(world.dataset, world.detected(), rules) for _ in range(2))
    assert serialize_division(first, world.dataset) == serialize_division(again, world.dataset)


@given(scenes(), SHARES, FEW, st.booleans(), st.data())
def test_the_order_of_images_and_categories_changes_nothing(world, threshold, most, absent, data):
    images, categories = (data.draw(st.permutations(range(size))) for size in world.present.shape)
    dataset, rules = world.dataset, DivisionSettings(threshold, most, 42, absent)
    notation = dataset.details
    mixed = Annotation(
        *(part[images][:, categories] for part in (notation.counts, notation.known, notation.countable)),
        tuple(notation.image_ids[row] for row in images),
        tuple(notation.category_ids[column] for column in categories),
    )
    names, index = tuple(dataset.names[c] for c in categories), tuple(dataset.index[row] for row in images)
    other = replace(dataset, names=names, index=index, details=mixed)
    moved = [replace(one, logits=one.logits[images][:, categories]) for one in world.detected()]
    assert pairs(build_division(other, moved, rules), other) == pairs(
        build_division(dataset, world.detected(), rules), dataset
    )


@given(scenes(), SHARES, FEW)
def test_the_main_benchmark_is_as_large_as_it_may_be(world, threshold, most):
    divided = build_division(world.dataset, world.detected(), DivisionSettings(threshold, most))
    sets, main = np.array(divided.sets, object), divided.main
    sizes = {name: int((sets == name).sum()) for name in (ID, OOD_S, OOD_H)}
    for name in (OOD_S, OOD_H):
        assert (main & (sets == name)).sum() == min(most, sizes[name])
    rest = int(world.present.sum()) - sizes[OOD_S] - sizes[OOD_H]
    assert sizes[ID] == (main & (sets == ID)).sum() == min(rest, most, max(sizes[OOD_S], sizes[OOD_H]))


@given(scenes(), SHARES, st.data())
def test_what_nobody_looked_for_changes_nothing(world, threshold, data):
    other = np.where(np.array(world.states) == UNKNOWN, data.draw(LOGITS), world.logits)
    found, again = (build_division(world.dataset, Scenes(world.states, each).detected(), DivisionSettings(threshold))
                    for each in (world.logits, other))  # fmt: skip
    assert serialize_division(found, world.dataset) == serialize_division(again, world.dataset)


@given(scenes(), SHARES)
def test_a_set_only_gains_absent_pairs_that_were_taken_for_present(world, threshold):
    dataset = world.dataset
    few, many = (
        build_division(dataset, world.detected(), DivisionSettings(threshold, include_absent=absent))
        for absent in (False, True)
    )
    added = {pair for pair in pairs(many, dataset) - pairs(few, dataset) if not pair[4]}
    assert {pair for pair in pairs(few, dataset) if pair[2] != ID} == {
        pair for pair in pairs(many, dataset) - added if pair[2] != ID
    }
    for key, name, _, _, _, codes in added:
        row, column = dataset.keys.index(key), dataset.names.index(name)
        best = [max(each[row][world.present[row]], default=-inf) for each in world.logits]
        assert world.absent[row, column]
        assert all(
            code == 0 or each[row, column] > top for code, each, top in zip(codes, world.logits, best, strict=True)
        )


@given(scenes(), SHARES, st.sets(st.integers(0, 4)))
def test_an_image_without_an_answer_is_as_if_it_were_not_there(world, threshold, errors):
    kept = [row for row in range(len(world.states)) if row not in errors]
    assume(kept)
    found = build_division(
        world.dataset, world.detected({*errors} & {*range(len(world.states))}), DivisionSettings(threshold)
    )
    fewer = replace(world.dataset, rows=tuple(kept))
    rest = [replace(one, logits=one.logits[kept]) for one in world.detected()]
    assert pairs(found, world.dataset) == pairs(build_division(fewer, rest, DivisionSettings(threshold)), fewer)
    assert len(found.left_out) == len(world.states) - len(kept)


@pytest.mark.deep
@given(scenes())
def test_no_answer_at_all_is_refused(world):
    with pytest.raises(ModelError, match="No image of oodbench/here has logits of every detector: d0"):
        build_division(world.dataset, world.detected(range(len(world.states))), DivisionSettings())


@given(st.lists(st.text(max_size=3), unique=True, max_size=8), FEW, FEW, st.randoms(use_true_random=False))
def test_a_draw_hangs_on_names_alone_and_a_larger_one_holds_a_smaller(names, one, other, random):
    fewer, more = ({names[index] for index in draw_sample(names, size, 7, "x")} for size in sorted((one, other)))
    assert fewer <= more
    mixed = random.sample(names, len(names))
    assert {mixed[index] for index in draw_sample(mixed, max(one, other), 7, "x")} == more


def test_equal_scores_are_no_failure():
    found = compute_flags([[1, 1, 1]], [[True, False, False]], [[False, True, False]], 0.5)
    assert (found.outscored.tolist(), found.top_absent.any()) == ([False], False)
    assert (found.probability[0, 0], found.unlikely[0, 0]) == (0.5, False)


def test_equal_strangers_are_all_taken_for_present():
    found = compute_flags([[0, 2, 1, 2]], [[True, False, False, False]], [[False, True, True, True]])
    assert found.top_absent.tolist() == [[False, True, False, True]]


def test_an_image_with_every_category_is_sure_of_each():
    found = compute_flags([[5.0, -80.0]], [[True, True]], [[False, False]], 1)
    assert (found.probability.tolist(), found.codes.tolist()) == ([[1.0, 1.0]], [[0, 0]])


REFUSED = {
    "threshold 1.5": lambda: compute_flags([[0.0]], [[True]], [[False]], 1.5),
    "threshold nan": lambda: compute_flags([[0.0]], [[True]], [[False]], float("nan")),
    "logits inf": lambda: compute_flags([[inf]], [[True]], [[False]], 0.5),
    "failed none": lambda: combine_flags([]),
    "most -1": lambda: draw_sample("a", -1, 0, ""),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_refuses(what):
    parameter, got = what.split()
    with pytest.raises(ValueError, match=rf"The '{parameter}' parameter of .* Got {got}"):
        REFUSED[what]()


@pytest.mark.parametrize("shape", [(2, 1), (1, 2)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"must have one shape .* Got \(1, 1\), \("):
        compute_flags([[0.0]], np.ones(shape, bool), np.zeros(shape, bool), 0.5)


def test_a_category_both_present_and_absent_is_refused():
    with pytest.raises(ValueError, match="both present and absent in one image"):
        compute_flags([[0.0]], [[True]], [[True]], 0.5)
