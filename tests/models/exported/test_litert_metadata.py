"""What `.tflite` files say about themselves: LiteRT's metadata, Ultralytics' files and eyechart's entries."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from eyechart.errors import ModelError
from eyechart.models.exported.classifier import LiteRtClassifier
from tests.models.exported.plain_images import HALF, answers, expected, open_file
from tests.tflite_graphs import save_tflite

pytestmark = pytest.mark.deep  # LiteRT is a package of the deep tests
model = partial(open_file, LiteRtClassifier)


def described(mean: Sequence[float], std: Sequence[float], labels: str) -> bytes:
    """Return metadata as `metadata_schema.fbs` has them, with the fields that matter here."""
    import flatbuffers

    builder = flatbuffers.Builder(0)

    def floats(values: Sequence[float]) -> int:
        builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            builder.PrependFloat32(value)
        return int(builder.EndVector())

    def table(size: int, **fields: tuple[str, int]) -> int:
        builder.StartObject(size)
        for place, (kind, value) in fields.items():
            slot = int(place.removeprefix("f"))
            if kind == "byte":
                builder.PrependUint8Slot(slot, value, 0)
            else:
                builder.PrependUOffsetTRelativeSlot(slot, value, 0)
        return int(builder.EndObject())

    def listed(child: int) -> int:
        builder.StartVector(4, 1, 4)
        builder.PrependUOffsetTRelative(child)
        return int(builder.EndVector())

    means, deviations = floats(mean), floats(std)
    options = table(2, f0=("", means), f1=("", deviations))
    units = listed(table(2, f0=("byte", 1), f1=("", options)))
    name = builder.CreateString(labels)
    files = listed(table(5, f0=("", name), f2=("byte", 2)))
    inputs, outputs = listed(table(7, f4=("", units))), listed(table(7, f6=("", files)))
    subgraphs = listed(table(10, f2=("", inputs), f3=("", outputs)))
    builder.Finish(table(8, f3=("", subgraphs)), b"M001")
    return bytes(builder.Output())


NAMES = "blue\nfire truck\ngreen\ngrey\n"


def test_litert_metadata_say_the_normalisation_and_the_classes(tmp_path: Path) -> None:
    entry = {"TFLITE_METADATA": described([127.5], [127.5], "labels.txt"), "min_runtime_version": b"1.5.0"}
    made = model(save_tflite(tmp_path / "m.tflite", metadata=entry, files={"labels.txt": NAMES}))
    assert made.head is not None
    assert made.head.names == ("blue", "fire truck", "green", "grey")
    assert (made.preprocessing.mean, made.preprocessing.std) == ((0.5,) * 3, (0.5,) * 3)
    assert (made.preprocessing.resize, made.preprocessing.crop) == ((8, 8), None)
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)


def test_a_normalisation_of_each_channel(tmp_path: Path) -> None:
    mean, std = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
    entry = {"TFLITE_METADATA": described(mean, std, "labels.txt")}
    made = model(save_tflite(tmp_path / "m.tflite", metadata=entry, files={"labels.txt": NAMES}))
    np.testing.assert_allclose(made.preprocessing.mean, [0.485, 0.456, 0.406], rtol=1e-6)
    np.testing.assert_allclose(made.preprocessing.std, [0.229, 0.224, 0.225], rtol=1e-6)


def test_a_file_of_classes_that_is_absent_or_of_another_number(tmp_path: Path, steps: Path) -> None:
    entry = {"TFLITE_METADATA": described([0], [1], "labels.txt")}
    with pytest.raises(ModelError, match=r"names its classes in labels\.txt, which is not zipped into it"):
        _ = model(save_tflite(tmp_path / "m.tflite", metadata=entry), f"preprocessing={steps}").head
    path = save_tflite(tmp_path / "m.tflite", metadata=entry, files={"labels.txt": "a\nb\n"})
    with pytest.raises(ModelError, match=r"names 2 classes, but m\.tflite has 4 outputs"):
        _ = model(path, f"preprocessing={steps}").head


def test_what_ultralytics_zips_into_the_file(tmp_path: Path) -> None:
    names = {"0": "blue", "1": "fire truck", "2": "green", "3": "grey"}
    said = {"author": "Ultralytics", "task": "classify", "batch": 1, "imgsz": [8, 8], "names": names, "channels": 3}
    made = model(save_tflite(tmp_path / "m.tflite", (1, 8, 8, 3), files={"metadata.json": json.dumps(said, indent=2)}))
    assert made.head is not None
    assert made.head.names == ("blue", "fire truck", "green", "grey")
    assert (made.preprocessing.resize, made.preprocessing.crop, made.preprocessing.std) == (8, (8, 8), (1, 1, 1))


def test_entries_of_eyechart_are_read(tmp_path: Path) -> None:
    entries = {"eyechart.preprocessing": json.dumps(HALF).encode(), "eyechart.classes": b'["a", "b", "c", "d"]'}
    made = model(save_tflite(tmp_path / "m.tflite", metadata=entries))
    assert made.preprocessing.mean == (0.5, 0.5, 0.5)
    assert made.head is not None
    assert made.head.names == ("a", "b", "c", "d")


def test_preprocessing_is_never_guessed(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"m\.tflite says nothing about its preprocessing: .*NormalizationOptions"):
        _ = model(save_tflite(tmp_path / "m.tflite")).identity
