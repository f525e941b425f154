"""Which device a worker computes on."""

from functools import cache


@cache
def pick(worker: int) -> str:
    """Deal the CUDA devices out to the workers in turn; without one it is the processor."""
    import torch

    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return f"cuda:{worker % found}" if found else "cpu"
