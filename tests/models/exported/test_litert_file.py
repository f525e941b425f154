"""What is in a `.tflite` file, and files that are none."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from eyechart.errors import ModelError
from eyechart.models.exported.classifier import LiteRtClassifier
from tests.models.exported.plain_images import answers, expected, open_file
from tests.onnx_graphs import WEIGHTS
from tests.tflite_graphs import Writer, save_tflite

pytestmark = pytest.mark.deep  # LiteRT is a package of the deep tests
model = partial(open_file, LiteRtClassifier)


def test_the_signature_names_the_outputs(tmp_path: Path, steps: Path) -> None:
    graph = Writer()
    image, means, scores = graph.tensor((None, 8, 8, 3)), graph.tensor((None, 3)), graph.tensor((None, 4))
    graph.operator("MEAN", [image, graph.constant(np.array([1, 2], np.int32))], means)
    kernel = graph.constant(WEIGHTS.T.copy())
    graph.operator("FULLY_CONNECTED", [means, kernel, -1], scores)
    named = {"features": means, "scores": scores}
    made = model(graph.save(tmp_path / "m.tflite", [image], [means, scores], signature=named), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)


def damaged(path: Path, kind: str) -> Path:
    data = save_tflite(path).read_bytes()
    if kind == "missing":
        path.unlink()
    if kind == "folder":
        path.unlink()
        path.mkdir()
        save_tflite(path / "inner.tflite")
    texts = {
        "cut": data[: len(data) // 2],
        "head": data[:40],
        "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:dce8\nsize 344569044\n",
        "empty": b"",
        "html": b"<!doctype html><html><body>404</body></html>",
        "other": b"\x08\x07\x12\x07pytorch" + bytes(100),
        "noise": data[:8] + np.random.default_rng(0).bytes(len(data)),
    }
    if kind in texts:
        path.write_bytes(texts[kind])
    return path


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("missing", r"missing\.tflite does not exist\. Check the path"),
        ("folder", r"folder\.tflite is a folder\. Name a file instead; it has inner\.tflite"),
        ("cut", r"cut\.tflite is cut or damaged .* Fetch or convert it again"),
        ("head", r"head\.tflite is cut or damaged"),
        ("noise", r"noise\.tflite is cut or damaged"),
        ("pointer", r"pointer\.tflite is a pointer of Git LFS instead of the file: run git lfs pull"),
        ("empty", r"empty\.tflite is empty \(0 bytes\): copy it again"),
        ("html", r"html\.tflite is a web page, such as that of an error"),
        ("other", r"other\.tflite is no file of LiteRT, which has TFL3 as its bytes 5 to 8"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, steps: Path, kind: str, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        _ = model(damaged(tmp_path / f"{kind}.tflite", kind), f"preprocessing={steps}").identity


def test_a_file_without_the_graph_is_refused(tmp_path: Path, steps: Path) -> None:
    graph = Writer()
    image = graph.tensor((None, 8, 8, 3), name="images")
    made = model(graph.save(tmp_path / "m.tflite", [image], [image]), f"preprocessing={steps}")
    with pytest.raises(ModelError, match=r"m\.tflite holds no operator\. Convert it again, into one file"):
        _ = made.identity


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_cut_file_is_known_wherever_it_ends(tmp_path: Path, steps: Path, share: float) -> None:
    path = save_tflite(tmp_path / "m.tflite", last=["SOFTMAX"])
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(ModelError, match=r"m\.tflite is cut or damaged"):
        _ = model(path, f"preprocessing={steps}").identity
