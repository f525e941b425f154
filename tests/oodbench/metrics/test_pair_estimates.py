"""What cases about pairs are compared by: measures of resamples of the same images."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer
from eyechart.oodbench.answers.pair_predictions import LABELS
from eyechart.oodbench.division.pairs import ID
from eyechart.oodbench.metrics.pair_estimates import STAGES, stage_accuracies, yes_no_measures
from eyechart.oodbench.protocols.existence import Existence
from eyechart.oodbench.protocols.progression import Progression
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import RESAMPLES, Evidence, read_evidence
from eyechart.statistics.resampling import bootstrap_counts
from eyechart.statistics.yes_no import MEASURES, confusion_measures, confusion_tables

KINDS = {"existence": Existence(), "progression": Progression()}


FAILED = {"first[]": {(0, 1), (1, 0), (1, 1), (1, 2), (3, 0)}, "second[]": {(0, 1), (1, 0), (1, 1), (1, 2), (2, 3)}}


@pytest.fixture
def world(pair_world: Any) -> Any:
    """A world with couples out of distribution."""
    pair_world.failed = FAILED
    return pair_world


@pytest.fixture
def kept(world: Any, make_run: Any, evaluate_predictions: Any, tmp_path: Path) -> Callable[..., Evidence]:
    """Ask a model, and read the evidence of what was written down."""

    def kept(protocol: str, say: Any = None) -> Evidence:
        model = world.talker(say)
        model.identity = structs.replace(
            model.identity, weights_sha256=f"{say}"
        )  # or the first one's answers would be kept
        context = world.sit(model, protocol)
        case = Case("oodbench", "memory", parse_spec("talker[]"), protocol, context.options)
        found, settings = KINDS[protocol].predict(context), make_run.settings(case, None)
        result = evaluate_predictions(case, settings, context.dataset, model.identity, found, tmp_path)
        return read_evidence(tmp_path / result.write_record(1.5, {}, "pytest").evidence.path)

    return kept


def lie(kind: str, row: int, *_: Any) -> str | None:
    """Be wrong about two of the pictures, and silent about one."""
    return {1: "No", 5: "Yes", 6: "Well."}.get(row)


@pytest.mark.parametrize(("protocol", "names"), [("existence", MEASURES), ("progression", STAGES)])
def test_a_run_is_itself(kept: Any, unchanged: Any, protocol: str, names: tuple[str, ...]) -> None:
    assert unchanged(kept(protocol)) == {*names}
    assert unchanged(kept(protocol, lie)) == {*names}


@pytest.mark.parametrize("protocol", KINDS)
def test_wrong_answers_are_a_loss_of_every_number_that_they_touch(
    kept: Any, judged_numbers: Any, protocol: str
) -> None:
    found = judged_numbers(kept(protocol), kept(protocol, lie))
    assert {each.method for each in found} == {"paired bootstrap"}
    assert all(each.delta <= 0 for each in found)
    assert any(each.delta < 0 for each in found)


@pytest.mark.parametrize("protocol", KINDS)
def test_an_image_with_an_error_is_not_answered(kept: Any, judged_numbers: Any, protocol: str) -> None:
    refused = Answer("", (), False, error="refused")
    before = kept(protocol)
    whole = before.sample_outcomes(next(proof for proof in before.metrics if proof.name == "answered"))
    failed = int(np.flatnonzero(whole == 1)[0])
    after = kept(protocol, lambda _, row, *__: refused if row == failed else None)
    (found,) = [each for each in judged_numbers(before, after) if each.metric.name == "answered"]
    assert (found.before, found.lost, found.gained, found.method) == (1.0, (failed,), 0, "exact McNemar")
    outcomes = after.sample_outcomes(found.metric)
    assert outcomes is not None
    assert (found.n, found.n_clusters) == (np.isfinite(outcomes).sum(), np.isfinite(outcomes).sum())
    assert np.isnan(outcomes).any() or found.n == after.samples


def contrary(world: Any) -> Callable[..., str]:
    """Say the opposite of the truth, and a wrong number."""

    def say(kind: str, *of: int) -> str:
        truth = world.tell(kind, *of)
        return {"Yes": "No", "No": "Yes"}.get(truth, f"{truth}0")

    return say


@pytest.mark.parametrize(("protocol", "number"), [("existence", "acc"), ("progression", "c_acc")])
def test_what_is_asked_of_one_image_several_times_is_no_surer_than_its_images(
    kept: Any, judged_numbers: Any, world: Any, protocol: str, number: str
) -> None:
    for each in judged_numbers(kept(protocol), kept(protocol, contrary(world))):
        if each.metric.name == number:
            assert each.n_clusters < each.n
            assert (each.delta, each.p) == (-1, pytest.approx(flipped([-1] * each.n_clusters)))


def flipped(changes: Sequence[float]) -> float:
    """The share of all ways to exchange the runs, image by image, that differ by as much: the exact p-value."""
    sums = [abs(sum(each)) for each in product(*[(change, -change) for change in changes])]
    return sum(found >= abs(sum(changes)) for found in sums) / len(sums)


@pytest.mark.parametrize("protocol", KINDS)
def test_units_are_the_images_of_the_questions_that_count(kept: Any, world: Any, protocol: str) -> None:
    found = KINDS[protocol].predict(world.sit(world.talker(lie), protocol))
    pairs = found.indices if protocol == "existence" else found.first
    images: dict[str, set[int]] = {}
    for pair in pairs.tolist():
        images.setdefault(found.division.sets[pair], set()).add(int(found.division.rows[pair]))
    told = {proof.subset_text: proof.sampling_units for proof in kept(protocol, lie).metrics if proof.bootstrap_samples}
    assert told == {name: len(rows) for name, rows in images.items()}


def test_the_measures_are_drawn_of_images_with_all_their_pairs(world: Any) -> None:
    found = Existence().predict(world.sit(world.talker(lie)))
    mask = dict(found.set_masks())[ID]
    counts, rows = confusion_tables(found.answers[mask], found.expected[mask]), found.division.rows[found.indices[mask]]
    plain = [
        confusion_measures(sum(taken[row] * each for row, each in zip(rows, counts, strict=True)))["mcc"]
        for taken in bootstrap_counts(len(found.keys), RESAMPLES, 3)
    ]
    values = bootstrap_of(yes_no_measures(replace(found, seed=3)), ("mcc", LABELS, ID))
    assert values == pytest.approx(np.array(plain), nan_ok=True)


def test_the_accuracies_are_drawn_of_images_with_all_their_samples(world: Any) -> None:
    found = Progression().predict(world.sit(world.talker(lie), "progression"))
    name = found.set_names[0]
    indices = [index for index, of in enumerate(found.set_names) if of == name]
    rows = found.division.rows[found.first[indices]]
    plain = [
        np.repeat(found.correct[indices, 2], taken[rows]) for taken in bootstrap_counts(len(found.keys), RESAMPLES, 3)
    ]
    means = [right.mean() if right.size else np.nan for right in plain]
    values = bootstrap_of(stage_accuracies(replace(found, seed=3)), ("l_acc", LABELS, name))
    assert values == pytest.approx(np.array(means), nan_ok=True)


def bootstrap_of(estimates: Iterable[Estimate], key: tuple[str, str, str]) -> Any:
    """The values of a number in resamples."""
    (bootstrap,) = (each.bootstrap for each in estimates if (each.name, each.labels, each.metric.subset_text) == key)
    assert bootstrap is not None
    return bootstrap()
