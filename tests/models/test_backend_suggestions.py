"""A name that is no backend is answered with a near backend, or with the backend of a model or file of that name."""

import pytest

from eyechart.errors import SpecError
from eyechart.models.registry import backends, find_backend
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
