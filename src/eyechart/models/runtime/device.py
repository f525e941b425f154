"""The device that a worker computes on, its name, and the process's part of memory and of the processor's threads."""

import math
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# OpenMP's threads and those of OpenBLAS in NumPy and SciPy spin while they wait, by default. Beside another process
# that takes a processor they take the time of those that they wait for.
SLEEPING = {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_THREAD_TIMEOUT": "4"}
GROUP = Path("/sys/fs/cgroup")
ALLOCATION = {-1: 2**29, -3: 2**29}  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, in bytes
DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd")  # one of them is there if torch finds a GPU


@cache
def may_have_gpus() -> bool:
    """Return whether there may be CUDA devices, without the import of torch, which takes a second."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "" or find_spec("torch") is None:
        return False
    return sys.platform != "linux" or any(Path(device).exists() for device in DRIVERS)


@cache
def count_gpus() -> int:
    """Return the number of CUDA devices."""
    if not may_have_gpus():
        return 0
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def assign_device(worker: int) -> str:
    """Return a worker's device: the CUDA devices in turn, or the processor if there is none."""
    count = count_gpus()
    return f"cuda:{worker % count}" if count else "cpu"


def count_processors() -> int:
    """Return the number of processors that this process may use, which can be fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS
    return min(len(affinity(0)) if affinity else os.cpu_count() or 1, _read_quota(GROUP))


def _read_quota(group: Path) -> int:
    """Return the processors that a control group of Linux allows, as for a container; without a limit `sys.maxsize`.

    `group` is the folder of the group: `cpu.max` of version 2, or the files in `cpu` of version 1.
    """
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text(encoding="ascii").split()
        else:
            quota, period = (
                (group / "cpu" / f"cpu.cfs_{name}_us").read_text(encoding="ascii").strip()
                for name in ("quota", "period")
            )
        share = int(quota) / int(period)
    except (OSError, ValueError):  # no Linux, no group, or no limit, which is "max"
        return sys.maxsize
    return math.ceil(share) if share > 0 else sys.maxsize  # version 1 writes -1 for no limit


def let_waiting_threads_sleep() -> None:
    """Set what the threads of libraries that are loaded later do while they wait, unless the environment says it."""
    for name, value in SLEEPING.items():
        os.environ.setdefault(name, value)


def keep_threads_to_quota() -> None:
    """Set the number of threads if a control group allows fewer processors than a library finds."""
    if count_processors() == _read_quota(GROUP):
        os.environ.setdefault("OMP_NUM_THREADS", str(count_processors()))


def divide_threads(processes: int) -> int:
    """Return the number of threads of each of some processes that compute at the same time."""
    return max(1, count_processors() // processes)


@cache
def keep_freed_memory() -> None:
    """Let the C library keep freed memory of this process for the next batch, instead of returning it to the system.

    A network frees and allocates large arrays at each layer, and so do the resamples of metrics. If the system takes
    them back, it clears each page again.
    """
    if sys.platform != "linux" or any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return
    with suppress(OSError, AttributeError):  # another C library than glibc
        import ctypes  # here, since every session of pytest imports this module

        library = ctypes.CDLL(None)
        for option, value in ALLOCATION.items():
            library.mallopt(option, value)


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
