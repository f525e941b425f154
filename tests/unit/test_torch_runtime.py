"""float32 is float32: what TF32 would round is computed in full, and the setting of the caller comes back."""

from collections.abc import Iterator

import pytest
import torch

from eyechart.models.runtime.torch_runtime import inference_mode

CUDNN = torch.backends.cudnn


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    conv, rnn = CUDNN.conv.fp32_precision, CUDNN.rnn.fp32_precision
    yield
    CUDNN.conv.fp32_precision, CUDNN.rnn.fp32_precision = conv, rnn


def test_convolutions_on_cuda_are_not_rounded_to_tf32() -> None:
    for before in (True, False):
        CUDNN.allow_tf32 = before
        with inference_mode("cuda:1", "float32"):
            assert not CUDNN.allow_tf32
        assert CUDNN.allow_tf32 == before
        with inference_mode("cpu", "float32"):
            assert CUDNN.allow_tf32 == before


def test_a_caller_may_have_set_convolutions_alone() -> None:
    CUDNN.rnn.fp32_precision, CUDNN.conv.fp32_precision = "ieee", "tf32"
    with inference_mode("cuda:0", "float32"):
        assert CUDNN.conv.fp32_precision == "ieee"
    assert CUDNN.conv.fp32_precision == "tf32"


def test_an_error_restores_the_setting() -> None:
    CUDNN.allow_tf32 = True
    with pytest.raises(ValueError, match="odd"), inference_mode("cuda:0", "float32"):
        raise ValueError("odd")
    assert CUDNN.allow_tf32
