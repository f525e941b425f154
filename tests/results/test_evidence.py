"""What is kept of a number comes back as it was, is small, and is refused where it is damaged."""

import zlib
from base64 import b85decode, b85encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from msgspec.structs import replace

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets
from eyechart.data.dataset.dataset import Dataset, Row, build_label_set, build_original_labels
from eyechart.data.index.file_index import whole_file_source
from eyechart.data.labels.equivalences import LabelPolicy
from eyechart.errors import ReportError
from eyechart.evaluation.settings import Case, Settings
from eyechart.models.spec import parse_spec
from eyechart.models.types import Identity
from eyechart.results.estimates import Estimate, Separation
from eyechart.results.evidence import (
    RESAMPLES,
    STEPS,
    Evidence,
    PackedArrays,
    collect_evidence,
    pack_array,
    read_evidence,
    unpack_array,
)
from eyechart.results.records import encode
from eyechart.statistics.auroc import auroc

MANY, CLASSES, KIB = 50_000, 12, 1024
OUTCOMES = arrays(np.float64, st.integers(0, 70), elements=st.sampled_from([0.0, 1.0, np.nan]))
DRAWS = arrays(np.float64, RESAMPLES, elements=st.one_of(st.floats(-1e3, 1e3), st.just(np.nan)), fill=st.floats(0, 1))


def about(value: float | None = 0.5, correct: Any = None, draws: Any = None) -> Estimate:
    bootstrap = None if draws is None else lambda: draws
    return Estimate(name="acc1", labels="ImGT", value=value, n=1, method="wilson", correct=correct, bootstrap=bootstrap)


def evidence(planes: Any, found: Any, samples: int = 0) -> Evidence:
    """Evidence of which only the planes matter."""
    blank = dict.fromkeys(("case", "protocol", "model", "weights_sha256", "fingerprint"), "")
    none: dict[str, str] = {}
    return Evidence(**blank, label_hashes=none, variant=none, limit=None, seed=0, samples=samples, environment=none,
                    metrics=tuple(found), arrays=planes)  # fmt: skip


@pytest.mark.deep
@given(st.lists(OUTCOMES.map(lambda found: np.resize(found, 37)), min_size=1, max_size=5))
def test_any_outcomes_come_back(several: list[Any]) -> None:
    found, planes = collect_evidence(about(correct=each) for each in several)
    kept = evidence(planes, found, samples=37)
    for proof, outcomes in zip(found, several, strict=True):
        np.testing.assert_array_equal(kept.sample_outcomes(proof), outcomes)


@given(OUTCOMES)
def test_outcomes_of_any_number_of_samples_come_back(outcomes: Any) -> None:
    counted = outcomes[~np.isnan(outcomes)]
    (proof,), planes = collect_evidence([about(float(counted.mean()) if counted.size else None, outcomes)])
    kept = evidence(planes, [proof], samples=len(outcomes))
    np.testing.assert_array_equal(kept.sample_outcomes(proof), outcomes)
    kept.check()


@given(DRAWS, st.floats(-10, 10))
def test_any_draws_come_back_as_near_as_steps_are(draws: Any, value: float) -> None:
    (proof,), planes = collect_evidence([about(value, draws=draws)])
    back = evidence(planes, [proof]).bootstrap_samples(proof)
    np.testing.assert_allclose(back, draws, rtol=0, atol=proof.scale / STEPS * 0.51 + 1e-12)


def test_a_number_without_a_value_or_without_anything_has_nothing_to_tell() -> None:
    found, planes = collect_evidence([about(None, draws=np.zeros(RESAMPLES)), about()])
    kept = evidence(planes, found)
    assert [(kept.sample_outcomes(each), kept.bootstrap_samples(each)) for each in found] == [(None, None)] * 2
    assert planes == {}


@given(arrays(np.float64, (2, 40), elements=st.sampled_from([0.0, 0.3, 1.0, np.inf, np.nan])))
def test_an_order_of_two_classes_comes_back_with_its_area(columns: Any) -> None:
    scores, positive = columns[0], np.where(np.isin(columns[1], (0, 1)), columns[1], np.nan)
    area = auroc(scores, positive)
    estimate = Estimate(name="auroc", value=area, n=1, separation=Separation(scores, positive))
    (proof,), planes = collect_evidence([estimate])
    kept = evidence(planes, [proof], samples=40)
    kept.check()
    back = kept.separation(proof)
    assert back is not None
    assert auroc(back.scores, back.positive) == pytest.approx(area, nan_ok=True, abs=1e-12)
    np.testing.assert_array_equal(np.isnan(back.scores), np.isnan(scores) | np.isnan(positive))


def test_an_area_that_its_ranks_do_not_have_is_refused() -> None:
    separation = Separation(np.array([0.1, 0.2, 0.3]), np.array([0.0, 1, 1]))
    (proof,), planes = collect_evidence([Estimate(name="auroc", value=1.0, n=3, separation=separation)])
    with pytest.raises(ValueError, match=r"auroc is 0\.5, but its ranks have the area 1\.0"):
        evidence(planes, [replace(proof, value=0.5)], samples=3).check()


def test_equal_planes_are_kept_once_and_a_part_finds_itself_in_the_whole() -> None:
    whole = np.random.default_rng(0).integers(0, 2, 100).astype(np.float64)
    part = np.where(np.arange(100) % 3 > 0, whole, np.nan)
    found, planes = collect_evidence([about(correct=whole), about(correct=whole), about(correct=part)])
    assert len(planes) == 3
    assert found[0].correct == found[2].correct
    np.testing.assert_array_equal(evidence(planes, found, samples=100).sample_outcomes(found[2]), part)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, evaluate_predictions: Any) -> tuple[Evidence, Path]:
    """The evidence of 50,000 images, through the real recording: random labels, so that all categories are large."""
    chance = np.random.default_rng(0)
    old = chance.integers(0, CLASSES, MANY).tolist()
    near = (np.array(old) + (chance.random(MANY) > 0.7)) % CLASSES
    more = [(each % 3,) if each % 2 else () for each in chance.integers(0, 9, MANY).tolist()]
    new = [tuple({one, *others}) for one, others in zip(near.tolist(), more, strict=True)]
    rows = tuple(Row(f"{index:05d}", f"{index}.jpg", f"{index:064x}", label) for index, label in enumerate(old))
    given = {"ImGT": [(each,) for each in old], "ReGT": [each if each[0] % 5 else () for each in new]}
    truths = {
        "ImGT": build_original_labels("imagenet", rows, given["ImGT"], "test"),
        "ReGT": build_label_set("ReGT", rows, given["ReGT"], "exclude", "test"),
    }
    dataset = Dataset("imagenet", "val", rows, whole_file_source(()), CLASSES, label_sets=truths)
    scores = chance.random((MANY, CLASSES), np.float32)
    scores[np.arange(MANY), old] += chance.random(MANY, np.float32)
    return recorded(evaluate_predictions, dataset, scores, tmp_path_factory.mktemp("run"))


def recorded(evaluate: Any, dataset: Dataset, scores: Any, folder: Path) -> tuple[Evidence, Path]:
    """What a benchmark and the plugin do."""
    who = Identity(backend="m", name="m", weights_sha256="0" * 64, dtype="", device="", processor={}, libraries={})
    original = np.array([row.label for row in dataset.index], np.int64)
    targets = Targets(tuple(dataset.select_label_sets("exclude")), original, LabelPolicy(), dataset.classes, 42)
    said = ClassPredictions(dataset.keys, scores, {}, {}, targets=targets)
    case = Case("imagenet", "val", parse_spec("m[]"), "zero_shot")
    settings = Settings(equivalences="none", store=folder)
    record = evaluate(case, settings, dataset, who, said, folder).write_record(0, {}, "pytest")
    assert record.evidence is not None
    return read_evidence(folder / record.evidence.path), folder / record.evidence.path


def test_fifty_thousand_images_take_ten_kib_a_metric(large: Any) -> None:
    found, _ = large
    judged = sorted((proof for proof in found.metrics if proof.correct), key=lambda proof: proof.labels)
    assert len(judged) >= 6
    for count in range(1, len(judged) + 1):
        names = {name for proof in judged[:count] for name in (proof.counted, proof.correct)}
        assert len(encode({name: found.arrays[name] for name in names})) <= 10 * KIB * count
    assert len(encode(replace(found, keys=()))) <= 10 * KIB * len(judged)


def test_every_share_is_that_of_its_outcomes(large: Any) -> None:
    found, _ = large
    for proof in found.metrics:
        if (outcomes := found.sample_outcomes(proof)) is not None and proof.value is not None:
            assert np.nanmean(outcomes) == pytest.approx(proof.value, abs=1e-12)
            assert int((~np.isnan(outcomes)).sum()) == proof.n


@pytest.mark.parametrize("damage", [
    lambda found: replace(found, arrays={}),
    lambda found: replace(found, samples=found.samples + 800),
    lambda found: replace(found, samples=8),
    lambda found: replace(found, arrays=dict.fromkeys(found.arrays, "c-m")),
    lambda found: replace(found, arrays=dict.fromkeys(found.arrays, "\x00")),
    lambda found: replace(found, metrics=(replace(found.metrics[0], ci=(1.0, 0.0)),)),
])  # fmt: skip
def test_damage_is_an_error_that_names_the_file(make: Any, share: Any, tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "e.json"
    path.write_bytes(encode(damage(make(share(acc1=[1, 0, 1] * 20)))))
    with pytest.raises(ReportError, match=r"e\.json cannot be read \(.+\)\. Run the case again"):
        read_evidence(path)


def test_a_plane_that_holds_something_else_is_refused(make: Any, share: Any) -> None:
    whole, other = make(share(acc1=[1, 0, 1] * 20)), make(share(acc1=[1, 1, 0] * 20))
    right = whole.metrics[0].correct
    with pytest.raises(ValueError, match=f"the array {right} has content with another digest"):
        replace(whole, arrays={**whole.arrays, right: other.arrays[other.metrics[0].correct]}).check()


def test_a_value_that_its_outcomes_deny_is_refused(make: Any, share: Any) -> None:
    whole = make(share(acc1=[1, 0, 1, 1]))
    with pytest.raises(ValueError, match=r"acc1 is 0\.9, but its outcomes have the mean 0\.75"):
        replace(whole, metrics=(replace(whole.metrics[0], value=0.9),)).check()


def test_damaged_draws_are_an_error_too(make: Any, named: Any) -> None:
    whole = make([named("f1", bootstrap=lambda: np.linspace(0, 1, RESAMPLES))])
    whole.check()
    for planes, why in (
        ({}, "is missing"),
        (dict.fromkeys(whole.arrays, _bomb()), f"has another size than {2 * RESAMPLES} bytes"),
    ):
        with pytest.raises(ValueError, match=why):
            replace(whole, arrays=planes).check()


def test_no_plane_takes_more_room_than_it_must(make: Any, share: Any) -> None:
    bomb = make(share(acc1=[1, 0]), arrays={"x": _bomb()})
    with pytest.raises(ValueError, match="has another size than 1 bytes"):
        bomb.read_array("x", 1)


def _bomb() -> str:
    planes = PackedArrays()
    return planes.packed[planes.add(bytes(10_000_000))]


def test_a_file_that_is_not_there_or_is_cut_off(make: Any, share: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    for content in (None, msgspec.json.encode(make(share(acc1=[1])))[:-30], b"\xff"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ReportError, match="Run the case again"):
            read_evidence(path)


def test_clusters_are_whole_numbers_of_at_least_0(make: Any, share: Any) -> None:
    make(share(acc1=[1, 0, 1]), groups=np.array([0, 0, 2])).check()
    with pytest.raises(ValueError, match="the clusters are not all whole numbers of at least 0"):
        make(share(acc1=[1, 0, 1]), groups=np.array([0, -1, 2])).check()


@given(st.binary(max_size=300))
def test_bytes_are_packed_as_base_85_of_the_standard_library(data: bytes) -> None:
    text = pack_array(data)
    assert text == b85encode(zlib.compress(data, 9)).decode()
    assert unpack_array(text, len(data)) == data


@given(st.binary(max_size=8), st.data())
def test_a_text_with_another_character_is_read_as_by_the_standard_library(data: bytes, draw: st.DataObject) -> None:
    text = pack_array(data)
    index = draw.draw(st.integers(0, len(text) - 1))
    text = text[:index] + draw.draw(st.characters(max_codepoint=200) | st.sampled_from("~|{0")) + text[index + 1 :]
    try:
        expected = zlib.decompressobj().decompress(b85decode(text), len(data) + 1)
    except (ValueError, zlib.error):
        expected = None
    if expected is None or len(expected) != len(data):
        with pytest.raises(ValueError, match=r".+"):
            unpack_array(text, len(data))
    else:
        assert unpack_array(text, len(data)) == expected
