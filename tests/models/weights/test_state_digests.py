"""The digest of a module's weights covers names, shapes, types and values."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.ao import quantization

from eyechart.models.weights.state_digests import module_sha256


def test_the_digest_of_weights_covers_names_shapes_types_and_values() -> None:
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3, 2, bias=False))
    digests = {module_sha256(module)}
    with torch.no_grad():
        module[1].weight[0, 0] += 1
    digests.add(module_sha256(module))
    digests.add(module_sha256(module.to(torch.bfloat16)))
    digests.add(module_sha256(torch.nn.Sequential(*module, torch.nn.Identity())))
    digests.add(module_sha256(torch.nn.ModuleDict({"other": module})))
    assert len(digests) == 4  # an identity has no weights


def linear(sign: int = 1) -> Any:
    made = torch.nn.Sequential(torch.nn.Linear(3, 2)).eval()
    torch.nn.init.constant_(made[0].weight, 0.5 * sign)
    torch.nn.init.zeros_(made[0].bias)
    return made


def frozen(sign: int) -> Any:
    return torch.jit.freeze(torch.jit.script(linear(sign)))


def packed(sign: int) -> Any:
    return quantization.quantize_dynamic(linear(sign), {torch.nn.Linear}, dtype=torch.qint8)


class Scaled(torch.nn.Module):
    """Has a state that is neither a weight nor a buffer."""

    def __init__(self, sign: int) -> None:
        super().__init__()
        self.sign = sign

    def get_extra_state(self) -> Any:
        return {"scale": self.sign, "tables": [torch.tensor(self.sign)]}


def with_buffer(value: Callable[[int], Any], *, persistent: bool = True) -> Callable[[int], Any]:
    def make(sign: int) -> Any:
        made = linear()
        made[0].register_buffer("kept", value(sign), persistent=persistent)
        return made

    return make


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    "make",
    [
        packed,
        frozen,
        Scaled,
        with_buffer(lambda sign: torch.tensor(sign), persistent=False),
        with_buffer(lambda sign: sign * torch.eye(3).to_sparse()),
        with_buffer(lambda sign: torch.full((2,), sign * 1j).conj()),
        with_buffer(lambda sign: torch.quantize_per_tensor(torch.ones(3), 2.0**sign, 0, torch.qint8)),
        with_buffer(
            lambda sign: torch.quantize_per_channel(
                torch.ones(3), torch.full((3,), 2.0**sign), torch.zeros(3), 0, torch.qint8
            )
        ),
        with_buffer(lambda sign: torch.zeros(2 + sign, device="meta")),
    ],
)
def test_the_digest_covers_weights_that_are_no_plain_tensors(make: Callable[[int], Any]) -> None:
    """Two modules that were made in the same way have one digest, and those with other values another one."""
    assert module_sha256(make(1)) == module_sha256(make(1))
    assert module_sha256(make(1)) != module_sha256(make(-1))
