"""Tests of `eyechart.realbirdid.data.ranges`."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import DataError
from eyechart.realbirdid.data import ranges as module
from eyechart.realbirdid.data.observations import Observations
from eyechart.realbirdid.data.ranges import Ranges
from tests.realbirdid.data.bird_lines import RANGES, RAVEN, TIT, lists

Read = Callable[..., Observations]


def test_ranges_fill_the_lists_that_are_empty(read: Read) -> None:
    indices = ["50,8", "5,175", "5,-175", "5,160", "-5,5", "40,20", ","]
    rows = [f"{row}.jpg,{row},Pica pica,Pica,1,,{index}," for row, index in enumerate(indices)]
    assert lists(read(*rows, RAVEN, ranges=RANGES)) == [[1], [0], [0], [], [1], [1], [], [0, 1]]


def test_a_species_in_two_boxes_that_overlap_lives_there_once(read: Read) -> None:
    found = read("0.jpg,0,Pica pica,Pica,1,,50,8,", ranges=RANGES + "Pica pica,45,55,0,10\n")
    assert lists(found) == [[1]]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Pica pika,0,1,0,1", r"has the species 'Pica pika', which .*did you mean Pica pica\?"),
        ("Pica pica,1,0,0,1", "has south 1.0 above north 0.0: swap them"),
        ("Pica pica,-91,0,0,1", "has the south '-91', expected degrees from -90 to 90"),
        ("Pica pica,0,1,,1", r"has the west '', expected degrees from -180 to 180, such as 90\.0: correct it"),
    ],
)
def test_ranges_off_the_globe_or_of_nobody_are_refused(read: Read, line: str, said: str) -> None:
    with pytest.raises(DataError, match=rf"ranges\.csv, line 5 {said}"):
        read(TIT, ranges=f"{RANGES}{line}\n")


PLACES = [-180.0, -90.0, -45.5, 0.0, 45.5, 90.0, 180.0]
Box = tuple[int, float, float, float, float]


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
