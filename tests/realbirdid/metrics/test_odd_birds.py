"""Cases at the edge: one bird, birds of one kind, equal scores, none but errors; numbers over nothing are left out."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eyechart.results.records import Metric, Record

pytestmark = pytest.mark.deep

LABELS = ("all species", "eligible", "range")
KINDS = {
    "all answerable": lambda birds: birds[:14],
    "all unanswerable": lambda birds: birds[14:],
    "one that can be told": lambda birds: birds[:1],
    "one that cannot": lambda birds: birds[14:15],
    "one of each": lambda birds: (birds[0], birds[14]),
    "nobody has a list": lambda birds: [(name, why, "?") for name, why, _ in birds],
    "lists are of one": lambda birds: [(name, why, "0") for name, why, _ in birds],
}
Made = Callable[..., tuple[Record, list[dict[str, str]]]]


@pytest.fixture
def made(bird_world: Any) -> Made:
    """A record and its csv, of a kind of birds, under a protocol."""

    def made(kind: str = "", protocol: str = "species", logits: Any = None, **more: Any) -> Any:
        world = bird_world.with_birds(*KINDS[kind](bird_world.birds)) if kind else bird_world
        record = world.record(world.saying(logits), protocol, **more)
        assert len(world.rows(record)) == record.data.n
        for what in record.artifacts:
            world.rows(record, what)
        return record, world.rows(record)

    return made


def told(record: Record, name: str, labels: str = "all species") -> dict[str, tuple[float | None, int]]:
    """The values and sizes of a number, by category."""
    return {one.subset_text: (one.value, one.n) for one in record.metrics if (one.name, one.labels) == (name, labels)}


def sound(one: Metric) -> bool:
    """Whether a number is finite, over some birds and inside its interval; Student's needs two birds."""
    assert one.value is not None
    if one.ci_method == "student" and one.n == 1:
        return one.ci is None and math.isfinite(one.value)
    assert one.ci is not None
    low, high = one.ci
    return one.n > 0 and math.isfinite(one.value) and low - 1e-9 <= one.value <= high + 1e-9


def names(record: Record) -> list[tuple[str, str, str]]:
    """What tells the numbers of a record apart."""
    return [one.printed_key for one in record.metrics]


@pytest.mark.parametrize(("protocol", "count"), [("species", 3 * 55 + 5), ("flat_list", 18)])
def test_every_number_is_sound(subtests: Any, made: Made, protocol: str, count: int) -> None:
    every, _ = made("", protocol)
    assert len(set(names(every))) == len(names(every)) == count
    for kind in KINDS:
        with subtests.test(kind):
            record, rows = made(kind, protocol)
            assert [one for one in record.metrics if not sound(one)] == []
            assert set(names(record)) <= set(names(every))
            assert record.outcomes.correct + record.outcomes.wrong == len(rows)


def test_birds_of_one_kind_have_no_trade_off(made: Made) -> None:
    for kind, n in (("all answerable", 14), ("all unanswerable", 8)):
        record, _ = made(kind)
        assert told(record, "ua_a") == told(record, "tree_hm") == {}
        sizes = {category: n for category, (_, n) in told(record, "acc").items()}
        assert {"answerable.species", "unanswerable.genus"} & sizes.keys() == {
            "unanswerable.genus" if kind == "all unanswerable" else "answerable.species"
        }
        assert sum(sizes.get(category, 0) for category in ("answerable.species", "unanswerable.genus")) == n


def test_nobodys_lists_have_no_numbers(made: Made) -> None:
    record, rows = made("nobody has a list")
    for labels in LABELS[1:]:
        assert [one for one in record.metrics if one.labels == labels] == []
    assert {row["range.species"] for row in rows} == {""}


def test_who_is_alone_on_a_list_is_certain(made: Made) -> None:
    record, rows = made("lists are of one")
    by_list = [row for row in rows if row["range.species"]]
    assert {
        (row["range.species"], row["range.species.probability"], row["range.species.entropy"]) for row in by_list
    } == {("Corvus corax", "1", "0")}
    assert told(record, "ua_a", "range")["all"] == (0.5, len(by_list)) == (0.5, 22)
    assert told(record, "auc", "range") == told(record, "acc", "range")


def test_equal_scores_tell_nothing(made: Made) -> None:
    record, _ = made(logits=np.zeros((22, 14)))
    for criterion in ("", "_entropy", "_margin"):
        assert told(record, f"ua_a{criterion}") == {"all": (0.5, 22)}
    assert told(record, "auc") == told(record, "auc_entropy") == told(record, "acc")
    assert told(record, "auc_macro") == {
        name: (pytest.approx(value), n) for name, (value, n) in told(record, "acc_macro").items()
    }


def test_who_knows_everything_has_the_highest_marks(bird_world: Any) -> None:
    bird_world.skill = 80.0
    record = bird_world.record(bird_world.saying())
    for name in ("acc", "acc_macro", "auc", "auc_macro", "auc_balanced", "ig", "ig_depth", "ig_correct_only"):
        values = [value for category, (value, _) in told(record, name).items() if category.startswith("answerable")]
        assert values == pytest.approx([1] * len(values)), name
    assert told(record, "aurc")["answerable.species"] == (pytest.approx(0), 14)
    assert told(record, "ece")["answerable.species"] == (pytest.approx(0), 14)


@pytest.mark.parametrize("protocol", ["species", "flat_list"])
def test_errors_alone_are_counted_and_never_wrong(made: Made, protocol: str) -> None:
    record, rows = made("", protocol, broken=frozenset(range(22)))
    assert (record.outcomes.correct, record.outcomes.wrong, record.outcomes.error) == (0, 0, 22)
    assert [(one.name, one.value, one.n) for one in record.metrics] == [("answered", 0.0, 22)]
    assert all(row["error"] for row in rows)
    said = {value for row in rows for name, value in row.items() if name.startswith(("all.", "range."))}
    assert said <= {"", *(row.get("range.candidates", "") for row in rows)}


@pytest.mark.parametrize("protocol", ["species", "flat_list"])
def test_an_error_changes_no_other_birds_number(made: Made, bird_world: Any, protocol: str) -> None:
    some = [row for row in range(22) if row not in (2, 17)]
    (record, _), few = (
        made("", protocol, broken=frozenset({2, 17})),
        bird_world.with_birds(*(bird_world.birds[row] for row in some)),
    )
    other = few.record(few.saying(bird_world.logits()[some]), protocol)
    answered, *metrics = sorted(record.metrics, key=lambda one: one.name != "answered")
    assert (answered.value, answered.n) == (20 / 22, 22)
    for one, same in zip(metrics, [each for each in other.metrics if each.name != "answered"], strict=True):
        assert (one.name, one.value, one.n, one.ci) == (same.name, same.value, same.n, same.ci)


def test_a_limit_scores_so_many(made: Made) -> None:
    record, rows = made(limit=5)
    _, every = made()
    assert (record.data.n, record.limit, len(rows)) == (5, 5, 5)
    whole = {row["key"]: row for row in every}
    assert rows == [whole[row["key"]] for row in rows]
