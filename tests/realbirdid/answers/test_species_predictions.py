"""What is scored: whose answers, under which list, against which truth."""

from typing import Any

import numpy as np
import pytest

from eyechart.realbirdid.answers.species_predictions import RangeViews, criterion_name

BROKEN = frozenset({1, 15})
LISTED = (0, 2, 4, 6, 7, 9, 10, 11, 13, 14, 17, 18, 19, 20)


@pytest.fixture(scope="module")
def case(make_bird_world: Any) -> tuple[Any, RangeViews]:
    world = make_bird_world()
    return world, RangeViews(world.found(world.comparing(), broken=BROKEN))


def test_who_has_an_answer_is_in_play(case: Any) -> None:
    told = {view.labels: np.flatnonzero(view.answered).tolist() for view in case[1].all}
    rest = [row for row in range(22) if row not in BROKEN]
    assert told == {"all species": rest, "eligible": [*LISTED], "range": [*LISTED]}


def test_the_eligible_are_asked_without_their_list(case: Any) -> None:
    views = case[1]
    assert views["eligible"].summary is views["all species"].summary is not views["range"].summary


def test_truths_climb_from_what_is_known(case: Any) -> None:
    world, views = case
    species, genus, order = views["range"].targets
    for row, (name, *_) in enumerate(world.birds):
        above = world.tree.parents[1][genus[row]]
        assert (world.tree.names[1][genus[row]], order[row]) == (name.split()[0], above)
        assert world.names[species[row]] == name if " " in name else species[row] == -1


def test_nodes_are_species_or_genera(case: Any) -> None:
    world, views = case
    assert [world.names[node] for node in views["range"].observations.nodes] == [name for name, *_ in world.birds]


def test_right_and_wrong_are_of_those_who_have_truth_and_answer(case: Any) -> None:
    for view in case[1].all:
        for index, right in enumerate(view.correct):
            known = view.answered & (view.observations.answerable | (index > 0))
            np.testing.assert_array_equal(~np.isnan(right), known)
            np.testing.assert_array_equal(right[known], (view.summary.levels[index].best == view.targets[index])[known])


def test_the_deepest_is_the_finest_that_is_known(case: Any) -> None:
    view = case[1]["all species"]
    np.testing.assert_array_equal(view.finest_correct[:14], view.correct[0][:14])
    np.testing.assert_array_equal(view.finest_correct[14:], view.correct[1][14:])


def test_sets_are_levels_of_either_kind(case: Any) -> None:
    found = [(*where, np.flatnonzero(mask).tolist()) for *where, mask in case[1]["range"].subsets()]
    a, ua = [row for row in LISTED if row < 14], [row for row in LISTED if row >= 14]
    kinds = [
        ("answerable", "species", 0, a),
        ("answerable", "genus", 1, a),
        ("answerable", "order", 2, a),
        ("unanswerable", "genus", 1, ua),
        ("unanswerable", "order", 2, ua),
    ]
    assert found == kinds


def test_how_unsure_an_answer_is_goes_by_level_and_criterion(case: Any) -> None:
    view = case[1]["range"]
    for index, level in enumerate(view.summary.levels):
        uncertainty = {
            "max_probability": 1 - level.probability,
            "entropy": level.entropy,
            "margin": 1 - (level.probability - level.second),
        }
        for criterion, expected in uncertainty.items():  # computed without the rounding of 1 - p
            np.testing.assert_allclose(view.uncertainty(criterion, index), expected, rtol=0, atol=1e-15)


def test_the_tree_is_that_of_the_names(case: Any) -> None:
    world, views = case
    assert views.tree.n_leaves == 9
    assert views.tree.root == len(world.names)  # species and genera, as published


def test_names_tell_the_criterion_unless_it_is_the_main_one() -> None:
    assert [criterion_name("auc", "max_probability"), criterion_name("auc", "entropy")] == ["auc", "auc_entropy"]
    assert criterion_name("accuracy answerable.species", "margin", " ") == "accuracy answerable.species margin"
