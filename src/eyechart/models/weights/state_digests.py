"""The sha256 of weights that are in memory: modules and tensors of torch, arrays of numpy."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from io import BytesIO
from pickletools import genops
from typing import Any
from zipfile import ZipFile

import numpy as np

from eyechart.models.types import ADDRESS

MANGLED = re.compile(rb"\.?___torch_mangle_\d+")
MOST_LEVELS = 4  # of containers and objects in one another
UNREADABLE = (RuntimeError, ValueError, TypeError, NotImplementedError)  # a tensor without values, such as a meta one


def module_sha256(module: Any) -> str:
    """Return the sha256 of a module's state: names, types, shapes and bytes; tensors are hashed in threads.

    These are its state dict, with packed weights of quantised layers and extra state, the buffers that are no part of
    it, and the code of TorchScript, which has the weights of a frozen module.
    """
    import torch

    state = module.state_dict()
    items = [part for name, value in sorted(state.items()) for part in _values_in(name, value)]
    items += [(name, value) for name, value in sorted(module.named_buffers()) if name not in state]
    if isinstance(module, torch.jit.ScriptModule):
        items += _parts_of_script(module.save_to_buffer())
    with ThreadPoolExecutor() as pool:
        return sha256(b"".join(pool.map(_hash_value, items))).hexdigest()


def _parts_of_script(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the code and the weights of TorchScript as it is saved.

    Left out are the lines of the source, the id of the archive, and the number that a second class of one name gets.
    """
    with ZipFile(BytesIO(data)) as archive:
        for name in sorted(archive.namelist()):
            part = archive.read(name)
            if name.endswith(".pkl"):
                codes = (f"{code.name} {argument}" for code, argument, _ in genops(part))
                part = "\n".join(codes).encode()
            if not name.endswith((".debug_pkl", "serialization_id")):
                yield MANGLED.sub(b"", name.encode()).decode(), sha256(MANGLED.sub(b"", part)).hexdigest()


def _values_in(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors and other values in an entry of a state dict, which may be a container."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _values_in(f"{name}.{key}", part)
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _values_in(f"{name}.{number}", part)
    elif isinstance(value, np.ndarray | np.generic):
        yield name, f"{value.dtype} {value.shape} {_array_sha256(np.asarray(value))}"
    else:
        yield name, value if hasattr(value, "detach") else ADDRESS.sub("", repr(value))


def _hash_value(item: tuple[str, Any]) -> bytes:
    import torch

    name, value = item
    if isinstance(value, str):
        return sha256(f"{name} {value}".encode()).digest()
    digest = sha256(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
    for part in _plain_parts(value.detach()):
        digest.update(part if isinstance(part, bytes) else part.contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.digest()


def _plain_parts(tensor: Any) -> Iterator[Any]:
    """Yield the plain tensors on the processor and the bytes of a tensor, which may be quantised, sparse or wrapped."""
    import torch

    if tensor.is_meta:
        return  # it has no values
    if hasattr(tensor, "__tensor_flatten__"):  # as torchao's
        names, context = tensor.__tensor_flatten__()
        yield ADDRESS.sub("", repr(context)).encode()
        for name in names:
            yield from _plain_parts(getattr(tensor, name))
    elif tensor.is_quantized:
        each = tensor.qscheme() in (torch.per_channel_affine, torch.per_channel_affine_float_qparams)
        yield tensor.int_repr().cpu()
        yield from (tensor.q_per_channel_scales().cpu(), tensor.q_per_channel_zero_points().cpu()) if each else ()
        yield repr(tensor.q_per_channel_axis() if each else (tensor.q_scale(), tensor.q_zero_point())).encode()
    else:
        dense = tensor if tensor.layout is torch.strided else tensor.to_dense()
        yield dense.cpu().resolve_conj().resolve_neg()


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
        return module_sha256(value) if isinstance(value, torch.nn.Module) else _hash_value((name, value)).hex()
    except UNREADABLE:
        return ""
