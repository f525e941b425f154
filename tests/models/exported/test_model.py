"""Exported models: batches of images as a graph takes them, files in a folder, and the key."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from eyechart.errors import ModelError, SpecError
from eyechart.models.exported.classifier import OnnxClassifier
from eyechart.models.exported.graph import instructions
from tests.models.exported.plain_images import COLOURS, HALF, answers, expected, open_file
from tests.onnx_graphs import WEIGHTS, save_graph

model = partial(open_file, OnnxClassifier)


@pytest.mark.parametrize(
    "shape", [("n", 3, 8, 8), ("n", 8, 8, 3), ("n", 3, "h", "w"), ("n", "c", "h", "w"), ("n", "h", "w", 3)]
)
def test_channels_may_be_first_or_last(tmp_path: Path, steps: Path, shape: tuple[Any, ...]) -> None:
    made = model(save_graph(tmp_path / "m.onnx", shape), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)


@pytest.mark.parametrize("shape", [("n", 3, 8, 8), ("n", 8, 8, 3)])
def test_a_graph_that_takes_bytes_gets_bytes(tmp_path: Path, steps: Path, shape: tuple[Any, ...]) -> None:
    made = model(save_graph(tmp_path / "m.onnx", shape, type=TensorProto.UINT8), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), np.array(COLOURS) @ WEIGHTS, rtol=1e-6)


def test_halves_are_given_to_a_graph_that_takes_them(tmp_path: Path, steps: Path) -> None:
    made = model(save_graph(tmp_path / "m.onnx", type=TensorProto.FLOAT16), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), expected(), atol=1e-2)


def test_another_batch_size_than_the_files_is_refused(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx", (4, 3, 8, 8))
    with pytest.raises(SpecError, match=r"batch_size=8, but m.onnx takes batches of 4 alone"):
        _ = model(path, f"preprocessing={steps}", "batch_size=8").batch_size


def test_the_key_has_what_changes_numbers(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx")
    plain = model(path, f"preprocessing={steps}").identity
    assert plain.libraries.keys() == {"onnxruntime", "pillow"}
    assert (plain.processor["engine"], plain.dtype) == ("CPUExecutionProvider", "float32")
    assert "instructions" not in plain.processor
    for option in ("optimise=false", "probabilities=true", "engine=cuda"):
        assert model(path, f"preprocessing={steps}", option).identity.in_key != plain.in_key


@pytest.fixture
def dynamic(tmp_path: Path) -> Path:
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(save_graph(tmp_path / "m.onnx"), tmp_path / "int8.onnx")
    return tmp_path / "int8.onnx"


def test_dynamic_quantisation_is_answered_image_by_image(dynamic: Path, steps: Path) -> None:
    made = model(dynamic, f"preprocessing={steps}")
    assert (made.batch_size, made.identity.dtype) == (1, "int8 dynamic")
    assert "answered one by one" in made.model_note
    assert made.identity.processor["instructions"] == instructions() != "unknown"
    with pytest.raises(SpecError, match=r"batch_size=4\. The file is quantised dynamically.*Leave batch_size out"):
        _ = model(dynamic, f"preprocessing={steps}", "batch_size=4").batch_size


def test_an_answer_of_a_dynamically_quantised_file_is_its_images_own(dynamic: Path, steps: Path) -> None:
    made = model(dynamic, f"preprocessing={steps}")
    one_by_one = [answers(made, [colour]).tobytes() for colour in COLOURS]
    assert [answers(made, [colour]).tobytes() for colour in reversed(COLOURS)] == one_by_one[::-1]
    assert answers(made).tobytes() != b"".join(one_by_one)  # in one batch they share the scale of the activations


def test_a_folder_has_files_by_their_endings_and_the_preprocessing_above_them(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    save_graph(tmp_path / "onnx" / "model.onnx")
    save_graph(tmp_path / "model_q4.onnx")
    (tmp_path / "config.json").write_text(json.dumps({"pretrained_cfg": HALF}))
    whole, small = model(tmp_path), model(tmp_path, "file=q4")
    assert (whole.identity.name, small.identity.name) == ("model", "model_q4")
    for made in (whole, small):
        np.testing.assert_allclose(answers(made), expected(), atol=1e-5)
    with pytest.raises(ModelError, match=r"has no model_fp16\.onnx, .* it has model\.onnx, model_q4\.onnx\. Correct"):
        model(tmp_path, "file=fp16")
    with pytest.raises(SpecError, match=r"has file=q4, which chooses among the files of a folder\. Leave it out"):
        model(tmp_path / "model_q4.onnx", "file=q4")
