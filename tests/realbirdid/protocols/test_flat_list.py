"""Species and genera in one list: what is chosen, against a plain look at each bird, and what it is worth."""

import sys
from statistics import harmonic_mean
from typing import Any

import numpy as np
import pytest

from eyechart.errors import VocabularyError
from eyechart.realbirdid.answers.species_predictions import ALL, RANGE
from eyechart.realbirdid.data.observations import Observations
from eyechart.realbirdid.protocols.flat_list import (
    UNANSWERED,
    _candidate_mask_with_genera,
    _outcomes_by_labels,
    _row_maxima,
    top_names,
)
from eyechart.results.sample_table import SHARED_COLUMNS

LABELS = ("all species", "eligible", "range")
BROKEN = frozenset({1, 3})


@pytest.fixture(scope="module", params=["comparing", "saying"])
def case(request: pytest.FixtureRequest, make_bird_world: Any) -> Any:
    """A world, what a model chose in it, the record and the csv."""
    world = make_bird_world(seed=3)
    model = getattr(world, request.param)()
    record = world.record(model, "flat_list", broken=BROKEN)
    return world, world.found(model, "flat_list", broken=BROKEN), record, world.rows(record)


def plain(world: Any, row: int, by_list: bool) -> tuple[str, float]:
    """The likeliest name, and its share."""
    _, _, told = world.birds[row]
    indices = {int(index) for index in told} if by_list else {*range(9)}
    genera = {world.tree.names[1][world.tree.parents[0][index]] for index in indices}
    raised = {
        name: float(np.exp(np.float64(value)))
        for index, (name, value) in enumerate(zip(world.names, world.logits()[row], strict=True))
        if index in indices or name in genera
    }
    best = max(raised, key=lambda name: raised[name])
    return best, raised[best] / sum(raised.values())


@pytest.mark.parametrize(("labels", "prefix"), [(ALL, "all"), (RANGE, "range")])
def test_the_likeliest_of_the_list_is_chosen(case: Any, labels: str, prefix: str) -> None:
    world, found, _, rows = case
    for row, (index, told) in enumerate(zip(found.top_names[labels].indices, rows, strict=True)):
        if index == UNANSWERED:
            assert {told[f"{prefix}.{what}"] for what in ("answer", "answer_level", "probability", "correct")} == {""}
            continue
        name, share = plain(world, row, labels == RANGE)
        assert (world.names[index], told[f"{prefix}.answer"]) == (name, name)
        assert told[f"{prefix}.answer_level"] == ("species" if " " in name else "genus")
        assert float(told[f"{prefix}.probability"]) == pytest.approx(share, abs=1e-5)


def test_who_has_no_picture_no_list_or_no_place_has_no_answer(case: Any) -> None:
    answers = case[1].top_names
    assert np.flatnonzero(answers[ALL].indices == UNANSWERED).tolist() == [1, 3]
    assert np.flatnonzero(answers[RANGE].indices == UNANSWERED).tolist() == [1, 3, 5, 8, 12, 16, 21]
    assert all(np.array_equal(np.isnan(each.probabilities), each.indices == UNANSWERED) for each in answers.values())
    assert [*case[1].errors] == [1, 3]


def told(rows: list[dict[str, str]], labels: str) -> list[dict[str, str]]:
    """The answers under a list of whoever has one, each with the cells that matter."""
    prefix = "range" if labels == "range" else "all"
    kept = [row for row in rows if row["all.answer" if labels == "all species" else "range.answer"]]
    return [row | {what: row[f"{prefix}.{what}"] for what in ("answer", "answer_level", "correct")} for row in kept]


@pytest.mark.parametrize("labels", LABELS)
def test_numbers_are_counts_of_the_csv(case: Any, number: Any, labels: str) -> None:
    record, rates = case[2], []
    for category in ("answerable", "unanswerable"):
        some = [row for row in told(case[3], labels) if row["subset"] == category]
        right = [row["answer"] == (row["species"] or row["genus"]) for row in some]
        assert [int(row["correct"]) for row in some] == right
        rates.append(sum(right) / len(some))
        stopped = sum(row["answer_level"] == "genus" for row in some) / len(some)
        found = [number(record, name, category, labels) for name in ("acc", "abstained")]
        assert [(one.value, one.n) for one in found] == [(rates[-1], len(some)), (stopped, len(some))]
    mean = number(record, "hm", "all", labels)
    assert (mean.value, mean.n) == (pytest.approx(harmonic_mean(rates)), len(told(case[3], labels)))


def test_every_number_comes_once_and_is_plain(case: Any) -> None:
    metrics = case[2].metrics
    assert len({one.printed_key for one in metrics}) == len(metrics) == 18
    assert {type(value) for one in metrics for value in (one.value, one.n, *(one.ci or ()))} == {float, int}


def test_outcomes_are_those_of_the_whole_list(case: Any) -> None:
    _, _, record, rows = case
    right = [row["correct"] for row in rows]
    assert right == [row["all.correct"] for row in rows]
    assert [row["prediction"] for row in rows] == [row["all.answer"] for row in rows]
    assert (record.outcomes.correct, record.outcomes.wrong) == (right.count("1"), right.count("0"))
    assert record.outcomes.error == right.count("") == 2
    assert [row["key"] for row in rows if row["error"]] == ["s01", "s03"]


def test_the_columns_are_those_of_the_readme(case: Any) -> None:
    cells = ["answer", "answer_level", "probability", "correct"]
    expected = [*SHARED_COLUMNS, "observation", "species", "genus", "reason"]
    assert [*case[3][0]] == [*expected, *(f"{prefix}.{cell}" for prefix in ("all", "range") for cell in cells)]


def test_views_leave_out_who_has_no_list(case: Any) -> None:
    found = {labels: (right, stopped) for labels, right, stopped in _outcomes_by_labels(case[1])}
    assert [*found] == [*LABELS]
    for right, stopped in found.values():
        np.testing.assert_array_equal(np.isnan(right), np.isnan(stopped))
    np.testing.assert_array_equal(np.isnan(found["eligible"][0]), np.isnan(found["range"][0]))


def test_a_genus_is_listed_with_any_of_its_species(bird_world: Any) -> None:
    found = _candidate_mask_with_genera(bird_world.seen, 0, 22)
    genera = [[bird_world.names[index] for index in np.flatnonzero(row[9:]) + 9] for row in found[[1, 3, 8, 11]]]
    assert genera == [["Corvus", "Turdus", "Pica"], [], [], ["Corvus", "Anhinga", "Opisthocomus"]]
    np.testing.assert_array_equal(
        found[:, :9], bird_world.seen.candidate_mask(0, 22) & bird_world.seen.eligible[:, None]
    )


def test_of_equals_the_first_is_chosen() -> None:
    shares = np.array([[0.25, 0.375, 0.375], [np.nan] * 3], np.float32)
    indices, sure, of_right = _row_maxima(shares, np.array([0, 2]))
    assert indices.tolist() == [1, UNANSWERED]
    np.testing.assert_array_equal(sure, [0.375, np.nan])
    np.testing.assert_array_equal(of_right, [0.25, np.nan])


@pytest.mark.parametrize("block", [1, 5, 22, 100])
def test_the_size_of_a_block_changes_nothing(bird_world: Any, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    logits = bird_world.logits()
    expected = top_names(lambda start, stop: logits[start:stop], bird_world.seen.nodes, bird_world.seen)
    monkeypatch.setattr(sys.modules[top_names.__module__], "BLOCK", block)
    found = top_names(lambda start, stop: logits[start:stop], bird_world.seen.nodes, bird_world.seen)
    assert found.indices.tolist() == expected.indices.tolist()
    np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    np.testing.assert_array_equal(found.of_right, expected.of_right)


def test_nobody_is_asked_about_nothing(bird_world: Any) -> None:
    none: Observations = bird_world.seen.select([])
    for seen in (None, none):
        found = top_names(lambda start, stop: np.zeros((stop - start, 14), np.float32), none.nodes, seen)
        assert found.indices.size == found.probabilities.size == 0


def test_a_common_name_that_is_a_genus_is_refused(bird_world: Any) -> None:
    with pytest.raises(VocabularyError, match=r"Classes 6 \('Anhinga'\) and 12 \('Anhinga'\) have one name"):
        bird_world.found(bird_world.comparing(), "flat_list", species_names="common")


def test_genera_are_asked_for_by_the_same_templates(bird_world: Any) -> None:
    model = bird_world.comparing()
    bird_world.found(model, "flat_list")
    assert model.read == [f"a photo of a {name} bird." for name in bird_world.names]
