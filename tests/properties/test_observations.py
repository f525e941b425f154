"""Observations, their lists and their ranges, against the plainest reading of each."""

from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.realbirdid.data import ranges as module
from eyechart.realbirdid.data.observations import REASONS, Observations
from eyechart.realbirdid.data.ranges import Ranges
from eyechart.realbirdid.data.taxonomy import Taxonomy

PLACES = [-180.0, -90.0, -45.5, 0.0, 45.5, 90.0, 180.0]
Box = tuple[int, float, float, float, float]


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    sizes = sorted(draw(st.lists(st.integers(1, 6), min_size=2, max_size=4)), reverse=True)
    names = tuple(tuple(f"{level}.{index}" for index in range(size)) for level, size in enumerate(sizes))
    parents = tuple(
        np.array([draw(st.integers(0, above - 1)) for _ in range(below)], np.int64) for below, above in pairwise(sizes)
    )
    return Taxonomy(("species", "genus", "family", "order")[: len(sizes)], names, ("",) * sizes[0], parents)


@st.composite
def observed(draw: st.DrawFn) -> Observations:
    tree = draw(taxonomies())
    species = draw(st.lists(st.integers(-1, len(tree) - 1), max_size=8))
    lists = [sorted(draw(st.sets(st.integers(0, len(tree) - 1)))) for _ in species]
    genera = [tree.parents[0][one] if one >= 0 else draw(st.integers(0, len(tree.names[1]) - 1)) for one in species]
    indices = np.array([draw(st.sampled_from([np.nan, 1.0])) for _ in species], np.float64)
    return Observations(
        tree,
        tuple(map(str, range(len(species)))),
        np.array(species, np.int64),
        np.array(genera, np.int64),
        np.array([draw(st.integers(-1, len(REASONS) - 1)) for _ in species], np.int64),
        indices,
        indices,
        np.cumsum([0, *map(len, lists)], dtype=np.int64),
        np.array([*chain(*lists)], np.int64),
    )


@given(taxonomies())
def test_ancestors_are_found_by_climbing(tree: Taxonomy) -> None:
    for index in range(len(tree)):
        climbed = [index]
        for above in tree.parents:
            climbed.append(int(above[climbed[-1]]))
        assert [int(found[index]) for found in tree.ancestors] == climbed


@given(observed(), st.integers(0, 8), st.integers(0, 8))
def test_who_is_allowed_is_who_is_listed(found: Observations, start: int, stop: int) -> None:
    rows = range(len(found))[start:stop]
    expected = np.zeros((len(rows), len(found.taxonomy)), np.bool_)
    for index, row in enumerate(rows):
        expected[index, found.candidates[found.offsets[row] : found.offsets[row + 1]]] = True
    np.testing.assert_array_equal(found.candidate_mask(start, stop), expected)
    assert found.candidate_counts[rows].tolist() == expected.sum(axis=1).tolist()


@given(observed())
def test_the_truth_is_in_the_list_or_counted(found: Observations) -> None:
    allowed, genus = found.candidate_mask(0, len(found)), found.taxonomy.ancestors[1]
    for row in range(len(found)):
        listed = bool(allowed[row] @ (genus == found.genus[row]))
        told = bool(found.answerable[row])
        eligible = bool(found.has_location[row] and allowed[row].any())
        assert found.eligible[row] == eligible
        assert found.unlisted[row] == (eligible and told and not allowed[row, found.species[row]])
        assert found.unlisted_genus[row] == (eligible and not told and not listed)


@given(observed(), st.data())
def test_some_rows_are_the_rows_of_all(found: Observations, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(found) - 1), max_size=10) if len(found) else st.just([]))
    some = found.select(rows)
    assert some.ids == tuple(found.ids[row] for row in rows)
    for name in (
        "species",
        "genus",
        "reason",
        "latitude",
        "longitude",
        "candidate_counts",
        "eligible",
        "unlisted",
        "has_location",
    ):
        np.testing.assert_array_equal(getattr(some, name), getattr(found, name)[rows])
    np.testing.assert_array_equal(some.candidate_mask(0, len(rows)), found.candidate_mask(0, len(found))[rows])


@given(observed(), st.data())
def test_rows_of_rows_are_rows(found: Observations, data: st.DataObject) -> None:
    rows = data.draw(st.permutations(range(len(found))))
    back = np.argsort(rows).tolist()
    assert found.select(rows).select(back).sha256 == found.select(range(len(found))).sha256 == found.sha256
    assert found.select(rows).select(back[:2]).sha256 == found.select([rows[index] for index in back[:2]]).sha256


@given(observed())
def test_another_truth_has_another_fingerprint(found: Observations) -> None:
    assert replace(found, reason=found.reason + 1).sha256 != found.sha256 or not len(found)
    assert replace(found, ids=("other", *found.ids)[: len(found)]).sha256 != found.sha256 or not len(found)


def lives(box: Box, latitude: float, longitude: float) -> bool:
    """Whether a place is in a box; one with west > east is two that meet at the 180th meridian."""
    _, south, north, west, east = box
    both = [(west, east)] if west <= east else [(west, 180.0), (-180.0, east)]
    return south <= latitude <= north and any(left <= longitude <= right for left, right in both)


side = st.sampled_from([index for index in PLACES if abs(index) <= 90])
turn = st.sampled_from(PLACES)
boxes = st.tuples(st.integers(0, 3), side, side, turn, turn).map(
    lambda box: (box[0], min(box[1:3]), max(box[1:3]), *box[3:])
)
spot = st.tuples(side, turn) | st.just((np.nan, np.nan))


@given(st.lists(boxes, min_size=1, max_size=6), st.lists(spot, max_size=9), st.integers(1, 4))
def test_who_lives_at_a_place_is_who_has_a_box_there(
    all_boxes: list[Box], spots: list[tuple[float, float]], block: int
) -> None:
    columns = np.array(all_boxes)
    found = Ranges(columns[:, 0].astype(np.int64), *columns[:, 1:].T)
    indices = np.array(spots, np.float64).reshape(-1, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        here = found.species_at(*indices.T)
    assert [one.tolist() for one in here] == [
        sorted({box[0] for box in all_boxes if lives(box, *spot)}) for spot in spots
    ]
