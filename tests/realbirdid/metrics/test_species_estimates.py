"""What cases about birds are compared by: every number's outcomes or draws, of the same birds for every model."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eyechart.protocol.registry import get_protocol
from eyechart.realbirdid.answers.species_predictions import RangeViews
from eyechart.realbirdid.metrics.shares import bootstrap_weights
from eyechart.realbirdid.protocols.flat_list import flat_list_accuracies
from eyechart.realbirdid.statistics.abstention_tradeoff import ua_a
from eyechart.realbirdid.statistics.information_gain import information_gain
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import Evidence, read_evidence
from eyechart.statistics.calibration import calibration_error
from eyechart.statistics.resampling import percentile_interval
from eyechart.statistics.selective import macro_auc
from eyechart.statistics.thresholds import accuracy_coverage_area

PROPER = {"log_score", "target_brier"}
SPECIES = {"acc", "ig", "ua_a", "tree_acc", "tree_hm", "auc", "aurc", "auc_macro", "ece"} | PROPER


@pytest.fixture(scope="module")
def world(make_bird_world: Any) -> Any:
    return make_bird_world()


@pytest.fixture(scope="module")
def sides(world: Any) -> dict[str, tuple[Evidence, Evidence]]:
    """The evidence of a model and of one of less skill that lacks two pictures, under each protocol."""
    worse = world.logits() * np.linspace(0.1, 1, 22)[:, None]

    def kept(protocol: str, model: Any, **more: Any) -> Evidence:
        record = world.record(model, protocol, **more)
        return read_evidence(world.store.parent / record.evidence.path)

    return {
        protocol: (kept(protocol, world.comparing()), kept(protocol, world.comparing(worse), broken=frozenset({1, 15})))
        for protocol in ("species", "flat_list")
    }


@pytest.mark.deep
@pytest.mark.parametrize(("protocol", "names"), [("species", SPECIES), ("flat_list", {"acc", "hm"} | PROPER)])
def test_a_run_is_itself(sides: Any, unchanged: Any, protocol: str, names: set[str]) -> None:
    whole, broken = sides[protocol]
    assert unchanged(whole) == names
    assert unchanged(broken) == names | {"answered"}


@pytest.mark.parametrize("protocol", ["species", "flat_list"])
def test_every_number_is_compared_bird_by_bird_and_signs_turn_around(
    sides: Any, judged_numbers: Any, protocol: str
) -> None:
    there, back = judged_numbers(*sides[protocol]), judged_numbers(*reversed(sides[protocol]))
    assert [each.delta for each in there] == [-each.delta for each in back]
    assert [each.p for each in there] == pytest.approx([each.p for each in back])
    assert any(each.delta for each in there)


@pytest.mark.parametrize("protocol", ["species", "flat_list"])
def test_draws_are_as_wide_as_the_bootstraps_interval(sides: Any, protocol: str) -> None:
    evidence, _ = sides[protocol]
    every = [proof for proof in evidence.metrics if proof.bootstrap_samples and proof.labels == "all species"]
    drawn = [proof for proof in every if proof.name != "ece"]  # other sets of birds vary in size
    ends = np.array([percentile_interval(evidence.bootstrap_samples(proof)) for proof in drawn])
    assert ends == pytest.approx(np.array([proof.ci for proof in drawn]), abs=0.1)


def test_every_share_is_that_of_its_outcomes(sides: Any) -> None:
    for evidence in (side for pair in sides.values() for side in pair):
        told = {
            proof: evidence.sample_outcomes(proof)
            for proof in evidence.metrics
            if proof.correct and proof.value is not None
        }
        assert [np.nanmean(each) for each in told.values()] == pytest.approx([proof.value for proof in told])
        assert [np.sum(~np.isnan(each)) for each in told.values()] == [proof.n for proof in told]


def test_harmonic_means_of_other_answers_are_drawn_of_the_same_birds(world: Any) -> None:
    """A model that is right about one bird more has a harmonic mean that no resample lowers, and that some raise."""
    recording = world.recording(world.comparing(), "flat_list")
    indices = recording.predictions.top_names["all species"].indices
    truth = np.where(world.seen.answerable, world.seen.species, len(world.tree.names[0]) + world.seen.genus)
    better = np.where(np.arange(22) == np.flatnonzero(indices != truth)[0], truth, indices)
    change = hm(recording, better) - hm(recording, indices)
    assert change.min() == 0
    assert 0.5 < (change > 0).mean() < 0.75  # a bird is in 1 - (1 - 1/n)^n of the resamples


def hm(recording: Any, indices: Any) -> Any:
    """The draws of the harmonic mean, had the model chosen so."""
    answers = {"all species": replace(recording.predictions.top_names["all species"], indices=indices)}
    found = replace(recording.predictions, top_names=recording.predictions.top_names | answers)
    return bootstrap_of(flat_list_accuracies(replace(found, seed=42)), ("hm", "all species", "all"))


def bootstrap_of(estimates: Iterable[Estimate], key: tuple[str, str, str]) -> Any:
    """The values of a number in resamples."""
    (bootstrap,) = (each.bootstrap for each in estimates if (each.name, each.labels, each.metric.subset_text) == key)
    assert bootstrap is not None
    return bootstrap()


AREAS = {
    ("ua_a", "all"): lambda view, rows, _: (
        ua_a(view.uncertainty("max_probability", 0)[rows], view.observations.answerable[rows] == 0).value
    ),
    ("ig", "answerable"): lambda view, rows, views: (
        information_gain(views.tree, view.summary.threshold_steps.select(rows), view.observations.species[rows]).area
    ),
    ("auc", "answerable.genus"): lambda view, rows, _: accuracy_coverage_area(
        *level(view, rows[view.observations.answerable[rows]], 1)[:2]
    ),
    ("auc_macro", "answerable.genus"): lambda view, rows, _: macro_auc(
        *level(view, rows[view.observations.answerable[rows]], 1)
    ),
    ("ece", "unanswerable.order"): lambda view, rows, _: calibration_error(
        *level(view, rows[~view.observations.answerable[rows]], 2)[:2]
    ),
}


def level(view: Any, rows: Any, index: int) -> tuple[Any, Any, Any]:
    """How sure each answer of a level is, whether it is right, and the truth."""
    return view.summary.levels[index].probability[rows], view.correct[index][rows], view.targets[index][rows]


@pytest.mark.parametrize("labels", ["all species", "eligible", "range"])
def test_draws_are_the_numbers_of_birds_written_down_as_often_as_they_are_drawn(
    subtests: Any, world: Any, labels: str
) -> None:
    predictions = replace(world.found(world.comparing()), seed=3)
    views = RangeViews(predictions)
    estimates = [each for metric in get_protocol("species").metrics for each in metric(predictions)]
    samples = [np.repeat(np.arange(22), counts) for counts in bootstrap_weights(world.seen, 3)][:20]
    told = [rows[views[labels].answered[rows]] for rows in samples]
    for (name, category), area in AREAS.items():
        with subtests.test(f"{name}-{category}"):
            found = bootstrap_of(estimates, (name, labels, category))
            plain = [area(views[labels], rows, views) for rows in told]
            assert found[:20] == pytest.approx(np.array(plain), nan_ok=True)
