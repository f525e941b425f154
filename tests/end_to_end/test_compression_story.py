"""The story of `docs/models.md`: export, quantise, compare, gate and page, with packaged weights and offline."""

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

EXAMPLES = Path(__file__).parents[2] / "examples"
LITE0, CLIP = "timm[tf_efficientnet_lite0]", "open_clip[toybox-clip]"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compression")


def call(home: Path, *words: str, status: int = 0) -> str:
    done = subprocess.run([sys.executable, *words], cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def compress(home: Path, *words: str, status: int = 0) -> dict[str, dict[str, str]]:
    """Return the rows of the table by variant."""
    out = call(home, "-m", "eyechart", "compress", *words, "--offline", "--format=csv", status=status)
    rows = csv.DictReader(io.StringIO(out.partition("note: ")[0]))
    return {row["Variant"]: row for row in rows}


def gate(home: Path, spec: str, *words: str, status: int = 0) -> str:
    command = ("-m", "pytest", "--pyargs", "eyechart.benchmarks", "-q", "-p", "no:cacheprovider", "--eye-baseline=base")
    cases = "imagenet/sample and supervised and not near and not drawing"
    return call(home, *command, "-k", cases, f"--eye-model=lite0={spec}", "--eye-offline", *words, status=status)


def test_a_classifier_is_exported_quantised_compared_and_gated(home: Path) -> None:
    call(home, "-m", "eyechart", "export", "onnx", LITE0, "lite0.onnx", "--offline")
    call(home, str(EXAMPLES / "quantise.py"), "onnx[lite0.onnx]", "lite0_int8.onnx", "imagenet/sample-near")
    words = (LITE0, "imagenet/sample", "--variant=fp32=onnx[lite0.onnx]", "--variant=int8=onnx[lite0_int8.onnx]")
    rows = compress(home, *words, "--calibration=imagenet/sample-near", "--margin=0.08", "--page=lite0.html")
    assert (rows["fp32"]["Verdict"], rows["int8"]["Verdict"]) == ("equal", "kept")
    assert rows["fp32"]["Flips"] == "0"
    assert 0 < int(rows["int8"]["Flips"]) < 30
    assert float(rows["int8"]["Smaller, ×"]) > 3.5
    assert float(rows["int8"]["Images/s"]) > 0
    assert "<svg" in (home / "lite0.html").read_text(encoding="utf-8")
    rows = compress(home, *words, "--margin=0.01", "--no-speed", status=13)
    assert (rows["fp32"]["Verdict"], rows["int8"]["Verdict"]) == ("equal", "not shown")
    refused = call(
        home, "-m", "eyechart", "compress", *words, "--calibration=imagenet/sample", "--offline", status=2
    )  # fmt: skip
    assert "177 calibration images are among the 177 evaluated images of imagenet/sample" in refused
    gate(home, LITE0, "--eye-update-baseline")
    gate(home, "onnx[lite0_int8.onnx]", "--eye-margin=0.08")
    assert "a loss of 1 point is not excluded" in gate(home, "onnx[lite0_int8.onnx]", "--eye-margin=0.01", status=13)


def test_the_towers_of_a_clip_are_exported_quantised_and_compared(home: Path) -> None:
    call(home, "-m", "eyechart", "export", "onnx", CLIP, "clip", "--offline")
    original, quantised = f"onnx_clip[clip,like={CLIP}]", f"onnx_clip[clip,file=int8,like={CLIP}]"
    call(home, str(EXAMPLES / "quantise.py"), original, "clip/vision_model_int8.onnx", "toybox/sample-scenes")
    shutil.copyfile(home / "clip" / "text_model.onnx", home / "clip" / "text_model_int8.onnx")
    rows = compress(
        home, CLIP, "toybox/sample", f"--variant=fp32={original}", f"--variant=int8={quantised}", "--no-speed",
        "--calibration=toybox/sample-scenes", "--margin=0.05",
    )  # fmt: skip
    assert rows["fp32"]["Verdict"] == "equal"
    assert rows["int8"]["Verdict"] in ("equal", "kept")
    assert float(rows["int8"]["MB"]) < float(rows["fp32"]["MB"]) / 2
