"""Proper scores of the right names of birds, against plain loops, and what they tell of a damaged model."""

from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np
import pytest

from eyechart.gate.comparison.compare_metrics import SCORES, compare_metrics
from eyechart.results.evidence import Evidence, read_evidence
from eyechart.statistics.least_probability import LEAST

BROKEN = frozenset({1, 15})


def log_score(logits: Any, right: int) -> float:
    """Return the log of the softmax at one place."""
    total = sum(exp(value) for value in logits)
    return max(log(LEAST), logits[right] - log(total))


def right_names(world: Any, protocol: str) -> dict[int, int]:
    """Return the place of the right name of each bird that has one: a species, in a flat list also a genus."""
    indices = {row: world.names.index(name) for row, (name, *_) in enumerate(world.birds) if row not in BROKEN}
    return {row: index for row, index in indices.items() if index < 9 or protocol == "flat_list"}


@pytest.mark.parametrize("model", ["comparing", "saying"])
@pytest.mark.parametrize(("protocol", "subset"), [("species", "answerable.species"), ("flat_list", "all")])
def test_scores_are_plain_loops_over_the_logits(
    make_bird_world: Any, number: Any, model: str, protocol: str, subset: str
) -> None:
    world = make_bird_world(seed=4)
    record = world.record(getattr(world, model)(), protocol, broken=BROKEN)
    logits = world.logits()[:, : 9 if protocol == "species" else 14].tolist()
    scores = [log_score(logits[row], index) for row, index in right_names(world, protocol).items()]
    mean, brier = (number(record, name, subset) for name in ("log_score", "target_brier"))
    assert (mean.n, brier.n, mean.ci_method) == (len(scores), len(scores), "student")
    assert mean.value == pytest.approx(sum(scores) / len(scores), abs=1e-5)
    assert brier.value == pytest.approx(sum((1 - exp(score)) ** 2 for score in scores) / len(scores), abs=1e-5)
    assert (mean.higher_is_better, brier.higher_is_better) == (True, False)


def test_no_other_list_has_scores(make_bird_world: Any) -> None:
    world = make_bird_world()
    for protocol in ("species", "flat_list"):
        metrics = world.record(world.comparing(), protocol).metrics
        assert {one.labels for one in metrics if one.name == "log_score"} == {"all species"}


def test_a_species_without_probability_has_the_least_score(make_bird_world: Any, number: Any) -> None:
    world = make_bird_world().with_birds(("Corvus corax", "", "012"), ("Pica pica", "", "?"))
    logits = np.zeros((2, 14), np.float32)
    logits[:, 0] = 45
    record = world.record(world.comparing(logits), "species")
    assert number(record, "log_score", "answerable.species").value == pytest.approx(log(LEAST) / 2)


def evidence(world: Any, logits: Any, protocol: str, **more: Any) -> Evidence:
    """Return the evidence of a model with some logits."""
    record = world.record(world.comparing(logits), protocol, **more)
    return read_evidence(world.store.parent / record.evidence.path)


@pytest.mark.parametrize(("protocol", "count"), [("species", 14), ("flat_list", 22)])
def test_a_less_confident_model_with_the_same_answers_has_worse_scores_alone(
    make_bird_world: Any, protocol: str, count: int
) -> None:
    world = make_bird_world(skill=3.0)
    logits = world.logits()
    logits[range(22), world.seen.nodes] += 4  # sure of the right name
    whole, damaged = (evidence(world, logits * factor, protocol) for factor in (1.0, 0.4))
    whole.check()
    compared = [*compare_metrics(whole, damaged)]
    scores = [one for one in compared if one.family == SCORES]
    assert {one.metric.name for one in scores} == {"log_score", "target_brier"}
    assert all(one.loss > 0 and one.p < 1e-3 and one.n == count for one in scores)
    answers = [one for one in compared if one.metric.name in ("acc", "hm") and one.metric.level in ("", "species")]
    assert {one.delta for one in answers} == {0.0}


def test_photographs_of_one_observation_are_one_unit(make_bird_world: Any, number: Any) -> None:
    world = make_bird_world(skill=6.0)
    observations = replace(world.seen, ids=tuple(f"o{row // 2}" for row in range(22)))
    record = world.record(world.comparing(), "species", details=observations)
    metric = number(record, "log_score", "answerable.species")
    assert (metric.n, metric.n_clusters, metric.ci_method) == (14, 7, "clustered student")
    logits = [world.logits() * factor for factor in (1.0, 0.4)]
    sides = [evidence(world, values, "species", details=observations) for values in logits]
    assert {one.n_clusters for one in compare_metrics(*sides) if one.family == SCORES} == {7}
