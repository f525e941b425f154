"""Device, precision and numeric options of backends on torch."""

import ctypes
import gc
import json
import os
import platform
import sys
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eyechart.errors import SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Floats

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch

ALLOCATION = {-1: 2**29, -3: 2**29}  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, in bytes
DTYPES = ("float32", "bfloat16", "float16")


def dtype_option(spec: ModelSpec, device: str) -> str:
    """Return the option `dtype`; by default bfloat16 on a CUDA device that supports it, else float32."""
    dtype = spec.options.get("dtype") or _native(device)
    if dtype not in DTYPES:
        raise SpecError(f"'{spec}' asks for dtype={dtype}. Expected one of {', '.join(DTYPES)}.")
    return dtype


def _native(device: str) -> str:
    import torch

    return "bfloat16" if device.startswith("cuda") and torch.cuda.is_bf16_supported() else "float32"


def integer_option(spec: ModelSpec, option: str, default: int, least: int = 1) -> int:
    """Return an option that is a whole number."""
    text = spec.options.get(option, str(default))
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise SpecError(f"'{spec}' has {option}={text}. Expected a whole number of at least {least}.")
    return int(text)


def fraction_option(spec: ModelSpec, option: str, default: float) -> float:
    """Return an option that is a number above 0 and at most 1."""
    text = spec.options.get(option, str(default))
    try:
        if 0 < (value := float(text)) <= 1:
            return value
    except ValueError:
        pass
    raise SpecError(f"'{spec}' has {option}={text}. Expected a number above 0 and at most 1.")


def scale_option(spec: ModelSpec, default: float) -> float:
    """Return the option `scale`, the positive factor of cosines or logits before a softmax."""
    text = spec.options.get("scale", str(default))
    try:
        if 0 < (value := float(text)) < float("inf"):
            return value
    except ValueError:
        pass
    raise SpecError(f"'{spec}' has scale={text}. Expected a number above 0.")


def amount_option(spec: ModelSpec, option: str, default: float | None = None) -> float | None:
    """Return an option that is a number of at least 0; None without it and without a default."""
    if option not in spec.options:
        return default
    text = spec.options[option]
    try:
        if 0 <= (value := float(text)) < float("inf"):
            return value
    except ValueError:
        pass
    raise SpecError(f"'{spec}' has {option}={text}. Expected a number of at least 0.")


def flag_option(spec: ModelSpec, option: str, default: bool) -> bool:
    """Return an option that is true or false."""
    text = spec.options.get(option, str(default).lower())
    if text not in ("true", "false"):
        raise SpecError(f"'{spec}' has {option}={text}. Expected true or false.")
    return text == "true"


def choice_option(spec: ModelSpec, option: str, choices: "Sequence[str]") -> str:
    """Return an option that is one of some words, "" without it."""
    text = spec.options.get(option, "")
    if text and text not in choices:
        raise SpecError(f"'{spec}' has {option}={text}. Expected {' or '.join(choices)}{did_you_mean(text, choices)}")
    return text


def keyword_options(spec: ModelSpec, option: str) -> dict[str, Any]:
    """Return the options NAME.KEY=VALUE as a mapping; a value is read as JSON where it is, else as text.

    >>> from eyechart.models.spec import parse_spec
    >>> keyword_options(parse_spec("hf[x,chat_template_kwargs.size.height=32,chat_template_kwargs.a=b]"),
    ...     "chat_template_kwargs")
    {'size': {'height': 32}, 'a': 'b'}
    """
    keywords: dict[str, Any] = {}
    for name, text in spec.options.items():
        first, *keys = name.split(".")
        if first != option or not keys:
            continue
        level = keywords
        for key in keys[:-1]:
            level = level.setdefault(key, {})
            if not isinstance(level, dict):
                raise SpecError(f"'{spec}' gives {name} both a value and parts. Leave out one of them.")
        if keys[-1] in level:
            raise SpecError(f"'{spec}' gives {name} both a value and parts. Leave out one of them.")
        level[keys[-1]] = _json_or_text(text)
    return keywords


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


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


@cache
def keep_freed_memory() -> None:
    """Let the C library keep freed memory of this process for the next batch, instead of returning it to the system.

    A network frees and allocates large arrays at each layer, and so do the resamples of metrics. If the system takes
    them back, it clears each page again.
    """
    if sys.platform != "linux" or any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return
    with suppress(OSError, AttributeError):  # another C library than glibc
        library = ctypes.CDLL(None)
        for option, value in ALLOCATION.items():
            library.mallopt(option, value)


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


def out_of_memory(error: Exception) -> bool:
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


@cache
def device_name(device: str) -> str:
    """Return the name of the GPU or CPU that a device such as cuda:1 is, "" if it is unknown.

    The driver is not initialised for it, since processes could not be forked afterwards; without it the names are those
    of all GPUs of the machine.

    >>> device_name("")
    ''
    """
    if device == "cpu":
        names = _field_values("model name", Path("/proc/cpuinfo")) or [platform.processor()]
    elif device.startswith("cuda") and "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized():
        names = [sys.modules["torch"].cuda.get_device_name(device)]
    elif device.startswith("cuda"):
        names = [
            name
            for path in Path("/proc/driver/nvidia/gpus").glob("*/information")
            for name in _field_values("Model", path)
        ]
    else:
        names = []
    return ", ".join(dict.fromkeys(names))


def _field_values(name: str, path: Path) -> list[str]:
    """Return the values of a field in a file of Linux with lines NAME: VALUE, none if it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    cells = (line.partition(":") for line in lines)
    return [value.strip() for field, _, value in cells if field.strip() == name and value.strip()]
