"""The sample tables of classification: the shared columns under the first label set, and those of every label set."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.classification.protocols.replay import Replay
from eyechart.models.choices.trie import ExhaustiveScorer
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer, Classifier, Encoder, Floats, Identity, Neighbours, Probe
from eyechart.protocol.registry import get_protocol, protocol_modules

NAMES = ("cat", "dog", "great white shark", "hen", "owl")
LABELS = (0, 1, 2, 0, -1, 1)
BETTER = ((0,), (1, 2), (2,), (), (1,), (0,))
EYE = Identity(
    backend="test", name="eye", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={}
)
OPTIONS = {"open_world": {"mapping": "inclusion"}, "closed_world_plus": {"mapping": "inclusion"}}


@dataclass
class Eye(Encoder, Classifier, Neighbours):
    """Sees a picture's number as one of five classes, in every way that needs no words; it is its own encoder."""

    batch_size: int = 4
    loads: int = 0
    templates: str = "1"
    identity: Identity = EYE
    k: int = 1
    weights: str = "uniform"
    support_split: tuple[str, str] = ("imagenet", "other")

    @property
    def encoder(self) -> "Eye":
        return self

    def prepare(self, image: Image.Image) -> int:
        return int(np.asarray(image)[0, 0, 0])

    def encode_images(self, images: Sequence[int]) -> Floats:
        return np.eye(5, dtype=np.float32)[np.array(images) % 5]

    classify = encode_images

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        rows = [next(index for index, name in enumerate(NAMES) if name in text) for text in texts]
        return np.eye(5, dtype=np.float32)[rows]


class Probing(Probe):
    """Fits on what the eye sees."""

    batch_size, loads, identity, c, validation, support_split = 4, 0, EYE, 1.0, 0.2, ("imagenet", "other")
    encoder = Eye()


class Likely(ExhaustiveScorer):
    """Scores names by the picture's number."""

    batch_size, loads, identity, structured = 4, 0, EYE, False

    def generate(self, *_: Any) -> Any:
        raise AssertionError("it is asked for scores alone")

    def score(self, requests: Sequence[Any], choices: Sequence[str], **_: Any) -> Floats:
        numbers = [int(np.asarray(request.images[0])[0, 0, 0]) for request in requests]
        return np.array([[-float((index - number) % 5) for index in range(len(choices))] for number in numbers])


def say(numbers: Sequence[int], text: str) -> Any:
    """A letter where options are offered, else a name; one answer is an error, one is not read."""
    if numbers[0] in (1, 2):
        return Answer("", (), False, error="withheld") if numbers[0] == 1 else ""
    return "A" if "A)" in text else json.dumps({str(index): "dog" for index, _ in enumerate(numbers, 1)})


@pytest.fixture
def predict(sit: Any, talker: Any, pictures: Any, tmp_path: Path) -> Callable[[str], Any]:
    """The predictions of a protocol about six pictures under two label sets."""
    (tmp_path / "answers.csv").write_text("key,answer\ns00,0\ns02,zebra\ns03,dog\ns04,1\ns05,0\n", encoding="utf-8")
    replay = Replay(parse_spec(f"replay[path={tmp_path / 'answers.csv'}]"))
    original = sit.original([(label,) if label >= 0 else () for label in LABELS])
    models: dict[str, Any] = dict.fromkeys(("zero_shot", "supervised", "knn"), Eye())
    models |= {"posterior": Likely(), "replay": replay, "linear_probe": Probing()}

    def predict(protocol: str) -> Any:
        options = OPTIONS.get(protocol, {}) | ({"epochs": 2} if protocol == "multiple_choice" else {})
        truths = (original, sit.truth(BETTER))
        model = models.get(protocol) or talker(say)
        broken = frozenset({1}) if isinstance(model, Eye | Likely | Probing) else frozenset()
        context = sit(model, LABELS, protocol, NAMES, truths=truths, broken=broken, **options)
        support = pictures([0, 1, 2], classes=5)
        return get_protocol(protocol).predict(replace(context, open_whole_split=lambda *_: support))

    return predict


@pytest.mark.parametrize(
    "protocol", [name for name, target in protocol_modules().items() if ".classification." in target]
)
def test_every_protocol_has_the_shared_columns(predict: Any, sample_table: Any, protocol: str) -> None:
    predictions = predict(protocol)
    table = sample_table(protocol, predictions)
    assert len(table) == len(LABELS) * (2 if protocol == "multiple_choice" else 1)
    assert {row["key"] for row in table if row["error"]} == {"s01"}
    assert {row["subset"] for row in table} == {""}
    assert [row["correct"] for row in table] == [row["ImGT.correct"] for row in table]
    for row, label in zip(table, LABELS * 2, strict=False):
        assert row["target"] == (NAMES[label] if label >= 0 else "")
        assert row["prediction"] == (NAMES[int(row["top1"])] if row["top1"] else "")
        skipped = row["error"] or label < 0 or row.get("request") == ""
        assert row["correct"] == ("" if skipped else str(int(row["prediction"] == row["target"])))


def test_the_first_label_set_is_that_of_the_shared_columns(predict: Any, sample_table: Any) -> None:
    predictions = predict("supervised")
    truth = replace(predictions.targets, label_sets=predictions.targets.label_sets[1:])
    table = sample_table("supervised", replace(predictions, targets=truth))
    assert [row["target"] for row in table] == ["cat", "dog; great white shark", "great white shark", "", "dog", "cat"]
    assert (
        [row["subset"] for row in table]
        == [row["ReGT.category"] for row in table]
        == [f"{kind}_label_original" for kind in ("single", "multi", "single")]
        + ["no_label"]
        + ["single_label_other"] * 2
    )
    assert [row["correct"] for row in table] == [row["ReGT.correct"] for row in table]


def test_classes_without_a_name_of_their_own_have_their_index(predict: Any) -> None:
    targets = predict("supervised").targets
    assert [replace(targets, names=("crane", "owl", "crane")).class_text(index) for index in range(3)] == [
        "crane (0)",
        "owl",
        "crane (2)",
    ]
    assert replace(targets, names=()).class_text(2) == "2"
