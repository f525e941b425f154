"""Limits: a number of images, or of each class; a larger one includes a smaller one."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eyechart
from eyechart.data.dataset.limits import draw_rows, parse_limit
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import SpecError


@pytest.mark.parametrize("text", ["0", "0/class", "-1", "10/classes", "/class", "ten", "1.5", "10 / class"])
def test_a_text_that_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match=r"must be a whole number from 1 up, or .* as in 10/class\. Got '"):
        parse_limit(text)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 8), st.integers(0, 5))
def test_a_limit_by_class_draws_so_many_of_each(classes: list[int], most: int, seed: int) -> None:
    rows = draw_rows(f"{most}/class", len(classes), str(seed), np.array(classes))
    assert rows == sorted({*rows})
    counts = Counter(classes[row] for row in rows)
    assert counts == {name: min(count, most) for name, count in Counter(classes).items()}
    assert {*rows} <= {*draw_rows(f"{most + 1}/class", len(classes), str(seed), np.array(classes))}


@given(st.integers(2, 400), st.data())
def test_a_larger_limit_includes_a_smaller_one(size: int, data: Any) -> None:
    large = data.draw(st.integers(2, size))
    small = data.draw(st.integers(1, large))
    rows = draw_rows(large, size, "s")
    assert len(rows) == large
    assert {*draw_rows(small, size, "s")} <= {*rows}
    assert draw_rows(size, size, "s") == [*range(size)]


def test_every_row_is_as_likely() -> None:
    counts = Counter(row for seed in range(2000) for row in draw_rows(5, 20, str(seed)))
    assert all(abs(counts[row] - 500) < 100 for row in range(20))


@pytest.mark.parametrize("name", ["imagenet/sample", "realbirdid/sample"])
def test_packaged_samples_have_classes(name: str, tmp_path: Any) -> None:
    split = open_split(find(name), tmp_path)
    few = split.subsample("1/class", 42)
    classes = few.image_classes("1/class")
    assert 1 < len(few) < len(split)
    assert len(few) == len({*classes.tolist()})


def find(name: str) -> SplitRef:
    """A packaged split."""
    return next(ref for ref in list_splits(None) if f"{ref.benchmark}/{ref.split}" == name)


def test_images_without_classes_have_no_limit_by_class(tmp_path: Any) -> None:
    with pytest.raises(SpecError, match=r"--eye-limit=1/class: the images of oodbench/sample-coco have no classes"):
        open_split(find("oodbench/sample-coco"), tmp_path).subsample("1/class", 42)


def test_a_limit_by_class_is_in_the_record(tmp_path: Any) -> None:
    folders = {"store": tmp_path / "store", "out": tmp_path / "out"}
    run = eyechart.evaluate("conse[]", "toybox/sample", protocol="zero_shot", limit="1/class", **folders)
    assert {*run.metrics["limit"]} == {"1/class"}
    with pytest.raises(SpecError, match="must be a whole number"):
        eyechart.evaluate("conse[]", "toybox/sample", protocol="zero_shot", limit=0, **folders)
