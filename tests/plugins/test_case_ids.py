"""Tests of `eyechart.plugins.case_ids`."""

import pytest

from eyechart.plugins.case_ids import case_pattern

pytestmark = pytest.mark.deep


@pytest.mark.parametrize("choices", ["", "@images_per_request=5,text_encoder=hf_clip[a/b,x=[1]]", "@prompt=/a/b.toml"])
@pytest.mark.parametrize(
    "model", ["hf[toybox-mllm]", "knn[timm[resnet18],k=11]", "hf[a/b@c,dtype=float32]", "prod", "prod-2.b"]
)
def test_a_case_is_found_in_its_node_id(model: str, choices: str) -> None:
    found = case_pattern(("prod", "prod-2.b")).search(f"test_x.py::test_open_world[toybox/sample/{model}{choices}]")
    assert found
    assert (found["benchmark"], found["model"], found["choices"] or "") == ("toybox", model, choices[1:])


@pytest.mark.parametrize("model", ["open_clip[local-dir:weights]", "prod", "prod-2.b"])
def test_a_case_with_another_parameter_is_found(model: str) -> None:
    found = case_pattern(("prod", "prod-2.b")).search(f"test_x.py::test_y[toybox/sample/{model}-other]")
    assert found
    assert found["model"] == model


@pytest.mark.parametrize("inner", ["a/b/c", "toybox/sample/prodx", "toybox/sample/pro", "prod", "toybox/prod"])
def test_another_test_is_no_case(inner: str) -> None:
    assert not case_pattern(("prod", "prod-2.b")).search(f"test_x.py::test_y[{inner}]")
