"""Which device a worker computes on."""

import os
from functools import cache
from importlib.util import find_spec


@cache
def assign_device(worker: int) -> str:
    """Deal the CUDA devices out to the workers in turn; without one it is the processor."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "" or find_spec("torch") is None:
        return "cpu"
    import torch

    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return f"cuda:{worker % found}" if found else "cpu"
