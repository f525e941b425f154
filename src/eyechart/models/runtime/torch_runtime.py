"""Device and precision of backends on torch."""

import gc
import sys
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from eyechart.models.runtime.device import keep_freed_memory
from eyechart.models.types import Floats

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import torch


def native_dtype(device: str) -> str:
    """Return bfloat16 on a CUDA device that supports it, else float32."""
    import torch

    return "bfloat16" if device.startswith("cuda") and torch.cuda.is_bf16_supported() else "float32"


@contextmanager
def inference_mode(device: str, dtype: str) -> "Iterator[None]":
    """Run without gradients; below float32, torch's autocast selects the layers that compute in `dtype`.

    What computes in float32 does so in full: by default cuDNN rounds the inputs of a convolution to 10 bits (TF32).
    """
    import torch

    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        if device.startswith("cuda"):
            stack.enter_context(_full_float32())
        else:
            keep_freed_memory()
        if dtype != "float32":
            stack.enter_context(_autocast(device, dtype))
        yield


@contextmanager
def _full_float32() -> "Iterator[None]":
    """Let cuDNN compute in float32 what is float32, as the processor does."""
    import torch

    settings: Any = torch.backends.cudnn
    name: str = "allow_tf32"
    value: bool | str = False
    try:
        before: Any = settings.allow_tf32
    except RuntimeError:  # the caller has set the precision of convolutions alone, as torch 2.9 and newer can
        settings, name, value = settings.conv, "fp32_precision", "ieee"
        before = settings.fp32_precision
    setattr(settings, name, value)
    try:
        yield
    finally:
        setattr(settings, name, before)


def _autocast(device: str, dtype: str) -> AbstractContextManager[Any]:
    """Return torch's autocast for a device such as `cuda:1`."""
    import torch

    return torch.autocast(device.partition(":")[0], getattr(torch, dtype))


def to_device(module: Any, device: str) -> Any:
    """Return a module on its device in evaluation mode; channels_last makes convolutions about twice as fast."""
    import torch

    deep = any(weight.ndim == 5 for weight in module.parameters())  # a video's convolution has no such layout
    how = {} if deep else {"memory_format": torch.channels_last}
    return module.eval().requires_grad_(False).to(device=device, **how)


def to_numpy(features: "torch.Tensor") -> Floats:
    """Return features as float32 arrays on the processor."""
    return np.asarray(features.float().cpu().numpy(), dtype=np.float32)


def empty_cache() -> None:
    """Return unused memory to the accelerator, for other libraries; without PyTorch, there is none."""
    torch = sys.modules.get("torch")
    if torch is not None:
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def out_of_memory(error: BaseException) -> bool:
    """Return whether an exception of any library means that memory ran out."""
    message = str(error).lower()
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return named or (
        isinstance(error, RuntimeError) and ("out of memory" in message or "can't allocate memory" in message)
    )


def to_jsonable(config: "Mapping[str, Any]") -> dict[str, Any]:
    """Return a processor's settings as JSON values, sorted by name."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in sorted(config.items())}


@cache
def library_versions(*packages: str) -> dict[str, str]:
    """Return the versions of installed packages by their names in the package index."""
    return {name: version for name in packages if (version := _version(name))}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
