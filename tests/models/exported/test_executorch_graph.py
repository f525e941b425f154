"""Classifiers that ExecuTorch computes: small graphs exported here, and EfficientNet-Lite0."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eyechart.api.compression import compress
from eyechart.errors import ModelError
from eyechart.models.exported.classifier import ExecuTorchClassifier
from eyechart.models.exported.graph import instructions
from eyechart.models.spec import ModelSpec, parse_spec
from eyechart.models.timm.classifier import TimmClassifier
from tests.executorch_graphs import Means, quantised, save
from tests.models.exported.plain_images import COLOURS, HALF, answers, expected, open_file
from tests.onnx_graphs import WEIGHTS

pytestmark = pytest.mark.deep  # ExecuTorch is a package of the deep tests
model = partial(open_file, ExecuTorchClassifier)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every file of these tests one thread, since those of a process cannot change."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def test_the_batch_is_the_files(small: Path, steps: Path) -> None:
    made = model(small, f"preprocessing={steps}")
    assert made.batch_size == 1
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)


@pytest.mark.parametrize("portable", [False, True])
def test_a_free_batch_is_filled_up_to_its_bound(tmp_path: Path, steps: Path, portable: bool) -> None:
    path = save(tmp_path / "m.pte", Means(), torch.zeros(2, 3, 8, 8), most=3, portable=portable)
    made = model(path, f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)
    assert 1 < made.batch_size <= 3
    assert made.identity.processor["delegates"] == ([] if portable else ["XnnpackBackend"])


def test_a_relu_whose_largest_output_is_infinite_is_read(tmp_path: Path, steps: Path) -> None:
    path = save(tmp_path / "m.pte", Means(lambda scores: scores.relu()), torch.zeros(1, 3, 8, 8))
    np.testing.assert_allclose(answers(model(path, f"preprocessing={steps}")), np.maximum(expected(), 0), atol=1e-5)


def test_bytes_and_channels_that_are_last(tmp_path: Path, steps: Path) -> None:
    path = save(tmp_path / "m.pte", Means(axes=(1, 2)), torch.zeros(1, 8, 8, 3, dtype=torch.uint8))
    np.testing.assert_allclose(answers(model(path, f"preprocessing={steps}")), np.array(COLOURS) @ WEIGHTS, rtol=1e-6)


@pytest.mark.parametrize("portable", [False, True])
def test_probabilities_become_their_logarithms(tmp_path: Path, steps: Path, portable: bool) -> None:
    softmax = Means(lambda scores: scores.softmax(1))
    path = save(tmp_path / "m.pte", softmax, torch.zeros(1, 3, 8, 8), portable=portable)
    logs = answers(model(path, f"preprocessing={steps}"))
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(logs - logs[:, :1], expected() - expected()[:, :1], atol=1e-3)


def test_several_outputs(tmp_path: Path, steps: Path) -> None:
    images = torch.zeros(1, 3, 8, 8)
    deep = save(tmp_path / "m.pte", Means(lambda scores: (scores[:, :, None], scores)), images)
    np.testing.assert_allclose(answers(model(deep, f"preprocessing={steps}")), expected(), atol=1e-5)
    both = save(tmp_path / "m.pte", Means(lambda scores: (scores * 2, scores)), images)
    with pytest.raises(ModelError, match=r"has the outputs output 0 \(1, 4\), output 1 \(1, 4\)\. Expected one"):
        answers(model(both, f"preprocessing={steps}"))


def test_a_float_graph_says_so_and_all_is_in_the_key(small: Path, steps: Path) -> None:
    made = model(small, f"preprocessing={steps}").identity
    assert (made.backend, made.name, made.dtype, made.device) == ("executorch", "m", "float32", "cpu")
    assert made.processor["engine"] == "ExecuTorch"
    assert "instructions" not in made.processor
    assert made.libraries.keys() == {"executorch", "torch", "pillow"}


def test_other_images_change_no_byte_of_a_dynamically_quantised_graph(tmp_path: Path, steps: Path) -> None:
    images = torch.rand(4, 3, 8, 8)
    made = model(save(tmp_path / "m.pte", quantised(Means(), images, dynamic=True), images), f"preprocessing={steps}")
    assert (made.identity.dtype, made.batch_size, made.model_note) == ("int8 dynamic", 4, "")
    together = answers(made)
    assert together.tobytes() == b"".join(answers(made, [colour]).tobytes() for colour in COLOURS)
    assert not np.array_equal(together, expected())


def test_a_graph_that_does_not_suit(small: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"m\.pte says nothing about its preprocessing"):
        _ = model(small).identity
    (tmp_path / "steps.json").write_text(json.dumps(HALF | {"input_size": [3, 9, 9]}), encoding="utf-8")
    with pytest.raises(ModelError, match=r"takes images of 8x8, but its preprocessing makes 9x9"):
        _ = model(small, f"preprocessing={tmp_path / 'steps.json'}").identity


def test_a_delegate_that_is_not_there_is_named(small: Path, tmp_path: Path, steps: Path) -> None:
    path = tmp_path / "m.pte"
    path.write_bytes(small.read_bytes().replace(b"XnnpackBackend", b"ForeignBackend"))
    with pytest.raises(ModelError, match=r"m\.pte needs ForeignBackend, and ExecuTorch 1\.\S+ has .*XnnpackBackend"):
        answers(model(path, f"preprocessing={steps}"))


def test_an_operator_that_is_not_there_is_one_sentence(tmp_path: Path, steps: Path) -> None:
    path = save(tmp_path / "m.pte", Means(), torch.zeros(1, 3, 8, 8), portable=True)
    path.write_bytes(path.read_bytes().replace(b"aten::mean", b"aten::neam"))
    with pytest.raises(
        ModelError, match=r"ExecuTorch 1\.\S+ cannot load .*m\.pte \(.*\)\. Export it again, with operat"
    ):
        answers(model(path, f"preprocessing={steps}"))


def test_the_threads_of_a_process_do_not_change(small: Path, steps: Path) -> None:
    answers(model(small, f"preprocessing={steps}"))
    sentence = r"has 2 threads, but another file in this process has 1, which ExecuTorch cannot change\. Write the same"
    with pytest.raises(ModelError, match=sentence):
        answers(model(small, f"preprocessing={steps}", "threads=2"))


@pytest.fixture(scope="module")
def original() -> TimmClassifier:
    return TimmClassifier(parse_spec("timm[tf_efficientnet_lite0]"))


@pytest.fixture(scope="module")
def lite0(original: TimmClassifier, tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    module = original.module.to(memory_format=torch.contiguous_format)
    path = save(tmp_path_factory.mktemp("lite0") / "lite0.pte", module, torch.zeros(2, 3, 224, 224), most=8)
    return ModelSpec("executorch", (str(path),), {"like": str(original.spec)})


def test_efficientnet_lite0_answers_as_the_original(original: TimmClassifier, lite0: ModelSpec, exact: Any) -> None:
    prepared = [original.prepare(image) for image in exact.images[:16]]
    made = ExecuTorchClassifier(lite0)
    assert made.head == original.head
    np.testing.assert_allclose(made.classify(prepared), original.classify(prepared), atol=1e-4)


def test_the_report_finds_efficientnet_lite0_equal(original: TimmClassifier, lite0: ModelSpec, tmp_path: Path) -> None:
    variants = {"pte": str(lite0)}
    done = compress(str(original.spec), "imagenet/sample", variants, limit=24, speed=False, store=tmp_path)
    assert [*done.variants["verdict"]] == ["equal"]


def test_threads_change_no_byte(lite0: ModelSpec, exact: Any, tmp_path: Path) -> None:
    """Another process answers with two threads."""
    made = ExecuTorchClassifier(lite0)
    prepared = [made.prepare(image) for image in exact.images[:4]]
    np.save(tmp_path / "images.npy", np.stack(prepared))
    spec = ModelSpec("executorch", lite0.arguments, {**lite0.options, "threads": "2"})
    code = f"""
import numpy as np
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec
model = create_model(parse_spec("{spec}"), device="cpu", offline=True)
np.save("rows.npy", model.classify([*np.load("images.npy")]))
from executorch.extension.pybindings import portable_lib
assert portable_lib._threadpool_get_thread_count() == 2
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "rows.npy").tobytes() == made.classify(prepared).tobytes()
    assert ExecuTorchClassifier(spec).identity.in_key == made.identity.in_key


def test_a_quantised_graph_says_so(tmp_path: Path, steps: Path) -> None:
    images = torch.rand(1, 3, 8, 8)
    path = save(tmp_path / "m.pte", quantised(Means(), images, dynamic=False), images)
    made = model(path, f"preprocessing={steps}")
    assert (made.identity.dtype, made.identity.processor["instructions"]) == ("int8", instructions())
    assert answers(made).shape == (4, 4)
