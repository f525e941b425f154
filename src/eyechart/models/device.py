"""The device that a worker computes on, and its part of the processor's threads."""

import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd")  # one of them is there if torch finds a GPU


@cache
def count_gpus() -> int:
    """Return the number of CUDA devices."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "" or find_spec("torch") is None:
        return 0
    if sys.platform == "linux" and not any(Path(device).exists() for device in DRIVERS):
        return 0  # without the import of torch, which takes a second
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def assign_device(worker: int) -> str:
    """Return a worker's device: the CUDA devices in turn, or the processor if there is none."""
    count = count_gpus()
    return f"cuda:{worker % count}" if count else "cpu"


def count_processors() -> int:
    """Return the number of processors that this process may use, which can be fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def divide_threads(processes: int) -> int:
    """Return the number of threads of each of some processes that compute at the same time."""
    return max(1, count_processors() // processes)
