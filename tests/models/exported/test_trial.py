"""A file is loaded in a process of its own first, once."""

from functools import partial
from pathlib import Path

import pytest

from eyechart.errors import ModelError
from eyechart.models.exported import onnx_graph
from eyechart.models.exported.classifier import OnnxClassifier
from eyechart.models.weights.digests import set_digest_folder
from tests.models.exported.plain_images import answers, open_file
from tests.onnx_graphs import save_graph

model = partial(open_file, OnnxClassifier)


def test_a_file_that_ends_its_process_is_one_sentence(
    tmp_path: Path, steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_graph, "LOADING", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(ModelError, match=r"m\.onnx crashes ONNX Runtime .* Write optimise=false, or convert it again"):
        answers(model(save_graph(tmp_path / "m.onnx"), f"preprocessing={steps}"))


def test_a_file_that_loaded_once_is_not_tried_again(
    tmp_path: Path, steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_digest_folder(tmp_path / "digests")
    try:
        path = save_graph(tmp_path / "m.onnx")
        answers(model(path, f"preprocessing={steps}"))
        monkeypatch.setattr(onnx_graph, "LOADING", "import os; os.abort()")
        answers(model(path, f"preprocessing={steps}"))
        with pytest.raises(ModelError, match="crashes ONNX Runtime"):
            answers(model(save_graph(path, metadata={"other": "bytes"}), f"preprocessing={steps}"))
    finally:
        set_digest_folder(None)
