"""Labels as users give them: whole numbers of any type, and lists that are class indices or 1 where a class holds."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.index.file_index import IndexEntry
from eyechart.data.labels.label_values import read_lists, whole_number
from eyechart.errors import DataError


def entries(*lists: Sequence[int], multi_hot: bool = False) -> list[IndexEntry]:
    """Samples with lists of labels."""
    return [
        IndexEntry(f"s{number}", "", "", "0.tar", labels=tuple(values), multi_hot=multi_hot)
        for number, values in enumerate(lists)
    ]


def refusal(found: list[IndexEntry], classes: int) -> str:
    """Why lists of labels are refused."""
    with pytest.raises(DataError) as refused:
        read_lists("pets", found, classes)
    return str(refused.value)


@pytest.mark.parametrize("values", [[0, 1], [1, 0]])
def test_a_list_that_may_be_ones_or_classes(values: list[int]) -> None:
    assert refusal(entries(values), 2) == (
        f"pets: sample s0 in 0.tar has the labels {values} of 2 classes: are they the numbers of its classes, or 1 for "
        "each class that holds? Write an array of the type bool, True for each class that holds."
    )


@pytest.mark.parametrize(
    ("others", "labels"), [([[1, 1]], [1]), ([[0, 0]], [1]), ([[1]], [0, 1]), ([[]], [0, 1])], ids=str
)
def test_other_lists_say_what_a_doubtful_one_is(others: list[list[int]], labels: list[int]) -> None:
    first, *_ = read_lists("pets", entries([0, 1], *others), 2)
    assert first.labels == tuple(labels)


def test_lists_of_both_kinds_leave_a_doubt() -> None:
    assert "sample s0 in 0.tar has the labels [0, 1] of 2 classes: are they" in refusal(entries([0, 1], [1, 1], [1]), 2)


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1))
def test_ones_are_the_classes_that_hold(tables: list[list[bool]]) -> None:
    found = read_lists("pets", entries(*([*map(int, row)] for row in tables), multi_hot=True), 3)
    assert [entry.labels for entry in found] == [tuple(np.flatnonzero(row).tolist()) for row in tables]
    assert read_lists("pets", found, 9) == found  # a second reading takes them for classes


def test_as_many_values_as_classes_are_wanted() -> None:
    assert refusal(entries([0, 1, 1], [1, 0], multi_hot=True), 3) == (
        "pets: sample s1 has 2 labels of the type bool, expected 3, one a class: correct the array or the class names."
    )


DATE = np.datetime64("2026-01-01", "ns")  # a number of nanoseconds to NumPy


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (DATE, f"{DATE!r} of the type datetime64; expected one whole number, or the name of a class."),
        (3.0000000000000004, "3.0000000000000004, which is no whole number: correct it."),
        ("7", "'7', a text; expected a whole number, as the other labels are."),
    ],
    ids=["date", "fraction", "text"],
)
def test_what_only_looks_like_a_number_is_refused(value: object, why: str) -> None:
    with pytest.raises(DataError) as refused:
        whole_number(value, "Item 4")
    assert str(refused.value) == f"Item 4 has the label {why}"


@given(st.integers(-(2**53), 2**53))
def test_a_whole_number_is_itself_in_every_type(number: int) -> None:
    assert {whole_number(kind(number), "") for kind in (int, float, np.int64, np.float64, np.array)} == {number}
