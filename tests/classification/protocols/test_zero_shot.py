"""Protocols over kept answers: what enters the keys, what is left out of a vote, what is refused."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.classification.protocols.knn import KNearestNeighbours, knn_predictions
from eyechart.classification.protocols.supervised import supervised
from eyechart.classification.protocols.zero_shot import ZeroShot, _published_top1, zero_shot
from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ModelError, VocabularyError
from eyechart.inference.requests.class_weights import ClassPrompts
from eyechart.inference.requests.row_requests import ClassWeights
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.spec import parse_spec
from eyechart.models.types import Classifier, Encoder, Floats, Identity
from eyechart.protocol.context import Context
from eyechart.results.records import Metric, Reported

Make = Callable[..., Dataset]
IDENTITY = Identity(
    backend="test", name="wheel", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={}
)

PROTOCOLS = """
ViT-B-32 laion2b_s34b_b79k 0.6656 | ViT-H-14 laion2b_s32b_b79k 0.7796
ViT-B-32-quickgelu openai 0.6332 | ViT-g-14 laion2b_s34b_b88k 0.7847
ViT-B-32 datacomp_xl_s13b_b90k 0.6917 | ViT-bigG-14 laion2b_s39b_b160k 0.8009
ViT-B-16 openai 0.6834 | ViT-B-16-SigLIP webli 0.7604
ViT-B-16 laion2b_s34b_b88k 0.7023 | ViT-L-16-SigLIP-384 webli 0.8207
ViT-B-16 datacomp_xl_s13b_b90k 0.7349 | ViT-SO400M-14-SigLIP webli 0.8203
ViT-L-14 openai 0.7554 | ViT-SO400M-14-SigLIP-384 webli 0.8308
ViT-L-14-336 openai 0.7656 | ViT-H-14-378-quickgelu dfn5b 0.8437
ViT-L-14 laion2b_s32b_b82k 0.7525 | RN50 openai 0.5982
ViT-L-14 datacomp_xl_s13b_b90k 0.7921 | RN50x64 openai 0.7391
"""
ROWS = [row.split() for row in re.split(r"[|\n]", PROTOCOLS) if row.strip()]
OURS = Metric("acc1", "ImGT", "all", value=0.5, n=50_000, n_clusters=50_000, ci=(0.4, 0.6), ci_method="wilson")


@dataclass
class Wheel(Encoder, Classifier):
    """Sees a picture's number as an angle, and reads a text's first letter as one; three classes as a classifier."""

    texts: list[Sequence[str]] = field(default_factory=list)
    classes: int = 3
    batch_size: int = 4
    loads: int = 0
    templates: str = "1"
    identity: Identity = IDENTITY

    def prepare(self, image: Image.Image) -> int:
        return int(np.asarray(image)[0, 0, 0])

    def encode_images(self, images: Sequence[int]) -> Floats:
        return circle(np.array(images))

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        self.texts.append(texts)
        return circle(np.array([ord(text[0]) - ord("a") for text in texts]))

    def classify(self, images: Sequence[int]) -> Floats:
        return np.eye(self.classes, dtype=np.float32)[np.array(images) % self.classes]


def circle(indices: Any) -> Floats:
    return np.stack([np.cos(indices), np.sin(indices)], axis=1).astype(np.float32)


def words(*names: str, templates: tuple[str, ...] = ("{c}",)) -> ClassPrompts:
    return ClassPrompts(names, templates, "mine", "one")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(Store(tmp_path), None, 0, lambda *_: None)


def test_the_nearest_class_wins(runner: Runner, pictures: Make) -> None:
    found = zero_shot(runner, Wheel(), pictures([0, 1, 2]), words("a", "b", "c"))
    assert found.top[:, 0].tolist() == [0, 1, 2]
    assert found.variant == {"names": "mine", "templates": "one"}


def test_class_weights_are_made_once_for_all_splits(runner: Runner, pictures: Make) -> None:
    model = Wheel()
    for split in ("one", "two"):
        zero_shot(runner, model, pictures([0, 1, 2], split=split), words("a", "b", "c"))
    assert model.texts == [["a", "b", "c"]]


def test_the_same_texts_in_other_classes_are_another_question(runner: Runner) -> None:
    two = runner.run(ClassWeights(("a", "b"), ("{c}", "a {c}")), Wheel())
    four = runner.run(ClassWeights(("a", "a a", "b", "a b"), ("{c}",)), Wheel())
    assert (len(two), len(four)) == (2, 4)


def test_a_vocabulary_of_the_wrong_length_is_refused(runner: Runner, pictures: Make) -> None:
    with pytest.raises(VocabularyError, match=r"imagenet/memory has 3 classes, but the class names 'mine' are 2\."):
        ZeroShot().predict(Context(runner, Wheel(), pictures([0]), ("a", "b"), "mine", {}))


def test_a_text_tower_that_gives_no_numbers_is_refused(
    runner: Runner, pictures: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Wheel, "encode_texts", lambda _, texts: np.full((len(texts), 2), np.nan, np.float32))
    with pytest.raises(ModelError, match=r"wheel gives NaN for some class names in float32. Check the weights"):
        zero_shot(runner, Wheel(), pictures([0]), words("a", "b", "c"))


def test_a_split_of_broken_pictures_is_all_errors_under_every_protocol(runner: Runner, pictures: Make) -> None:
    split, support = pictures([0, 1], frozenset({0, 1})), pictures([0, 1, 2], split="support")
    for found in (
        zero_shot(runner, Wheel(), split, words("a", "b", "c")),
        supervised(runner, Wheel(), split),
        knn_predictions(runner, neighbours(), split, support),
    ):
        assert [*found.errors] == [0, 1]
        assert found.scores.shape == (2, 3)
        assert np.isnan(found.scores).all()


def test_a_broken_picture_leaves_the_others_their_answers(runner: Runner, pictures: Make) -> None:
    found = zero_shot(runner, Wheel(), pictures([0, 1, 2], frozenset({1})), words("a", "b", "c"))
    assert [*found.errors] == [1]
    assert found.top[:, 0].tolist() == [0, -1, 2]


def test_a_classifier_of_another_vocabulary_is_refused(runner: Runner, pictures: Make) -> None:
    with pytest.raises(ModelError, match=r"answers over 5 classes, but imagenet/memory has 3,.*\. Or use a model"):
        supervised(runner, Wheel(classes=5), pictures([0, 1]))


def test_only_the_classes_of_the_split_are_answered(runner: Runner, pictures: Make) -> None:
    found = supervised(runner, Wheel(), pictures([0, 2, 2], subset=(0, 2)))
    assert found.top[:, :3].tolist() == [[0, 2, -1], [0, 2, -1], [2, 0, -1]]


def neighbours(k: int = 1) -> Any:
    return SimpleNamespace(encoder=Wheel(), k=k, weights="uniform", device="cpu")


def test_the_nearest_pictures_vote(runner: Runner, pictures: Make) -> None:
    found = knn_predictions(runner, neighbours(), pictures([0, 1, 2]), pictures([2, 1, 0], split="support"))
    assert found.top[:, 0].tolist() == [2, 1, 0]
    assert found.variant.items() >= {"k": "1", "support": "imagenet/support", "weights": "uniform"}.items()


def test_the_variant_has_the_number_and_the_fingerprint_of_the_images_that_vote(runner: Runner, pictures: Make) -> None:
    split = pictures([0, 1, 2])

    def voters(labels: list[int], broken: frozenset[int] = frozenset()) -> tuple[str, str]:
        variant = knn_predictions(runner, neighbours(), split, pictures(labels, broken, split="support")).variant
        return variant["support_n"], variant["support_sha256"]

    usual = voters([2, 1, 0, 0])
    assert usual == voters([2, 1, 0, 0])
    assert usual[0] == "4"
    assert usual[1] != voters([2, 1, 0, 1])[1]
    assert [voters([2, 1, 0, -1])[0], voters([2, 1, 0, 0], frozenset({3}))[0]] == ["3", "3"]


def test_pictures_without_label_or_answer_do_not_vote(runner: Runner, pictures: Make) -> None:
    support = pictures([-1, 1, 2], frozenset({1}), split="support")
    found = knn_predictions(runner, neighbours(), pictures([0, 1]), support)
    assert found.top[:, 0].tolist() == [2, 2]


def beside(model: str, split: str = "imagenet/val", ours: Sequence[Metric] = (OURS,)) -> Reported | None:
    """What the protocol says was published."""
    return ZeroShot().reported(split, parse_spec(model), ours)


def test_there_are_twenty_numbers() -> None:
    assert len(_published_top1()) == len(ROWS) == 20


@pytest.mark.parametrize(("model", "tag", "top1"), ROWS)
def test_every_number_stands_beside_ours(model: str, tag: str, top1: str) -> None:
    found = beside(f"open_clip[{model},pretrained={tag}]")
    assert found is not None
    assert (found.value, found.source) == (float(top1), "open_clip results")
    assert found.delta == pytest.approx(0.5 - float(top1))


def test_mills_spelling_is_the_same_model() -> None:
    assert beside("clip[path=RN50,pretrained=openai]")


@pytest.mark.parametrize("name", ["ViT-B-32", "ViT-B-16-quickgelu"])
def test_openai_weights_are_found_with_or_without_quick_gelu_in_the_name(name: str) -> None:
    assert beside(f"open_clip[{name},pretrained=openai]")


@pytest.mark.parametrize(
    ("model", "split"),
    [
        ("open_clip[ViT-B-32-quickgelu,pretrained=laion2b_s34b_b79k]", "imagenet/val"),
        ("open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]", "imagenet/sample"),
        ("timm[ViT-B-32,pretrained=laion2b_s34b_b79k]", "imagenet/val"),
        ("open_clip[]", "imagenet/val"),
    ],
)
def test_nothing_stands_beside_another_model_or_split(model: str, split: str) -> None:
    assert beside(model, split) is None


def test_nothing_stands_beside_another_protocol() -> None:
    model = parse_spec("open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]")
    assert KNearestNeighbours().reported("imagenet/val", model, [OURS]) is None


def test_without_a_number_of_ours_there_is_no_difference() -> None:
    found = beside("open_clip[RN50,pretrained=openai]", ours=())
    assert found is not None
    assert found.delta is None
