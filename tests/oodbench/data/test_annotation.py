"""An annotation keeps its arrays together: in parts, in its digest, and in the data set that it belongs to."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError
from eyechart.oodbench.data.annotation import Annotation, Exclusion, find_annotation

COUNTS = np.array([[2, 0], [0, 1], [0, 0]], np.int32)
WHOLE = Annotation(
    COUNTS,
    known=np.array([[True, True], [False, True], [True, True]]),
    countable=np.array([[True, True], [True, False], [True, True]]),
    image_ids=("7", "8", "9"),
    category_ids=("a", "b"),
    excluded=(Exclusion("box", "it is empty", 1, "box 3"),),
    source="coco",
    object_areas=np.array([0.5, 0.25, np.nan]),
)


def test_a_category_without_an_object_is_absent_only_where_it_was_annotated() -> None:
    assert WHOLE.present.tolist() == [[True, False], [False, True], [False, False]]
    assert WHOLE.known_absent.tolist() == [[False, True], [False, False], [True, True]]


def test_a_part_has_the_rows_of_every_array_in_the_order_that_was_asked_for() -> None:
    part = WHOLE.select([2, 0])
    for name in ("counts", "known", "countable", "object_areas"):
        np.testing.assert_array_equal(getattr(part, name), getattr(WHOLE, name)[[2, 0]])
    assert (part.image_ids, part.category_ids) == (("9", "7"), ("a", "b"))
    assert (part.excluded, part.source) == (WHOLE.excluded, "coco")
    assert WHOLE.select([2, 1, 0]).select([2, 1, 0]).sha256 == WHOLE.sha256


@pytest.mark.parametrize(
    "change",
    [
        {"counts": COUNTS + 1},
        {"known": np.ones((3, 2), bool)},
        {"countable": np.ones((3, 2), bool)},
        {"known": WHOLE.countable, "countable": WHOLE.known},
        {"image_ids": ("7", "9", "8")},
        {"category_ids": ("b", "a")},
    ],
    ids=lambda change: " and ".join(change),
)
def test_the_digest_depends_on_each_array_and_on_the_ids(change: dict[str, Any]) -> None:
    assert replace(WHOLE, **change).sha256 != WHOLE.sha256


def test_the_digest_does_not_depend_on_how_an_array_lies_in_memory() -> None:
    other = replace(WHOLE, counts=np.asfortranarray(COUNTS.astype(np.int64)), known=np.asfortranarray(WHOLE.known))
    assert other.sha256 == WHOLE.sha256


@pytest.mark.parametrize("name", ["counts", "known", "countable"])
def test_an_array_of_another_shape_is_refused(name: str) -> None:
    message = (
        f"The annotation's {name} have the shape (2, 2), expected (3, 2): one row an image, one column a category."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        replace(WHOLE, **{name: getattr(WHOLE, name)[:2]})


def test_a_data_set_has_the_annotation_of_its_selected_images(pictures: Callable[..., Dataset]) -> None:
    dataset = pictures([-1] * 3, details=WHOLE)
    part = dataset.subsample(2, 5)
    found = find_annotation(part)
    assert found is not None
    assert found.image_ids == tuple(WHOLE.image_ids[row] for row in part.selected)
    assert find_annotation(pictures([0])) is None


def test_what_was_left_out_is_said_with_the_first_of_it() -> None:
    assert (
        str(Exclusion("box", "it is empty", 1200, "box 3")) == "1,200 × box left out: it is empty; the first is box 3"
    )
