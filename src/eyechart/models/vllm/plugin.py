"""vLLM plugin: loaded by every vLLM process, including servers and workers, where eyechart is installed."""

import mmap
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any
from unittest.mock import patch

from eyechart.models.runtime.device import keep_freed_memory
from eyechart.models.runtime.torchvision_repair import repair

COMPILED = (  # functions of a line or two, for which vLLM calls a C++ compiler
    ("vllm.v1.sample.sampler", "batched_count_greater_than"),
    ("vllm.model_executor.layers.vocab_parallel_embedding", "get_masked_input_and_mask"),
)
WITH_A_CACHE = ("vllm.v1.worker.gpu_model_runner", "vllm.v1.worker.gpu.attn_utils")  # if they were imported before
LARGE = 1 << 20  # bytes


@cache
def load() -> None:
    """Repair torchvision, and on a processor keep freed memory, start faster and let vLLM multiply any tensor.

    Its product there refuses a tensor that was turned, such as the features of a single image of fast_vlm.
    """
    if "torchvision" in repair():
        _look_here()
    from vllm.platforms import current_platform

    if current_platform.is_cpu():
        keep_freed_memory()
        _let_turned_tensors_in()
        _compile_nothing_small()
        _register_kernels_once()
        _take_memory_as_the_cache_fills()


def _look_here() -> None:
    """Let vLLM look at a model's class in this process: in the one that it starts, torchvision is not repaired."""
    from vllm.model_executor.models import registry

    registry._run_in_subprocess = lambda look: look()


def _let_turned_tensors_in() -> None:
    from vllm import _custom_ops

    product = _custom_ops.onednn_mm

    def dense(handler: Any, values: Any, bias: Any) -> Any:
        return product(handler, values.contiguous(), bias)

    _custom_ops.onednn_mm = dense


def _compile_nothing_small() -> None:
    """Let small functions run as they are: to compile them takes 20 seconds, and needs a compiler."""
    for name, function in COMPILED:
        module = import_module(name)
        if original := getattr(getattr(module, function, None), "_torchdynamo_orig_callable", None):
            setattr(module, function, original)


def _register_kernels_once() -> None:
    """Let the second engine of a process start faster: each looks through all modules for kernels to replace."""
    with suppress(ImportError):
        from vllm.triton_utils import dispatcher

        register, registered = dispatcher.register_kernels, set[str]()

        def register_new(kernels: Mapping[str, Callable[..., Any]]) -> None:
            if new := {name: kernel for name, kernel in kernels.items() if name not in registered}:
                register(new)
                registered.update(new)

        dispatcher.register_kernels = register_new


def _take_memory_as_the_cache_fills() -> None:
    """Let the system give the cache of keys and values its zeros where it is first used.

    To write them at the start takes a second for each GiB, and all of that memory, however little of it is used.
    """
    import torch
    from vllm.v1.worker import utils

    allocate, usual = getattr(utils, "allocate_kv_cache", None), torch.zeros
    if allocate is None:  # another version of vLLM
        return

    def zeros(*size: Any, **how: Any) -> Any:
        if len(size) == 1 and isinstance(size[0], int) and size[0] >= LARGE and how.get("dtype") is torch.int8:
            return torch.frombuffer(mmap.mmap(-1, size[0], mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), dtype=torch.int8)
        return usual(*size, **how)

    def allocate_kv_cache(*settings: Any, **more: Any) -> Any:
        with patch.object(torch, "zeros", zeros):
            return allocate(*settings, **more)

    for module in (utils, *(sys.modules[name] for name in WITH_A_CACHE if name in sys.modules)):
        module.allocate_kv_cache = allocate_kv_cache
