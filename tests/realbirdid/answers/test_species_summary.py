"""What is kept of probabilities over all species, against a look at each row."""

import math

import numpy as np
import pytest
from scipy.stats import entropy

from eyechart.errors import DataError
from eyechart.realbirdid.answers.species_summary import summarise
from eyechart.realbirdid.statistics.abstention_tradeoff import CRITERIA, uncertainty
from eyechart.realbirdid.statistics.hierarchy import Tree, node_probabilities, threshold_steps

ANCESTORS = [np.arange(7), np.array([2, 0, 1, 2, 0, 2, 1]), np.array([0, 1, 0, 0, 1, 0, 0])]
TREE = Tree.from_levels(ANCESTORS)
STARTS = (0, 7, 10, 12)
NAMES = ("best", "probability", "second", "entropy", "rest")


@pytest.fixture
def rows():
    """Probabilities of many kinds: random, peaked, tied, certain, and none."""
    random = np.random.default_rng(0)
    drawn = random.dirichlet(np.full(7, 0.3), 40).astype(np.float32)
    drawn[3] = 1 / 7
    drawn[5] = np.eye(7)[4]
    drawn[7] = math.nan
    drawn[9] = [0.5, 0, 0, 0.5, 0, 0, 0]
    return drawn


def summary(rows, block=8, ancestors=ANCESTORS, species=None):
    truth = np.full(len(rows), -1) if species is None else species
    return summarise(lambda start, stop: rows[start:stop], truth, ancestors, block=block)


def sums(rows, index):
    return node_probabilities(TREE, rows.astype(np.float64))[:, STARTS[index] : STARTS[index + 1]]


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_level_is_the_best_the_two_highest_and_the_entropy(rows, index) -> None:
    found, expected = summary(rows).levels[index], sums(rows, index)
    assert found.best.tolist() == np.where(np.isnan(expected[:, 0]), -1, expected.argmax(axis=1)).tolist()
    ranked = -np.sort(-expected, axis=1)
    np.testing.assert_allclose(found.probability, ranked[:, 0], rtol=1e-6)
    np.testing.assert_allclose(found.second, ranked[:, 1], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.entropy, entropy(expected, axis=1), atol=1e-5)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_the_probability_of_the_true_species_is_that_of_its_column(rows, block) -> None:
    species = np.arange(40) % 8 - 1
    found = summary(rows * np.float32(1.0009), block, species=species).of_species
    expected = [math.nan if index < 0 else row[index] for row, index in zip(rows.tolist(), species, strict=True)]
    assert np.isnan(found[[0, 7]]).all()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_stairs_are_those_of_the_metric(rows) -> None:
    found, expected = summary(rows).threshold_steps, threshold_steps(TREE, rows)
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert found.nodes.tolist() == expected.nodes.tolist()
    np.testing.assert_array_equal(found.thresholds, expected.thresholds)


def test_the_last_step_is_the_best_species_at_its_probability(rows) -> None:
    found = summary(rows)
    seen = found.levels[0].best >= 0
    last = found.threshold_steps.offsets[1:][seen] - 1
    assert found.threshold_steps.nodes[last].tolist() == found.levels[0].best[seen].tolist()
    assert found.threshold_steps.thresholds[last].tolist() == found.levels[0].probability[seen].tolist()


@pytest.mark.parametrize("block", [1, 3, 40, 1000])
def test_the_size_of_a_block_changes_nothing(rows, block) -> None:
    one, other = summary(rows), summary(rows, block)
    assert one.threshold_steps.offsets.tolist() == other.threshold_steps.offsets.tolist()
    np.testing.assert_array_equal(one.threshold_steps.thresholds, other.threshold_steps.thresholds)
    for mine, its in zip(one.levels, other.levels, strict=True):
        assert all(np.array_equal(getattr(mine, name), getattr(its, name), equal_nan=True) for name in NAMES)


@pytest.mark.parametrize("species", [7, 33, 1001])
def test_equal_rows_have_equal_numbers_wherever_they_lie(species) -> None:
    row = np.random.default_rng(1).dirichlet(np.full(species, 0.5)).astype(np.float32)
    found = summary(np.tile(row, (50, 1)), 7, [np.arange(species), np.arange(species) % 5])
    assert all(len({*getattr(level, name)}) == 1 for level in found.levels for name in NAMES)
    assert len({*found.threshold_steps.thresholds}) == found.threshold_steps.offsets[1]


def test_rows_are_divided_by_their_sums(rows) -> None:
    one, other = summary(rows).levels[0], summary(rows * np.float32(1.0009)).levels[0]
    for name in NAMES[1:]:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-6)


def test_an_image_without_probabilities_has_no_numbers(rows) -> None:
    found = summary(rows)
    assert [level.best[7] for level in found.levels] == [-1, -1, -1]
    assert np.isnan([getattr(level, name)[7] for level in found.levels for name in NAMES[1:]]).all()
    assert found.threshold_steps.nodes[found.threshold_steps.images == 7].tolist() == [TREE.root]


def test_certainty_has_no_entropy_and_no_second(rows) -> None:
    level = summary(rows).levels[0]
    assert (level.probability[5], level.second[5], level.entropy[5]) == (1, 0, 0)


def test_a_genus_that_holds_all_species_in_question_is_certain_without_a_remainder() -> None:
    """As of birds whose list is of one genus: whatever rounding leaves would rank them."""
    rows = np.zeros((500, 7), np.float32)
    rows[:, ANCESTORS[1] == 2] = np.random.default_rng(0).dirichlet(np.ones(3), 500)
    genus = summary(rows).levels[1]
    assert {*zip(genus.best, genus.probability, genus.second, genus.entropy, strict=True)} == {(2, 1, 0, 0)}


def test_one_species_alone_is_certain() -> None:
    (level,) = summary(np.ones((2, 1), np.float32), ancestors=[np.arange(1)]).levels
    assert [getattr(level, name).tolist() for name in NAMES] == [[0, 0], [1, 1], [0, 0], [0, 0], [0, 0]]


def test_no_rows_are_an_empty_summary(rows) -> None:
    found = summary(rows[:0])
    assert len(found.threshold_steps) == 0
    assert [level.best.size for level in found.levels] == [0, 0, 0]


def test_what_is_read_is_left_as_it_is(rows) -> None:
    rows.flags.writeable = False
    before = rows.copy()
    summary(rows)
    np.testing.assert_array_equal(rows, before)


BAD = {
    "add up to 1.1": [0.5, 0.6, 0, 0, 0, 0, 0],
    "add up to 0": [0] * 7,
    "include -0.25": [-0.25, 1.25, 0, 0, 0, 0, 0],
    "include 1 that are not a number": [math.nan, 1, 0, 0, 0, 0, 0],
    "add up to inf": [math.inf, 0, 0, 0, 0, 0, 0],
}


@pytest.mark.parametrize(("found", "row"), BAD.items(), ids=BAD)
def test_rows_that_are_no_probabilities_are_named(rows, found, row) -> None:
    rows[29] = row
    with pytest.raises(DataError, match=rf"row 29 \(the first is 0\) {found}\. Expected .* Divide each row by its sum"):
        summary(rows)


def test_with_two_taxa_the_probability_ranks_as_the_margin_however_certain_the_images_are() -> None:
    rest = np.geomspace(1e-30, 0.4, 50)
    leaves = np.stack([1 - rest, rest], axis=1).astype(np.float32)  # of which most first ones are 1
    (level,) = summarise(lambda start, stop: leaves[start:stop], np.zeros(50, np.int64), [np.arange(2)]).levels
    facts = level.probability, level.second, level.entropy, level.rest
    for criterion in CRITERIA:
        assert (np.diff(uncertainty(criterion, *facts)) > 0).all()


def test_the_tree_of_thresholds_may_have_fewer_levels(rows) -> None:
    truth = np.full(len(rows), -1)
    short = summarise(lambda start, stop: rows[start:stop], truth, ANCESTORS, tree_levels=2)
    alone = summarise(lambda start, stop: rows[start:stop], truth, ANCESTORS[:2])
    assert len(short.levels) == 3
    assert short.threshold_steps.nodes.tolist() == alone.threshold_steps.nodes.tolist()
    np.testing.assert_array_equal(short.threshold_steps.thresholds, alone.threshold_steps.thresholds)


def test_taxa_are_sums_in_float64() -> None:
    leaves = np.array([[0.5, 0.5, 1e-9], [0.5, 0.5, 0]], np.float32)
    ancestors = [np.arange(3), np.array([0, 0, 1])]
    _, genus = summarise(lambda start, stop: leaves[start:stop], np.zeros(2, np.int64), ancestors).levels
    assert genus.probability[0] < genus.probability[1] == 1
    assert genus.rest.tolist() == [leaves[0, 2] / (1 + float(leaves[0, 2])), 0]
