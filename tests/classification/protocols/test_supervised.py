"""Classifiers with other outputs than a split has classes: found by synset or by name, or refused before an image."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.classification.protocols.supervised import LISTS, _head_columns, _synsets, supervised
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import load_class_names, synsets
from eyechart.errors import ModelError
from eyechart.files.installed import packaged_file
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.spec import parse_spec
from eyechart.models.timm.classifier import TimmClassifier
from eyechart.models.types import Classifier, Floats, Head, Identity

Pictures = Callable[..., Dataset]
IMAGENET = Head(1000, imagenet=True)
OWN = tuple(f"sp{index:04d}" for index in range(1000))
SUBSET = ("Golden_Retriever", "tench, Tinca tinca", "n02123045")  # a name, WordNet's names, a synset
PLACES = [207, 0, 281]


def listed(outputs: int) -> list[str]:
    return packaged_file("timm", "data", "_info", f"{LISTS[outputs]}_synsets.txt").read_text("utf-8").split()


@pytest.mark.parametrize("outputs", LISTS)
def test_a_list_has_as_many_synsets_as_its_heads_have_outputs(outputs: int) -> None:
    assert len(listed(outputs)) == outputs
    assert listed(outputs) == [*_synsets(outputs)]


def test_imagenets_own_classes_are_taken_by_position(pictures: Pictures) -> None:
    for names in ((), load_class_names("mill").names, load_class_names("wordnet").names, synsets()):
        columns = _head_columns(IMAGENET, pictures([0], classes=1000, names=names))
        assert (columns.indices.tolist(), columns.variant) == ([*range(1000)], {})


def test_a_subset_is_found_by_names_and_synsets(pictures: Pictures) -> None:
    columns = _head_columns(IMAGENET, pictures([0], names=SUBSET))
    assert columns.indices.tolist() == PLACES
    assert columns.variant == {"head": "imagenet (1000 outputs), 3 of 3 classes by name"}
    logits = np.random.default_rng(0).normal(size=(4, 1000)).astype(np.float32)
    assert np.array_equal(columns.scores(logits), logits[:, PLACES])


def test_imagenets_own_list_needs_no_timm(pictures: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)  # as if it were not installed
    _synsets.cache_clear()
    assert _head_columns(IMAGENET, pictures([0], names=SUBSET)).indices.tolist() == PLACES
    assert [*_synsets(1000)] == [*synsets()]


@pytest.mark.deep
@pytest.mark.parametrize("outputs", [width for width in LISTS if width != 1000])
def test_wide_heads_answer_imagenets_classes_by_synset(pictures: Pictures, outputs: int) -> None:
    columns = _head_columns(Head(outputs), pictures([0], classes=1000))
    wide = listed(outputs)
    expected = [wide.index(synset) if synset in wide else -1 for synset in synsets()]
    assert columns.indices.tolist() == expected
    has = sum(index >= 0 for index in expected)
    assert columns.variant == {"head": f"{LISTS[outputs]} ({outputs} outputs), {has} of 1000 classes by synset"}
    logits = np.ones((2, outputs), np.float32)
    assert np.isneginf(columns.scores(logits)).sum() == 2 * (1000 - has)


def test_wide_heads_know_more_names(pictures: Pictures) -> None:
    wide = listed(21843)
    columns = _head_columns(Head(21843, imagenet=True), pictures([0], names=("tench", "Dressage", "rock_climbing")))
    assert [wide[index] for index in columns.indices] == ["n01440764", "n00288000", "n00326094"]


def test_a_class_that_is_asked_about_must_be_found_and_the_others_need_not(pictures: Pictures) -> None:
    names = ("tench", "my own thing", "goldfish")
    with pytest.raises(ModelError, match=r"1 classes have no single name or synset there: my own thing\. Name the"):
        _head_columns(IMAGENET, pictures([0], names=names))
    assert _head_columns(IMAGENET, pictures([0], names=names, subset=(0, 2))).indices.tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("head", "facts", "why"),
    [
        (
            IMAGENET,
            {"names": ("crane", "tench", "goldfish")},
            "no single name or synset there: crane",
        ),  # means two classes
        (IMAGENET, {"names": ("tench", "Tinca tinca", "goldfish")}, "3 of 3 classes have an output of their own"),
        (IMAGENET, {"classes": 1000, "names": OWN}, "1000 classes have no single .*: sp0000, sp0001, .* and 995 more"),
        (Head(37), {}, r"answers over 37 classes, but imagenet/memory has 3.*No ImageNet head has so many outputs"),
        (IMAGENET, {}, "3 classes have no single name or synset there: class 0, class 1, class 2"),
    ],
)
def test_a_head_that_fits_nowhere_is_refused(pictures: Pictures, head: Head, facts: dict[str, Any], why: str) -> None:
    with pytest.raises(ModelError, match=why):
        _head_columns(head, pictures([0], **facts))


def test_a_head_of_unknown_classes_answers_as_many_by_position(pictures: Pictures) -> None:
    for head in (Head(1000), Head(3)):
        columns = _head_columns(head, pictures([0], classes=head.outputs, names=OWN[: head.outputs]))
        assert (columns.indices.tolist(), columns.variant) == ([*range(head.outputs)], {})


@dataclass
class Guesser(Classifier):
    """A classifier whose highest output is a number; it notes how many images it was shown."""

    outputs: int
    says: int = 0
    asked: list[int] = field(default_factory=list)
    batch_size: int = 2
    loads: int = 0

    @property
    def identity(self) -> Identity:
        return Identity(
            backend="test",
            name="guesser",
            weights_sha256=f"{self.outputs}",
            dtype="float32",
            device="cpu",
            processor={},
            libraries={},
        )

    def prepare(self, image: Image.Image) -> Image.Image:
        return image

    def classify(self, images: Sequence[Any]) -> Floats:
        self.asked.append(len(images))
        return np.tile(np.arange(self.outputs) == self.says, (len(images), 1)).astype(np.float32)


@dataclass
class Known(Guesser):
    """One that tells its outputs."""

    @property
    def head(self) -> Head:
        return Head(self.outputs, imagenet=True)


def runner(folder: Path) -> Runner:
    return Runner(Store(folder), None, 0, lambda *_: None)


@pytest.mark.parametrize(("kind", "shown"), [(Known, []), (Guesser, [2])])
def test_a_head_that_does_not_fit_is_refused_before_the_images_are_asked(
    pictures: Pictures, tmp_path: Path, kind: type[Guesser], shown: list[int]
) -> None:
    model = kind(21841)
    with pytest.raises(ModelError, match="21841 classes, but imagenet/memory has 3"):
        supervised(runner(tmp_path), model, pictures([0, 1, 2, 0, 1], names=OWN[:3]))
    assert model.asked == shown


@pytest.mark.parametrize("kind", [Known, Guesser])
def test_answers_of_a_subset_are_its_own_classes(pictures: Pictures, tmp_path: Path, kind: type[Guesser]) -> None:
    dataset = pictures([0, 1, 2, 0, 1], names=SUBSET)
    found = supervised(runner(tmp_path), kind(1000, says=PLACES[2]), dataset)
    assert found.scores.argmax(axis=1).tolist() == [2] * 5
    assert found.variant == {"head": "imagenet (1000 outputs), 3 of 3 classes by name"}


def test_timm_tells_its_outputs_without_its_weights() -> None:
    model = TimmClassifier(parse_spec("timm[]"), offline=True)
    assert (model.head, model.loads) == (Head(1000, imagenet=True), 0)
    wide = TimmClassifier(parse_spec("timm[vit_tiny_patch16_224.augreg_in21k]"), offline=True)
    assert wide.head == Head(21843, imagenet=True)
    own = TimmClassifier(parse_spec("timm[resnet18,pretrained=./own.pth,num_classes=37]"), offline=True)
    assert own.head == Head(37)


def test_named_outputs_are_found_in_any_order(pictures: Pictures) -> None:
    data = pictures([0], classes=2, names=("cat", "fire truck"))
    columns = _head_columns(Head(3, names=("fire_truck, fire engine", "dog", "Cat")), data)
    assert columns.indices.tolist() == [2, 0]
    assert columns.variant == {"head": "2 of 3 outputs by name"}
    same = _head_columns(Head(2, names=("cat", "fire truck")), data)
    assert (same.indices.tolist(), same.variant) == ([0, 1], {})


@pytest.mark.parametrize("names", [("cat", "dog"), ("cat, fire truck", "x"), ("cat", "cat")])
def test_a_class_that_no_output_names_alone_is_refused(pictures: Pictures, names: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match=r"outputs of the model have names.*not all among them.*imagenet=true"):
        _head_columns(Head(2, names=names), pictures([0], classes=2, names=("cat", "fire truck")))
