"""A linear probe: the sweep, the fit against scikit-learn's, what the record says, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from eyechart.classification.protocols.linear_probe import LinearProbe, fit_probe, probe_predictions
from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError, SpecError
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.spec import parse_spec
from eyechart.models.types import Probe
from tests.classification.protocols.test_zero_shot import Wheel

RANDOM = np.random.default_rng(0)
LABELS = np.repeat([0, 2, 3], 20)
FEATURES = (RANDOM.normal(size=(60, 8)) + 0.8 * LABELS[:, None]).astype(np.float32)
Make = Callable[..., Dataset]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(Store(tmp_path), None, 0, lambda *_: None)


def probe(c: float | None = None) -> Any:
    return SimpleNamespace(encoder=Wheel(), c=c, validation=0.2, support_split=("imagenet", "support"))


def test_it_offers_a_probe_with_the_settings_of_clip() -> None:
    model = LinearProbe(parse_spec("linear_probe[timm[],support=imagenet/train]"))
    assert isinstance(model, Probe)
    assert (model.c, model.validation, model.support_split) == (None, 0.2, ("imagenet", "train"))
    other = LinearProbe(parse_spec("linear_probe[timm[],support=imagenet/train,C=1]"))
    assert model.identity != other.identity
    assert model.identity.weights_sha256 == other.identity.weights_sha256


def test_the_fit_is_that_of_scikit_learn_on_all_images_with_the_chosen_c() -> None:
    found = fit_probe(FEATURES, LABELS, seed=3)
    expected = LogisticRegression(C=found.c, max_iter=1000).fit(FEATURES, LABELS)
    assert found.classes.tolist() == [0, 2, 3]
    np.testing.assert_allclose(found.logits(FEATURES), expected.decision_function(FEATURES), rtol=1e-5)
    assert (found.source, found.converged) == ("sweep over 12 of 60 images", True)
    assert np.log10(found.c) * 8 == pytest.approx(round(np.log10(found.c) * 8))


def test_a_seed_draws_the_same_images_again() -> None:
    assert fit_probe(FEATURES, LABELS, seed=3).c == fit_probe(FEATURES, LABELS, seed=3).c


def test_two_classes_have_logits_of_both() -> None:
    two = LABELS < 3
    found = fit_probe(FEATURES[two], LABELS[two], c=1.0)
    expected = LogisticRegression(C=1.0, max_iter=1000).fit(FEATURES[two], LABELS[two])
    shares = np.exp(found.logits(FEATURES)) / np.exp(found.logits(FEATURES)).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, expected.predict_proba(FEATURES), atol=1e-5)
    assert found.source == "given"


def test_one_image_of_each_class_cannot_choose_c() -> None:
    with pytest.raises(DataError, match=r"No class of the support split has two images.* Write C=1"):
        fit_probe(FEATURES[:3], np.array([0, 1, 2]))


def test_pictures_are_classified_by_what_the_support_split_says(runner: Runner, pictures: Make) -> None:
    split = pictures([0, 1, 2], frozenset({1}))
    found = probe_predictions(runner, probe(1000.0), split, pictures([2, 1, 0, -1], split="support"))
    assert found.top[:, 0].tolist() == [2, -1, 0]
    assert found.calibrated
    assert found.variant.items() >= {"support_n": "3", "C": "1000", "C_from": "given"}.items()


def test_the_record_says_how_c_was_chosen(runner: Runner, pictures: Make) -> None:
    support = pictures([2, 1, 0, 2, 1, 0, -1], split="support")
    found = probe_predictions(runner, probe(), pictures([0, 1, 2]), support)
    assert (
        found.variant.items()
        >= {
            "support": "imagenet/support",
            "support_n": "6",
            "classes_n": "3",
            "C_from": "sweep over 3 of 6 images",
            "seed": str(runner.seed),
        }.items()
    )


def test_a_class_without_an_image_is_never_answered(runner: Runner, pictures: Make) -> None:
    found = probe_predictions(runner, probe(1.0), pictures([0, 1, 2]), pictures([2, 0, 2, 0], split="support"))
    assert np.isneginf(found.scores[:, 1]).all()
    assert found.variant["classes_n"] == "2"


@pytest.mark.parametrize(
    ("labels", "options", "sentence"),
    [
        ([1, 1], {}, "imagenet/support has labelled images of 1 class. A linear probe needs two"),
        ([0, 1], {"classes": 2}, "imagenet/support has the classes .*, and imagenet/memory has"),
    ],
)
def test_a_support_split_that_cannot_be_used_is_refused(
    runner: Runner, pictures: Make, labels: list[int], options: dict[str, int], sentence: str
) -> None:
    with pytest.raises(DataError, match=sentence):
        probe_predictions(runner, probe(1.0), pictures([0, 1, 2]), pictures(labels, split="support", **options))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("linear_probe[C=0]", "Expected a number above 0"),
        ("linear_probe[validation=2]", "Expected a number above 0 and at most 1"),
        ("linear_probe[k=3]", "does not know"),
    ],
)
def test_what_cannot_be_asked(text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        LinearProbe(parse_spec(text))
