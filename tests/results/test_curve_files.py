"""The curves of a case of species: monotone, from end to end, and the areas under them the record's numbers."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from eyechart.results.curve_files import POINTS, thin_curve

LABELS = ("all species", "eligible", "range")
SETS = ("answerable.species", "answerable.genus", "answerable.order", "unanswerable.genus", "unanswerable.order")
CRITERIA = ("max_probability", "entropy", "margin")
BROKEN = frozenset({1, 15})
AREAS = {
    "ig": ("ig", "answerable"),
    **{f"abstention {name}": (f"ua_a_{name}".removesuffix("_max_probability"), "all") for name in CRITERIA},
    **{f"accuracy {name}": ("auc", name) for name in SETS},
    **{f"accuracy {name} {criterion}": (f"auc_{criterion}", name) for name in SETS for criterion in CRITERIA[1:]},
    **{f"macro {name}": ("auc_macro", name) for name in SETS},
}


@pytest.fixture(scope="module")
def case(make_bird_world: Any) -> Any:
    """A record, and its curves by labels and name: thresholds, x and y."""
    world = make_bird_world(seed=1)
    record = world.record(world.saying(), broken=BROKEN)
    curves: dict[tuple[str, str], list[list[float]]] = {}
    for row in world.rows(record, "curves"):
        curves.setdefault((row["labels"], row["curve"]), []).append(
            [float(row[cell]) for cell in ("threshold", "x", "y")]
        )
    return record, {which: np.array(points) for which, points in curves.items()}, world.rows(record)


def area(name: str, x: Any, y: Any) -> float:
    """Of accuracies, as much as each point adds to the coverage; of others, between straight lines."""
    if name.startswith(("accuracy", "macro")):
        return float(np.diff(x, prepend=0) @ y)
    return float(np.trapezoid(y, x))


def test_every_curve_is_there_under_every_list(case: Any) -> None:
    assert {*case[1]} == {(labels, name) for labels in LABELS for name in AREAS}


@pytest.mark.parametrize("name", AREAS)
def test_the_area_of_a_curve_is_the_number_of_the_record(case: Any, number: Any, name: str) -> None:
    for labels in LABELS:
        _, x, y = case[1][labels, name].T
        assert area(name, x, y) == pytest.approx(number(case[0], *AREAS[name], labels).value, abs=1e-6)


@pytest.mark.parametrize("name", AREAS)
def test_thresholds_fall_and_x_rises(case: Any, name: str) -> None:
    for labels in LABELS:
        thresholds, x, y = case[1][labels, name].T
        assert all(one > other for one, other in pairwise(thresholds))
        assert all(one <= other for one, other in pairwise(x))
        assert ((y >= 0) & (y <= 1)).all()
        if name.startswith("abstention"):
            assert all(one <= other for one, other in pairwise(y))


@pytest.mark.parametrize("name", AREAS)
def test_curves_go_from_end_to_end(case: Any, number: Any, name: str) -> None:
    for labels in LABELS:
        (first, *_), (*_, last) = case[1][labels, name][:, 1:].tolist(), case[1][labels, name][:, 1:].tolist()
        if name.startswith("abstention"):
            assert (first, last) == ([0, 0], [1, 1])
        elif name == "ig":
            assert (first, last) == (
                [0, 1],
                [1, pytest.approx(number(case[0], "acc", "answerable.species", labels).value)],
            )
        else:
            whole = number(case[0], "acc_macro" if name.startswith("macro") else "acc", AREAS[name][1], labels).value
            assert (last[0], last[1]) == (1, pytest.approx(whole))


def test_a_threshold_keeps_what_its_point_says(case: Any) -> None:
    told = [row for row in case[2] if row["subset"] == "answerable" and row["all.species"]]
    sure = np.array([float(row["all.species.probability"]) for row in told])
    right = np.array([row["all.species.correct"] == "1" for row in told])
    for threshold, x, y in case[1]["all species", "accuracy answerable.species"]:
        kept = sure - 1 >= threshold - 1e-9
        assert (x, y) == (pytest.approx(kept.mean()), pytest.approx(right[kept].mean()))


def test_thresholds_are_written_in_full(case: Any) -> None:
    found = case[1]["all species", "accuracy answerable.species"][:, 0]
    assert (np.round(found, 6) != found).any()


def test_of_a_long_curve_so_many_points_are_kept_with_both_ends() -> None:
    kept = thin_curve(5000)
    assert (len(kept), kept[0], kept[-1]) == (POINTS, 0, 4999)
    assert POINTS <= 1001
