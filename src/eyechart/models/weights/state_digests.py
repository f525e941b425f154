"""The sha256 of weights that are in memory: modules and tensors of torch, arrays of numpy."""

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

import numpy as np

MOST_LEVELS = 4  # of containers and objects in one another
UNREADABLE = (RuntimeError, ValueError, TypeError, NotImplementedError)  # a tensor without values, such as a meta one


def module_sha256(module: Any) -> str:
    """Return the sha256 of a module's state dict: names, types, shapes and bytes; tensors are hashed in threads."""
    tensors = [(name, value) for name, value in sorted(module.state_dict().items()) if hasattr(value, "detach")]
    with ThreadPoolExecutor() as pool:
        return sha256(b"".join(pool.map(_hash_tensor, tensors))).hexdigest()


def _hash_tensor(item: tuple[str, Any]) -> bytes:
    import torch

    name, tensor = item
    digest = sha256(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
    digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.digest()


def digests_in(values: Mapping[str, Any], follow: Callable[[Any], bool]) -> Iterator[str]:
    """Yield the name and the sha256 of each module, tensor and array among some values.

    Values in dicts, lists and tuples count, and the attributes of each object that `follow` returns True for.
    """
    yield from _digests_below(values, follow, "", 0, set())


def _digests_below(
    value: Any, follow: Callable[[Any], bool], name: str, level: int, visited: set[int]
) -> Iterator[str]:
    if level > MOST_LEVELS or id(value) in visited:
        return
    visited.add(id(value))
    if isinstance(value, np.ndarray | np.generic):
        yield f"{name} {value.dtype} {value.shape} {_array_sha256(np.asarray(value))}"
    elif (digest := _torch_sha256(name, value)) is not None:
        yield f"{name} {digest}"
    else:
        for key, part in _parts(value, follow):
            yield from _digests_below(part, follow, f"{name}.{key}", level + 1, visited)


def _parts(value: Any, follow: Callable[[Any], bool]) -> list[tuple[object, Any]]:
    """Return what is in a container or an object."""
    if isinstance(value, dict):
        return [*value.items()]
    if isinstance(value, list | tuple):
        return [*enumerate(value)]
    return [*vars(value).items()] if hasattr(value, "__dict__") and follow(value) else []


def _array_sha256(array: Any) -> str:
    """Return the sha256 of an array; that of objects is of their text."""
    data = str(array.tolist()).encode() if array.dtype.hasobject else np.ascontiguousarray(array).tobytes()
    return sha256(data).hexdigest()


def _torch_sha256(name: str, value: Any) -> str | None:
    """Return the sha256 of a module or tensor of torch, "" for one without values; None for anything else."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.nn.Module | torch.Tensor):
        return None
    try:
        return module_sha256(value) if isinstance(value, torch.nn.Module) else _hash_tensor((name, value)).hex()
    except UNREADABLE:
        return ""
