"""A repair for torchvision whose binary cannot be loaded, such as beside a CPU build of torch.

timm, open_clip and transformers import torchvision for its transforms alone, yet the import fails as soon as its binary
does: it describes two operators that the binary would have defined. Defining their schemas first is enough, since
nothing here calls them. Call `repair` before the first import of torchvision.
"""

import importlib
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_OPERATORS = ("nms", "qnms")
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_OPTIONAL = ("torchaudio", "torchcodec")
_defined: list[Any] = []  # a torch Library undoes its definitions when it is collected


@cache
def repair() -> tuple[str, ...]:
    """Make torchvision importable and hide optional packages that fail to load; return what was repaired."""
    hidden = tuple(name for name in _OPTIONAL if _fails(name) and _hide(name))
    return (*(("torchvision",) if _binary_fails() and _define() else ()), *hidden)


def _binary_fails() -> bool:
    if "torchvision" in sys.modules or (spec := find_spec("torchvision")) is None or spec.origin is None:
        return False
    binaries = [path for path in Path(spec.origin).parent.glob("_C*") if path.suffix in (".so", ".pyd")]
    return not any(map(_loads, binaries))  # _C.so, or _C_stable.so since torchvision 0.29


def _torch() -> Any:
    return importlib.import_module("torch")


def _loads(binary: Path) -> bool:
    try:
        _torch().ops.load_library(binary)
    except OSError:
        return False
    return True


def _define() -> bool:
    torch = _torch()
    missing = [name for name in _OPERATORS if not hasattr(torch.ops.torchvision, name)]
    if missing:
        library = torch.library.Library("torchvision", "FRAGMENT")
        _defined.append(library)
        for name in missing:
            library.define(name + _SCHEMA)
    return bool(missing)


def _fails(package: str) -> bool:
    if package in sys.modules or find_spec(package) is None:
        return False
    try:
        importlib.import_module(package)
    except (ImportError, OSError, RuntimeError):
        return True
    return False


def _hide(package: str) -> bool:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
    sys.modules[package] = None  # type: ignore[assignment]  # documented: the import system reads None as "not there"
    if package == "torchcodec" and "datasets" in sys.modules:
        sys.modules["datasets"].config.TORCHCODEC_AVAILABLE = False  # decided when it was imported
    return True
