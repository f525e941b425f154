"""Small modules of torch in `.pte` files, whose answers are known: the mean of each channel times a weight."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, export

from tests.onnx_graphs import WEIGHTS


class Means(nn.Module):
    """The means of the channels, times weights; `last` is what follows."""

    def __init__(self, last: Callable[[Tensor], Any] = lambda scores: scores, axes: Sequence[int] = (2, 3)) -> None:
        super().__init__()
        self.dense, self.last, self.axes = nn.Linear(3, 4, bias=False), last, [*axes]
        self.dense.weight = nn.Parameter(torch.from_numpy(WEIGHTS.T.copy()))

    def forward(self, images: Tensor) -> Any:
        return self.last(self.dense(images.float().mean(self.axes)))


def save(path: Path, module: nn.Module, images: Tensor, most: int = 0, *, portable: bool = False) -> Path:
    """Export a module; `most` lets the batch be free up to it, and `portable` leaves XNNPACK out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower

        shapes = ({0: Dim("batch", max=most)},) if most else None
        program = export(module.eval(), (images,), dynamic_shapes=shapes)
        edge = to_edge_transform_and_lower(program, partitioner=[] if portable else [XnnpackPartitioner()])
        path.write_bytes(edge.to_executorch().buffer)
    return path


def quantised(module: nn.Module, images: Tensor, *, dynamic: bool) -> nn.Module:
    """Return a module whose numbers are int8, by the images or while it computes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
            XNNPACKQuantizer,
            get_symmetric_quantization_config,
        )
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        quantizer = XNNPACKQuantizer().set_global(
            get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
        )
        prepared = prepare_pt2e(export(module.eval(), (images,)).module(), quantizer)
        prepared(images)
        made: nn.Module = convert_pt2e(prepared)
    made.eval = lambda: made  # an exported module has none
    return made
