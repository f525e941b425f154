"""What is in a `.pte` file, and files that are none."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from eyechart.errors import ModelError
from eyechart.models.exported.classifier import ExecuTorchClassifier
from eyechart.models.exported.executorch_file import ExecuTorchFile
from eyechart.models.exported.graph import Port
from tests.executorch_graphs import Means, quantised, save
from tests.models.exported.plain_images import open_file

pytestmark = pytest.mark.deep  # ExecuTorch is a package of the deep tests
model = partial(open_file, ExecuTorchClassifier)


def test_inputs_and_outputs_and_who_computes_between_them(tmp_path: Path, small: Path) -> None:
    whole = ExecuTorchFile(small)
    assert whole.inputs == (Port("input 0", np.float32, (1, 3, 8, 8)),)
    assert whole.outputs == (Port("output 0", np.float32, (1, 4)),)
    assert (whole.delegates, whole.precision) == (("XnnpackBackend",), "float32")
    pixels = torch.zeros(2, 8, 8, 3, dtype=torch.uint8)
    portable = ExecuTorchFile(save(tmp_path / "m.pte", Means(axes=(1, 2)), pixels, portable=True))
    assert portable.inputs == (Port("input 0", np.uint8, (2, 8, 8, 3)),)
    assert portable.delegates == ()
    assert any(name.startswith("aten::mean") for name in portable.operators)


@pytest.mark.parametrize(("dynamic", "precision"), [(False, "int8"), (True, "int8 dynamic")])
def test_the_types_of_a_delegate_say_the_precision(tmp_path: Path, dynamic: bool, precision: str) -> None:
    images = torch.rand(4, 3, 8, 8)
    path = save(tmp_path / "m.pte", quantised(Means(), images, dynamic=dynamic), images)
    assert ExecuTorchFile(path).precision == precision


def damaged(source: Path, path: Path, kind: str) -> Path:
    data = source.read_bytes()
    texts = {
        "cut": data[: len(data) // 2],
        "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:dce8\nsize 344569044\n",
        "empty": b"",
        "html": b"<!doctype html><html><body>404</body></html>",
        "payload": data.replace(b"XH00", b"XX00"),
        "other": b"\x08\x07\x12\x07pytorch" + bytes(100),
    }
    if kind != "missing":
        path.write_bytes(texts[kind])
    return path


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("missing", r"missing\.pte does not exist\. Check the path"),
        ("cut", r"cut\.pte is cut or damaged .* Fetch or export it again"),
        ("payload", r"payload\.pte is cut or damaged .* Fetch or export it again"),
        ("pointer", r"pointer\.pte is a pointer of Git LFS instead of the file: run git lfs pull"),
        ("empty", r"empty\.pte is empty \(0 bytes\): copy it again"),
        ("html", r"html\.pte is a web page, such as that of an error"),
        ("other", r"other\.pte is no file of ExecuTorch, which has ET as its bytes 5 and 6"),
    ],
)
def test_a_bad_file_is_one_sentence(small: Path, tmp_path: Path, steps: Path, kind: str, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        _ = model(damaged(small, tmp_path / f"{kind}.pte", kind), f"preprocessing={steps}").identity
