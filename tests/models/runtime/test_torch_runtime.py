"""float32 is float32: what TF32 would round is computed in full, and the setting of the caller comes back."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from eyechart.models.runtime.torch_runtime import inference_mode

CUDNN = torch.backends.cudnn
BY_OPERATOR = hasattr(CUDNN, "conv")  # torch 2.9 and newer have a setting for each kind of operator


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    if not BY_OPERATOR:
        before = CUDNN.allow_tf32
        yield
        CUDNN.allow_tf32 = before
        return
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


if BY_OPERATOR:

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


SCRIPT = """
import resource
import sys

import numpy as np

from eyechart.models.runtime.device import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()
faults = []
for _ in range(12):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(2**22)  # 32 MiB, 8,192 pages of 4 KiB
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(max(faults[2:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has this setting")
@pytest.mark.parametrize(
    ("call", "variables", "kept"),
    [("kept", {}, True), ("not kept", {}, False), ("kept", {"MALLOC_MMAP_THRESHOLD_": "131072"}, False)],
    ids=["kept", "not kept", "the user has settings of his own"],
)
def test_pages_are_cleared_once(call: str, variables: dict[str, str], kept: bool) -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    environment = own | variables | {"NUMPY_MADVISE_HUGEPAGE": "0"}
    command = [sys.executable, "-c", SCRIPT, call]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (int(done.stdout) < 100) == kept
