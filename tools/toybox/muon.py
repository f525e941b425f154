"""Muon: momentum whose steps are made orthogonal, for matrices and kernels read as matrices (Jordan et al., 2024)."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from toybox.precision import DTYPE

QUINTIC = (3.4445, -4.7750, 2.0315)
ROUNDS = 5
AS_ADAMW = 0.2


class Muon(torch.optim.Optimizer):
    """Muon with Nesterov momentum and decoupled decay; a step has about the size of AdamW's, so rates carry over."""

    def __init__(self, params: Iterable[Tensor], lr: float, momentum: float = 0.95, weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]  # noqa: ARG002  # the base class has it
        """Move every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if (slope := parameter.grad) is not None:
                    self._move(parameter, slope, group)

    def _move(self, parameter: Tensor, slope: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        average = state.setdefault("momentum", torch.zeros_like(parameter))
        average.lerp_(slope, 1 - group["momentum"])
        ahead = slope.lerp(average, group["momentum"])
        turned = orthogonal(ahead.flatten(1))
        size = AS_ADAMW * max(turned.shape) ** 0.5
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.add_(turned.view_as(parameter).to(parameter.dtype), alpha=-group["lr"] * size)


def orthogonal(matrix: Tensor) -> Tensor:
    """Return about the nearest matrix (m, n) with orthonormal rows or columns, by a quintic iteration in DTYPE."""
    first, third, fifth = QUINTIC
    x = matrix.to(DTYPE)
    x = x.T if matrix.shape[0] > matrix.shape[1] else x
    x = x / (x.norm() + 1e-7)
    for _ in range(ROUNDS):
        square = x @ x.T
        x = first * x + (third * square + fifth * square @ square) @ x
    result: Tensor = (x.T if matrix.shape[0] > matrix.shape[1] else x).to(matrix.dtype)
    return result
