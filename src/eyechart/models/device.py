"""The device that a worker computes on."""

import os
from functools import cache
from importlib.util import find_spec


@cache
def assign_device(worker: int) -> str:
    """Return a worker's device: the CUDA devices in turn, or the processor if there is none."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "" or find_spec("torch") is None:
        return "cpu"
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return f"cuda:{worker % count}" if count else "cpu"
