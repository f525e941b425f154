"""A name that is no backend is answered with a near backend, or with the backend of a model or file of that name."""

import subprocess
import sys

import pytest

from eyechart.errors import SpecError
from eyechart.models.registry import backends, find_backend
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec


def test_an_unknown_backend_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        SpecError,
        match=r"which is not known; did you mean open_clip or onnx_clip\? Known backends: anthropic, blip2, conse",
    ):
        find_backend(parse_spec("open_clop[RN50]"))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("ViT-B-32", r"open_clip\[ViT-B-32\]"),
        ("vit_b_32", r"open_clip\[ViT-B-32\]"),
        ("ViT-B-32[pretrained=openai]", r"open_clip\[ViT-B-32,pretrained=openai\]"),
        ("toybox-clip", r"open_clip\[toybox-clip\]"),
        ("toybox-mllm", r"hf\[toybox-mllm\] or vllm\[toybox-mllm\]"),
        ("resnet50", r"timm\[resnet50\]"),
        ("resnet50.a1_in1k", r"timm\[resnet50\.a1_in1k\]"),
        ("tv_resnet50", r"timm\[tv_resnet50\]"),  # a former name
        ("m.onnx", r"onnx\[m\.onnx\]"),
        ("m.pte", r"executorch\[m\.pte\]"),
        ("m.xml", r"openvino\[m\.xml\]"),
        ("m_int8.tflite[like=timm[]]", r"litert\[m_int8\.tflite,like=timm\[\]\]"),
    ],
)
def test_a_model_without_its_backend_is_answered_with_it(given: str, meant: str) -> None:
    with pytest.raises(SpecError, match=rf"which is not known; did you mean {meant}\? Known backends"):
        find_backend(parse_spec(given))


def test_a_path_of_an_exported_model_is_answered_with_its_backend() -> None:
    """Other names with a slash are those of models on the hub."""
    with pytest.raises(SpecError, match=r"exported model; did you mean litert\[\./a/m\.tflite,like=timm\[\]\]\?"):
        find_backend(parse_spec("./a/m.tflite[like=timm[]]"))
    assert find_backend(parse_spec("a/m-onnx")) is backends()["hf"]


def test_a_name_of_no_model_is_answered_with_the_known_backends() -> None:
    with pytest.raises(SpecError, match=r"'gpt-4o', which is not known\. Known backends: anthropic, blip2, conse"):
        find_backend(parse_spec("gpt-4o"))


@pytest.mark.deep
@pytest.mark.parametrize("given", ["resnet50", "counts.txt"])
def test_no_library_is_imported_for_a_suggestion(given: str) -> None:
    code = f"""
import sys
from eyechart.errors import SpecError
from eyechart.models.registry import find_backend
from eyechart.models.spec import parse_spec
try:
    find_backend(parse_spec({given!r}))
except SpecError:
    print(*sorted({{"timm", "torch", "torchvision", "open_clip", "transformers"}} & {{*sys.modules}}))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


@pytest.mark.deep
def test_the_models_of_timm_are_those_that_timm_lists() -> None:
    repair()
    import timm

    names = timm.list_models()[::150]
    assert len(names) > 5
    for name in names:
        with pytest.raises(SpecError, match=rf"did you mean timm\[{name}\]\?"):
            find_backend(parse_spec(name))
