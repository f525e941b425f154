"""Distribution: the pairs out of distribution of a split beside those of a reference, by features and categories."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.errors import DataError
from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.oodbench.protocols.distribution import Distribution
from eyechart.oodbench.statistics.mmd import mmd_equivalence

HERE, THERE = (0, 2, 3, 5), (3, 1, 0)
HARD, SIMPLE = {(0, 0), (1, 1), (2, 3), (3, 0), (3, 2), (5, 0)}, {(0, 1), (2, 1), (5, 4)}


@pytest.fixture
def context(pair_world: Any, detectors: Any) -> Any:
    """An encoder before some pictures, with others to compare them with."""
    pair_world.failed = {"first[]": HARD, "second[]": HARD | SIMPLE}
    model = detectors["encoder"]("eye", pair_world.logits("second[]"), pair_world.names)
    here, there = (replace(pair_world.dataset(), rows=rows) for rows in (HERE, THERE))
    sat = pair_world.sit(model, "distribution", dataset=here, reference="oodbench/there", seed=3)
    return replace(sat, open_split=lambda benchmark, split: {"oodbench/there": there}[f"{benchmark}/{split}"])


def side(model: Any, rows: tuple[int, ...]) -> tuple[Any, Any]:
    """The features and categories of the pairs that a detector fails on, picture by picture."""
    pairs = [(row, k) for name in (SIMPLE, HARD) for row in rows for k in range(5) if (row, k) in name]
    return model.encode_images([row for row, _ in pairs]), np.array([k for _, k in pairs])


def test_it_is_that_of_the_reference_then_the_split(context: Any) -> None:
    found = Distribution().predict(context)
    wanted = mmd_equivalence(*side(context.model, THERE), *side(context.model, HERE), seed=3)
    assert tuple(np.hstack(found.result)) == pytest.approx(tuple(np.hstack(wanted)))
    assert wanted != mmd_equivalence(*side(context.model, HERE), *side(context.model, THERE), seed=3)
    assert found.variant["bandwidth"] == f"{wanted.bandwidth:.6g}"


def test_pairs_in_distribution_and_of_broken_pictures_are_not_compared(context: Any, pair_world: Any) -> None:
    broken = replace(pair_world.dataset(broken=frozenset({3})), rows=HERE)
    found = Distribution().predict(replace(context, dataset=broken)).split
    assert {*found.errors} == {"s03"}
    pairs = zip(found.division.rows[found.indices], found.categories, strict=True)
    assert {(HERE[row], int(k)) for row, k in pairs} == {(row, k) for row, k in HARD | SIMPLE if row in (0, 2, 5)}


@pytest.fixture
def recorded(context: Any, make_run: Any, evaluate_predictions: Any, tmp_path: Path) -> Any:
    """The recording of what was found."""

    def recorded(found: Any) -> Any:
        case = Case("oodbench", "memory", parse_spec("eye[]"), "distribution", context.options)
        run = make_run.settings(case, None), context.dataset, context.model.identity, found, tmp_path
        return evaluate_predictions(case, *run)

    return recorded


def test_pictures_of_both_samples_are_told(context: Any, recorded: Any) -> None:
    (said,) = recorded(Distribution().predict(context)).notes()
    assert said.endswith(
        ": 2 of 4 images are in memory too, byte for byte: shared images make the samples look more similar."
    )


def test_samples_that_share_no_picture_are_left_alone(context: Any, recorded: Any) -> None:
    found = Distribution().predict(context)
    other = replace(found.reference, dataset=replace(found.reference.dataset, rows=(1,)))
    assert recorded(replace(found, reference=other)).notes() == ()


def test_the_record_has_the_distance_with_its_limits(context: Any, recorded: Any) -> None:
    found = Distribution().predict(context)
    recording = recorded(found)
    scored, apart = {one.name: one for one in (each.metric for each in recording.estimates)}, found.result
    assert {name: one.value for name, one in scored.items()} == {
        "mmd2": apart.mmd2,
        "mmd2_tau": apart.tau,
        "mmd2_null": apart.null,
        "mmd2_p": apart.p,
    }
    assert (scored["mmd2"].ci, {one.n for one in scored.values()}) == (tuple(apart.ci), {len(HERE) * 2 + 5})


def test_fewer_than_four_pairs_are_refused(context: Any, pair_world: Any) -> None:
    pair_world.failed = {"first[]": {(0, 0), (1, 1)}, "second[]": {(0, 0), (5, 0)}}
    with pytest.raises(DataError, match="imagenet/memory has 2 OOD pairs with features, expected at"):
        Distribution().predict(context)
