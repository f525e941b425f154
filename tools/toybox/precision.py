"""The precision of training: bfloat16 where the processor multiplies in it, else float32, which is faster there."""

from collections.abc import Mapping
from typing import Any

import torch

CAPABILITIES: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # older versions of PyTorch lack it
DTYPE = torch.bfloat16 if any(CAPABILITIES.get(name) for name in ("amx_bf16", "avx512_bf16", "bf16")) else torch.float32


def mixed_precision() -> torch.autocast:
    """Return a context in which layers compute in DTYPE."""
    return torch.autocast("cpu", torch.bfloat16, enabled=torch.bfloat16 == DTYPE)
