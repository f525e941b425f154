"""The export of a classifier of timm, and what its file answers."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from eyechart.cli import main
from eyechart.errors import ModelError, SpecError
from eyechart.models.exported import export
from eyechart.models.exported.classifier import OnnxClassifier, OpenVinoClassifier
from eyechart.models.exported.export import export_onnx
from eyechart.models.spec import ModelSpec, parse_spec
from eyechart.models.timm.classifier import TimmClassifier

LITE0 = parse_spec("timm[tf_efficientnet_lite0]")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exported") / "lite0.onnx"
    assert export_onnx(LITE0, path) < 5e-5
    return path


@pytest.mark.deep
def test_the_file_alone_answers_as_its_original(exported: Path, exact: Any) -> None:
    original, images = TimmClassifier(LITE0), exact.images[:16]
    expected = original.classify([original.prepare(image) for image in images])
    made = OnnxClassifier(ModelSpec("onnx", (str(exported),)))
    assert made.head == original.head
    assert all(np.array_equal(made.prepare(image), original.prepare(image)) for image in images)
    np.testing.assert_allclose(made.classify([made.prepare(image) for image in images]), expected, atol=1e-4)
    like = OnnxClassifier(ModelSpec("onnx", (str(exported),), {"like": str(LITE0)}))
    assert like.identity == made.identity


@pytest.mark.deep
def test_openvino_answers_as_the_original(exported: Path, exact: Any) -> None:
    original, images = TimmClassifier(LITE0), exact.images[:16]
    expected = original.classify([original.prepare(image) for image in images])
    made = OpenVinoClassifier(ModelSpec("openvino", (str(exported),)))
    np.testing.assert_allclose(made.classify([made.prepare(image) for image in images]), expected, atol=1e-4)


@pytest.mark.deep
def test_the_file_says_where_it_is_from(exported: Path) -> None:
    found = {entry.key: entry.value for entry in onnx.load(exported).metadata_props}
    assert found["eyechart.origin"] == "timm[tf_efficientnet_lite0]"
    assert found["eyechart.origin_sha256"] == TimmClassifier(LITE0).identity.weights_sha256
    assert json.loads(found["eyechart.preprocessing"])["crop_pct"] == 0.875
    assert json.loads(found["eyechart.classes"])[:2] == ["tench", "goldfish"]


@pytest.mark.deep
def test_the_file_runs_through_pytest(exported: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--pyargs", "eyechart.benchmarks", "-q", "-p", "no:cacheprovider"]
    chosen = [
        "-k",
        "imagenet/sample and supervised and not near and not drawing",
        f"--eye-model=lite0=onnx[{exported}]",
    ]
    done = subprocess.run([*command, *chosen], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.deep
def test_a_file_that_answers_otherwise_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "TOLERANCE", -1)
    with pytest.raises(ModelError, match=r"moves a logit by .* No file was written"):
        export_onnx(LITE0, tmp_path / "m.onnx")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("spec", ["timm[dtype=bfloat16]", "conse[]", "timm[test_vit,num_classes=0]"])
def test_only_a_classifier_of_timm_in_float32_is_exported(spec: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=re.escape("cannot be exported. Expected a classifier of timm[…] in float32")):
        export_onnx(parse_spec(spec), tmp_path / "m.onnx")


def test_the_command_says_what_is_wrong_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "onnx", "conse[]", str(tmp_path / "m.onnx")]) == 2
    assert "'conse[]' cannot be exported" in capsys.readouterr().err
