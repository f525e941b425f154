"""vLLM plugin: loaded by every vLLM process, including servers and workers, where eyechart is installed."""

from functools import cache
from typing import Any

from eyechart.models.runtime import keep_freed_memory
from eyechart.models.torchvision_repair import repair


@cache
def load() -> None:
    """Repair torchvision, and on a processor keep freed memory and let vLLM multiply any tensor.

    Its product there refuses a tensor that was turned, such as the features of a single image of fast_vlm.
    """
    if "torchvision" in repair():
        _look_here()
    from vllm.platforms import current_platform

    if current_platform.is_cpu():
        keep_freed_memory()
        _let_turned_tensors_in()


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
