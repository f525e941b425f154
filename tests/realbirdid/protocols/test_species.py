"""A probability for every species, against a plain softmax and sums over names."""

from typing import Any

import numpy as np
import pytest

from eyechart.models.spec import parse_spec
from eyechart.realbirdid.answers.species_predictions import ALL, RANGE, SpeciesPredictions
from eyechart.realbirdid.protocols.helpers.name_scores import score_names, softmax
from eyechart.realbirdid.protocols.helpers.species_replay import SpeciesReplay
from eyechart.realbirdid.protocols.species import probability_reader

LISTED = (0, 1, 2, 4, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 20)  # birds with a location and a list


@pytest.fixture(params=["comparing", "saying"])
def found(request: pytest.FixtureRequest, bird_world: Any) -> SpeciesPredictions:
    """What an encoder and a language model say of birds; two cannot be read, one with a list and one without."""
    model = getattr(bird_world, request.param)()
    answer: SpeciesPredictions = bird_world.found(model, broken=frozenset({1, 3}))
    return answer


def plain(world: Any, row: int, by_list: bool) -> dict[str, dict[str, float]]:
    """The probability of every name by level."""
    names, tree = world.names, world.tree
    _, _, told = world.birds[row]
    chosen = [int(index) for index in told] if by_list else range(9)
    raised = {index: float(np.exp(np.float64(world.logits()[row, index]))) for index in chosen}
    levels: dict[str, dict[str, float]] = {level: {} for level in tree.levels}
    for index, value in raised.items():
        for level, known, above in zip(tree.levels, tree.names, tree.ancestors, strict=True):
            name = known[above[index]]
            levels[level][name] = levels[level].get(name, 0) + value / sum(raised.values())
    assert {*levels["species"]} == {names[index] for index in chosen}
    return levels


def said(found: SpeciesPredictions, labels: str, row: int) -> dict[str, tuple[str, float, float, float]]:
    """The best name, the two highest probabilities and the entropy by level."""
    tree, told = found.observations.taxonomy, {}
    for name, known, level in zip(tree.levels, tree.names, found.summaries[labels].levels, strict=True):
        numbers = (float(part[row]) for part in (level.probability, level.second, level.entropy))
        told[name] = (known[level.best[row]], *numbers)
    return told


@pytest.mark.parametrize("labels", [ALL, RANGE])
def test_every_level_is_a_sum_of_a_plain_softmax(bird_world: Any, found: SpeciesPredictions, labels: str) -> None:
    for row in {*(LISTED if labels == RANGE else range(22))} - {1, 3}:
        for level, chances in plain(bird_world, row, labels == RANGE).items():
            best, *numbers = said(found, labels, row)[level]
            ranked = [*sorted(chances.values(), reverse=True), 0.0]
            assert best == max(chances, key=lambda name: chances[name])
            spread = -sum(each * np.log(each) for each in chances.values())
            assert numbers == pytest.approx([*ranked[:2], spread], abs=2e-4)


@pytest.mark.parametrize("by_list", [False, True])
def test_probabilities_add_up_to_one(bird_world: Any, by_list: bool) -> None:
    logits, seen = bird_world.logits()[:, :9], bird_world.seen
    read = probability_reader(lambda start, stop: logits[start:stop], seen if by_list else None)
    rows = read(0, 22)[LISTED if by_list else slice(None),]
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-6)
    assert ((rows > 0) == (seen.candidate_mask(0, 22)[LISTED,] if by_list else True)).all()


def test_a_bird_without_a_list_or_a_location_is_not_spoken_of_by_list(found: SpeciesPredictions) -> None:
    told = found.summaries[RANGE].levels
    assert all(np.flatnonzero(level.best >= 0).tolist() == [row for row in LISTED if row != 1] for level in told)
    assert np.isnan(told[0].probability[[3, 5, 8, 12, 16, 21]]).all()


def test_an_error_is_no_answer_on_any_list(found: SpeciesPredictions) -> None:
    assert [*found.errors] == [1, 3]
    for summary in found.summaries.values():
        assert [level.best[[1, 3]].tolist() for level in summary.levels] == [[-1, -1]] * 3
        assert np.isnan([[level.probability[[1, 3]], level.entropy[[1, 3]]] for level in summary.levels]).all()


def test_every_choice_is_told(bird_world: Any) -> None:
    told = bird_world.found(bird_world.comparing()).variant
    assert {**told} == {**told} | {"species_names": "scientific", "prompt": "own", "names": "split", "scale": "50"}
    assert bird_world.found(bird_world.saying()).variant["stop"] == "unique prefix"


def test_common_names_are_asked_for_and_scientific_ones_told(bird_world: Any) -> None:
    names = (*bird_world.tree.common, *bird_world.names[9:])
    one, other = bird_world.comparing(), bird_world.comparing(names=names)
    plain, common = bird_world.found(one), bird_world.found(other, species_names="common")
    assert other.read[0] == "a photo of a Raven bird."
    np.testing.assert_array_equal(plain.summaries[ALL].levels[0].best, common.summaries[ALL].levels[0].best)


def test_a_limit_takes_the_observations_with_the_pictures(bird_world: Any) -> None:
    every, some = (bird_world.found(bird_world.comparing(), limit=limit) for limit in (None, 7))
    rows = [every.keys.index(key) for key in some.keys]
    assert len(rows) == len(some.observations) == 7
    assert rows != [*range(7)]
    assert some.observations.ids == tuple(every.observations.ids[row] for row in rows)
    for labels in (ALL, RANGE):
        whole = every.summaries[labels].levels[0]
        np.testing.assert_array_equal(some.summaries[labels].levels[0].best, whole.best[rows])


@pytest.fixture
def pair(bird_world: Any) -> Any:
    """The records of a model, and of its probabilities from a file; and the world that they are in."""
    model = bird_world.comparing()
    first = bird_world.record(model)
    rows = [bird_world.rows(first)]
    told = score_names(bird_world.sit(model), bird_world.names[:9])
    np.save(bird_world.store.parent / "P.npy", softmax(told.read(0, 22)))
    second = bird_world.record(
        SpeciesReplay(parse_spec(f"replay[path={bird_world.store.parent / 'P.npy'},of=species]"))
    )
    return first, second, *rows, bird_world.rows(second)


@pytest.mark.deep
def test_replayed_probabilities_have_the_records_and_answers_of_their_model(pair: Any) -> None:
    first, second, mine, its = pair
    assert (first.outcomes, first.notes, len(first.metrics)) == (second.outcomes, second.notes, len(second.metrics))
    for one, other in zip(first.metrics, second.metrics, strict=True):
        assert (one.name, one.labels, one.subset_text, one.n) == (other.name, other.labels, other.subset_text, other.n)
        exact = 1e-5 if one.labels == RANGE else 0
        assert one.value == pytest.approx(other.value, rel=0, abs=exact)
        assert one.ci == pytest.approx(other.ci, rel=0, abs=exact)
    names = [column for column in mine[0] if not column.endswith((".probability", ".second_probability", ".entropy"))]
    assert [[row[name] for name in names] for row in mine] == [[row[name] for name in names] for row in its]
    for column in {*mine[0]} - {*names}:
        told = [[float(row[column] or "nan") for row in rows] for rows in (mine, its)]
        np.testing.assert_allclose(*told, atol=1e-5)
