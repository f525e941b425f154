"""Classifiers that LiteRT computes: small graphs made here, and EfficientNet-Lite0."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.api.compression import compress
from eyechart.errors import ModelError, SpecError
from eyechart.models.exported import litert_graph
from eyechart.models.exported.classifier import LiteRtClassifier
from eyechart.models.exported.graph import instructions
from eyechart.models.runtime.torch_runtime import out_of_memory
from eyechart.models.spec import ModelSpec, parse_spec
from tests.models.exported.plain_images import COLOURS, HALF, answers, expected, normalised, open_file
from tests.onnx_graphs import WEIGHTS
from tests.tflite_graphs import Writer, save_huge_tflite, save_lite0, save_tflite

pytestmark = pytest.mark.deep  # LiteRT is a package of the deep tests
model = partial(open_file, LiteRtClassifier)


@pytest.mark.parametrize("shape", [(None, 8, 8, 3), (None, 3, 8, 8), (None, None, None, 3), (1, 8, 8, 3), (3, 8, 8, 3)])
def test_layouts_and_batches_that_are_free_or_fixed(tmp_path: Path, steps: Path, shape: Any) -> None:
    made = model(save_tflite(tmp_path / "m.tflite", shape), f"preprocessing={steps}")
    assert made.batch_size == (shape[0] or 16)
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)
    np.testing.assert_allclose(answers(made, COLOURS[:1]), expected(COLOURS[:1]), atol=1e-5)


def test_another_batch_size_than_the_files_is_refused(tmp_path: Path, steps: Path) -> None:
    path = save_tflite(tmp_path / "m.tflite", (1, 8, 8, 3))
    with pytest.raises(SpecError, match=r"batch_size=8, but m.tflite takes batches of 1 alone"):
        _ = model(path, f"preprocessing={steps}", "batch_size=8").batch_size


@pytest.mark.parametrize(("kind", "scale", "zero"), [("int8", 0.0173, -12), ("uint8", 1 / 128, 128)])
def test_floats_are_quantised_by_the_scale_of_the_input(
    tmp_path: Path, steps: Path, kind: str, scale: float, zero: int
) -> None:
    path = save_tflite(tmp_path / "m.tflite", kind=kind, scale=scale, zero=zero)
    limits = np.iinfo(kind)
    whole = np.clip(np.rint(normalised() / np.float32(scale)) + zero, limits.min, limits.max)
    rounded = ((whole - zero) * scale) @ WEIGHTS
    np.testing.assert_allclose(answers(model(path, f"preprocessing={steps}")), rounded, rtol=1e-5)
    assert abs(rounded - expected()).max() > 1e-3


def test_bytes_without_a_scale_are_those_of_the_image(tmp_path: Path, steps: Path) -> None:
    made = model(save_tflite(tmp_path / "m.tflite", kind="uint8"), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), np.array(COLOURS) @ WEIGHTS, rtol=1e-6)


def test_whole_numbers_of_unknown_scale_are_refused(tmp_path: Path, steps: Path) -> None:
    with pytest.raises(ModelError, match=r"images of the type int8, and says no scale for them\. Expected floats"):
        _ = model(save_tflite(tmp_path / "m.tflite", kind="int8"), f"preprocessing={steps}").identity


def save_whole(path: Path, *, last: str = "", scale: float = 0.25) -> Path:
    """Save a graph of int8 from its input to its output: the mean of each channel, and a softmax or nothing."""
    graph = Writer()
    image = graph.tensor((None, 8, 8, 3), "int8", "images", scale=1 / 128)
    axes, means = graph.constant(np.array([1, 2], np.int32)), graph.tensor((None, 3), "int8", scale=1 / 128)
    graph.operator("MEAN", [image, axes], means)
    kernel = graph.constant(np.rint(WEIGHTS.T / 0.1).astype(np.int8), scale=0.1)
    bias = graph.constant(np.zeros(4, np.int32), scale=0.1 / 128)
    output = graph.tensor((None, 4), "int8", "logits", scale=scale, zero=3)
    graph.operator("FULLY_CONNECTED", [means, kernel, bias], output)
    if last:
        soft = graph.tensor((None, 4), "int8", scale=1 / 256, zero=-128)
        output = graph.operator(last, [output], soft, beta=1)
    return graph.save(path, [image], [output])


def test_a_quantised_output_is_dequantised(tmp_path: Path, steps: Path) -> None:
    made = model(save_whole(tmp_path / "m.tflite"), f"preprocessing={steps}")
    whole = np.clip(np.rint(expected() / 0.25) + 3, -128, 127) - 3
    np.testing.assert_allclose(answers(made), whole * 0.25, atol=0.2500001)  # one step, of the means' own rounding
    assert set(np.unique(answers(made) / 0.25 % 1)) == {0}
    assert (made.identity.dtype, made.identity.processor["instructions"]) == ("int8", instructions())


def test_quantised_probabilities_become_their_logarithms(tmp_path: Path, steps: Path) -> None:
    made = model(save_whole(tmp_path / "m.tflite", last="SOFTMAX"), f"preprocessing={steps}")
    logs = answers(made)
    assert logs.max() <= 0
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=4 / 256)


def test_a_float_graph_says_so_and_all_is_in_the_key(tmp_path: Path, steps: Path) -> None:
    made = model(save_tflite(tmp_path / "m.tflite"), f"preprocessing={steps}").identity
    assert (made.backend, made.name, made.dtype, made.device) == ("litert", "m", "float32", "cpu")
    assert made.processor["engine"] == "LiteRT"
    assert "instructions" not in made.processor
    assert made.libraries.keys() == {"ai-edge-litert", "pillow"}
    other = model(save_tflite(tmp_path / "m.tflite", weights=WEIGHTS + 1), f"preprocessing={steps}").identity
    assert other.weights_sha256 != made.weights_sha256


@pytest.mark.parametrize("last", [["SOFTMAX"], ["SOFTMAX", "RESHAPE"]])
def test_probabilities_become_their_logarithms(tmp_path: Path, steps: Path, last: list[str]) -> None:
    made = model(save_tflite(tmp_path / "m.tflite", (1, 8, 8, 3), last=last), f"preprocessing={steps}")
    logs, logits = answers(made), expected()
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(logs - logs[:, :1], logits - logits[:, :1], atol=1e-3)


def test_scores_are_found_by_name_among_several_outputs(tmp_path: Path, steps: Path) -> None:
    made = model(save_tflite(tmp_path / "m.tflite", beside=True), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)
    softened = save_tflite(tmp_path / "m.tflite", beside=True, last=["SOFTMAX"])
    with pytest.raises(ModelError, match=r"has the outputs means \(free, 3\), scores1 \(free, 4\)\. Expected one"):
        answers(model(softened, f"preprocessing={steps}"))


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolution and a product whose weights are int8, and whose activations are floats."""
    draw, graph = np.random.default_rng(0), Writer()
    image = graph.tensor((None, 64, 64, 3), name="images")
    kernels = [draw.integers(-127, 128, shape, np.int8) for shape in ((64, 3, 3, 3), (64, 3, 3, 64), (4, 64))]
    values = image
    for kernel in kernels[:2]:
        inputs = [values, graph.constant(kernel, scale=0.01), graph.constant(np.zeros(64, np.float32))]
        edge = graph.tensors[values].shape[1] // 2
        values = graph.operator("CONV_2D", inputs, graph.tensor((None, edge, edge, 64)), strideW=2, strideH=2)
    means, logits = graph.tensor((None, 64)), graph.tensor((None, 4), name="logits")
    graph.operator("MEAN", [values, graph.constant(np.array([1, 2], np.int32))], means)
    dense = [means, graph.constant(kernels[2], scale=0.01), -1]
    graph.operator("FULLY_CONNECTED", dense, logits)
    return graph.save(tmp_path_factory.mktemp("wide") / "wide.tflite", [image], [logits])


def test_neither_threads_nor_other_images_change_a_byte(wide: Path, tmp_path: Path) -> None:
    steps = tmp_path / "steps.json"
    steps.write_text(json.dumps(HALF | {"input_size": [3, 64, 64]}), encoding="utf-8")
    draw = np.random.default_rng(1)
    images = [Image.fromarray(draw.integers(0, 2 + 28 * n, (64, 64, 3), np.uint8)) for n in range(9)]
    made = [model(wide, f"preprocessing={steps}", f"threads={count}") for count in (1, 2, 4)]
    assert (made[0].identity.dtype, made[0].batch_size, made[0].model_note) == ("int8 dynamic", 16, "")
    rows = [each.classify([each.prepare(image) for image in images]) for each in made]
    assert rows[0].tobytes() == rows[1].tobytes() == rows[2].tobytes()
    assert all(each.identity.in_key == made[0].identity.in_key for each in made)
    alone = [made[0].classify([made[0].prepare(image)]) for image in images]
    assert np.concatenate(alone).tobytes() == rows[0].tobytes()


def test_the_threads_are_those_of_the_suites_division(
    tmp_path: Path, steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    path = save_tflite(tmp_path / "m.tflite")
    assert model(path, f"preprocessing={steps}").graph.threads == 3
    assert model(path, f"preprocessing={steps}", "threads=2").graph.threads == 2


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((None, 3), r"has the inputs images \(free, 3\)\. Expected one of images"),
        ((None, 8, 8, 1), r"has the input images \(free, 8, 8, 1\)\. Expected 3 channels"),
        ((None, 10, 10, 3), r"takes images of 10x10, but its preprocessing makes 8x8"),
    ],
)
def test_a_graph_that_does_not_suit(tmp_path: Path, steps: Path, shape: Any, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        _ = model(save_tflite(tmp_path / "m.tflite", shape), f"preprocessing={steps}").identity


@pytest.mark.parametrize("custom", ["FlexErf", "MyOperator"])
def test_an_operator_that_litert_does_not_have(tmp_path: Path, steps: Path, custom: str) -> None:
    graph = Writer()
    image, logits = graph.tensor((None, 8, 8, 3), name="images"), graph.tensor((None, 4), name="logits")
    graph.operator("CUSTOM", [image], logits, custom=custom)
    made = model(graph.save(tmp_path / "m.tflite", [image], [logits]), f"preprocessing={steps}")
    with pytest.raises(
        ModelError, match=rf"LiteRT [\d.]+ cannot load .*m\.tflite \(.*\)\. It has {custom}.*of LiteRT alone"
    ):
        answers(made)


def test_a_file_that_ends_its_process_is_one_sentence(
    tmp_path: Path, steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(litert_graph, "LOADING", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(ModelError, match=r"m\.tflite crashes LiteRT [\d.]+ when it is loaded\. Convert it again\."):
        answers(model(save_tflite(tmp_path / "m.tflite"), f"preprocessing={steps}"))


def test_an_odd_batch_is_an_error_of_its_requests(tmp_path: Path, steps: Path) -> None:
    made = model(save_tflite(tmp_path / "m.tflite"), f"preprocessing={steps}")
    with pytest.raises(RuntimeError, match="Attempting to resize dimension 1 of tensor 0"):
        made.classify([np.zeros((9, 9, 3), np.uint8)])
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)


def test_memory_that_runs_out_is_an_error_of_memory(tmp_path: Path) -> None:
    graph = litert_graph.LiteRtGraph(save_huge_tflite(tmp_path / "m.tflite"), threads=1)
    images = np.zeros((16, 4, 4, 3), np.float32)
    with pytest.raises(MemoryError, match="cannot allocate memory") as raised:
        graph.run({"images": images}, "logits")
    assert out_of_memory(raised.value)
    assert graph.run({"images": images[:1]}, "logits").shape == (1, 81)


def test_efficientnet_lite0_answers_as_the_original(tmp_path: Path, exact: Any) -> None:
    """Logits within 1e-4, and the verdict of the compression report."""
    from eyechart.models.timm.classifier import TimmClassifier

    spec = parse_spec("timm[tf_efficientnet_lite0]")
    original, images = TimmClassifier(spec), exact.images[:16]
    logits = original.classify([original.prepare(image) for image in images])
    path = save_lite0(tmp_path / "lite0.tflite", original.module)
    made = LiteRtClassifier(ModelSpec("litert", (str(path),), {"like": str(spec)}))
    assert made.head == original.head
    np.testing.assert_allclose(made.classify([made.prepare(image) for image in images]), logits, atol=1e-4)
    done = compress(
        str(spec), "imagenet/sample", {"lite": str(made.spec)}, limit=24, speed=False, store=tmp_path / "store"
    )
    assert [*done.variants["verdict"]] == ["equal"]
