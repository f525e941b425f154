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
    original, quantised = "onnx_clip[clip]", "onnx_clip[clip,file=int8]"
    call(home, str(EXAMPLES / "quantise.py"), original, "clip/vision_model_int8.onnx", "toybox/sample-scenes")
    shutil.copyfile(home / "clip" / "text_model.onnx", home / "clip" / "text_model_int8.onnx")
    rows = compress(
        home, CLIP, "toybox/sample", f"--variant=fp32={original}", f"--variant=int8={quantised}", "--no-speed",
        "--calibration=toybox/sample-scenes", "--margin=0.05",
    )  # fmt: skip
    assert rows["fp32"]["Verdict"] == "equal"
    assert rows["int8"]["Verdict"] in ("equal", "kept")
    assert float(rows["int8"]["MB"]) < float(rows["fp32"]["MB"]) / 2


def test_one_command_prints_the_tables_of_all_variants(home: Path) -> None:
    """The bounds hold on processors without VNNI, too, where static int8 changes more answers."""
    import openvino

    printed = call(home, str(EXAMPLES / "compression_table.py"), "compressed", "--no-speed").split("### ")[1:]
    lite0, clip = (read_markdown(table) for table in printed)
    bf16 = {"openvino_bf16"} if "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES") else set()
    floats = {"fp32", "fp16", "openvino_fp32", "openvino_fp16"}
    static = {"channel", "channel_s8", "percentile", "tensor", "openvino_nncf"}
    assert lite0.keys() == {"original", *floats, *bf16, "dynamic", "dynamic_s8", *static}
    assert {name for name, row in lite0.items() if row["Verdict"] == "equal"} == {"fp32", "openvino_fp32"}
    assert {lite0[name]["Flips"] for name in floats} == {"0"}
    assert all(int(lite0[name]["Flips"]) <= 8 for name in bf16)
    assert all(1 <= int(lite0[name]["Flips"]) <= 70 for name in static)
    assert all(25 <= int(lite0[name]["Flips"]) <= 60 for name in ("tensor", "dynamic", "dynamic_s8"))
    assert all(int(lite0[name]["Lost"]) <= 25 and int(lite0[name]["Gained"]) <= 15 for name in static)
    smaller = {"fp16": 2, "openvino_fp16": 1.9, "dynamic": 3.9, "tensor": 3.8, "channel": 3.6, "openvino_nncf": 3}
    assert {name: float(lite0[name]["Smaller, ×"]) for name in smaller} == pytest.approx(smaller, abs=0.1)
    assert clip.keys() == {"original", "fp32", "dynamic", "tensor", "channel", "nncf"}
    assert (clip["fp32"]["Verdict"], clip["fp32"]["Flips"]) == ("equal", "0")
    assert all(int(clip[name]["Flips"]) <= 20 for name in ("tensor", "channel", "nncf"))
    assert int(clip["dynamic"]["Flips"]) <= 4
    assert float(clip["dynamic"]["MB"]) < 0.6 * float(clip["channel"]["MB"])


def read_markdown(text: str) -> dict[str, dict[str, str]]:
    """Return the rows of a table by variant."""
    names, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    )
    return {row[0]: dict(zip(names, row, strict=True)) for row in rows}
