"""Where and in which precision a model runs: what every backend on torch shares."""

import gc
import sys
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from eyechart.errors import SpecError
from eyechart.models.types import Floats
from eyechart.spec import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch

DTYPES = ("float32", "bfloat16", "float16")


def dtype_option(spec: ModelSpec, device: str) -> str:
    """Read the option `dtype`; without it bfloat16 where a CUDA device has it, else float32."""
    asked = spec.options.get("dtype") or _native(device)
    if asked not in DTYPES:
        raise SpecError(f"'{spec}' asks for dtype={asked}. Expected one of {', '.join(DTYPES)}.")
    return asked


def _native(device: str) -> str:
    import torch

    return "bfloat16" if device.startswith("cuda") and torch.cuda.is_bf16_supported() else "float32"


def batch_size_option(spec: ModelSpec, default: int) -> int:
    """Read the option `batch_size`, a positive whole number."""
    return integer_option(spec, "batch_size", default)


def integer_option(spec: ModelSpec, option: str, default: int, least: int = 1) -> int:
    """Read an option that is a whole number."""
    text = spec.options.get(option, str(default))
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise SpecError(f"'{spec}' has {option}={text}. Expected a whole number of at least {least}.")
    return int(text)


def fraction_option(spec: ModelSpec, option: str, default: float) -> float:
    """Read an option that is a number above 0 and at most 1."""
    text = spec.options.get(option, str(default))
    try:
        if 0 < (found := float(text)) <= 1:
            return found
    except ValueError:
        pass
    raise SpecError(f"'{spec}' has {option}={text}. Expected a number above 0 and at most 1.")


def scale_option(spec: ModelSpec, default: float) -> float:
    """Read the option `scale`, what cosines or logits are multiplied with before a softmax: a number above 0."""
    text = spec.options.get("scale", str(default))
    try:
        if 0 < (found := float(text)) < float("inf"):
            return found
    except ValueError:
        pass
    raise SpecError(f"'{spec}' has scale={text}. Expected a number above 0.")


def amount_option(spec: ModelSpec, option: str, default: float | None = None) -> float | None:
    """Read an option that is a number of at least 0; without it and without a default there is none."""
    if option not in spec.options:
        return default
    text = spec.options[option]
    try:
        if 0 <= (found := float(text)) < float("inf"):
            return found
    except ValueError:
        pass
    raise SpecError(f"'{spec}' has {option}={text}. Expected a number of at least 0.")


def flag_option(spec: ModelSpec, option: str, default: bool) -> bool:
    """Read an option that is true or false."""
    text = spec.options.get(option, str(default).lower())
    if text not in ("true", "false"):
        raise SpecError(f"'{spec}' has {option}={text}. Expected true or false.")
    return text == "true"


@contextmanager
def inference_mode(device: str, dtype: str) -> "Iterator[None]":
    """Run without gradients; below float32 the layers that bear it compute in `dtype`, the others in float32."""
    import torch

    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        if dtype != "float32":
            stack.enter_context(autocast(device, dtype))
        yield


def autocast(device: str, dtype: str) -> AbstractContextManager[Any]:
    """Return torch's autocast for a device such as `cuda:1`."""
    import torch

    return torch.autocast(device.partition(":")[0], getattr(torch, dtype))


def to_device(module: Any, device: str) -> Any:
    """Put a module where it runs, ready to answer; channels_last makes convolutions about twice as fast."""
    import torch

    deep = any(weight.ndim == 5 for weight in module.parameters())  # a video's convolution has no such layout
    how = {} if deep else {"memory_format": torch.channels_last}
    return module.eval().requires_grad_(False).to(device=device, **how)


def stack(images: "Sequence[torch.Tensor]", device: str) -> "torch.Tensor":
    """Make a batch of prepared images on the device."""
    import torch

    return torch.stack(list(images)).to(device, memory_format=torch.channels_last, non_blocking=True)


def to_numpy(features: "torch.Tensor") -> Floats:
    """Bring features home as float32."""
    return np.asarray(features.float().cpu().numpy(), dtype=np.float32)


def empty_cache() -> None:
    """Give memory that nothing uses any more back to the accelerator, which another library may want to have."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def out_of_memory(error: Exception) -> bool:
    """Whether an exception of any library means that memory ran out."""
    said = str(error).lower()
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return named or (isinstance(error, RuntimeError) and ("out of memory" in said or "can't allocate memory" in said))


def to_jsonable(config: "Mapping[str, Any]") -> dict[str, Any]:
    """Spell a processor's settings in what JSON knows, sorted by name."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in sorted(config.items())}


@cache
def library_versions(*packages: str) -> dict[str, str]:
    """Look the versions of installed packages up by their names in the package index."""
    return {name: found for name in packages if (found := _version(name))}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
