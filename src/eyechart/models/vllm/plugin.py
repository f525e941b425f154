"""vLLM plugin: loaded by every vLLM process, including servers and workers, where eyechart is installed."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from eyechart.models.runtime import keep_freed_memory
from eyechart.models.torchvision_repair import repair

COMPILED = (  # functions of a line or two, for which vLLM calls a C++ compiler
    ("vllm.v1.sample.sampler", "batched_count_greater_than"),
    ("vllm.model_executor.layers.vocab_parallel_embedding", "get_masked_input_and_mask"),
)


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
