"""The places of a model's processes on this machine, by its GPUs, and the threads of each, by its processors."""

import pytest

from eyechart.errors import ModelError
from eyechart.inference.engines.processes import placement
from eyechart.inference.engines.processes.placement import slots_on_this_machine
from eyechart.models.spec import parse_spec

CLIP, WIDE = "open_clip[ViT-B-32]", "vllm[org/model,tensor_parallel_size=2]"


@pytest.mark.parametrize(
    ("gpus", "spec", "devices", "worker", "visible"),
    [
        (4, CLIP, 0, (0, 1), ["0", "1", "2", "3"]),
        (4, CLIP, 2, (0, 1), ["0", "1"]),
        (4, CLIP, 0, (1, 2), ["1", "3"]),
        (4, CLIP, 0, (1, 4), []),  # one GPU: the worker uses it itself
        (1, CLIP, 0, (0, 1), []),
        (1, CLIP, 1, (0, 1), ["0"]),
        (0, CLIP, 0, (0, 1), []),
        (4, WIDE, 0, (0, 1), ["0,1", "2,3"]),
        (2, WIDE, 0, (0, 1), []),  # vLLM finds both itself
        (4, WIDE, 0, (1, 2), ["1,3"]),  # vLLM would take the first two
        (4, "vllm[org/model,data_parallel_size=4]", 0, (0, 1), []),
        (4, "hf[org/model,device_map=auto]", 0, (0, 1), []),
    ],
)
def test_processes_divide_the_gpus(
    monkeypatch: pytest.MonkeyPatch, gpus: int, spec: str, devices: int, worker: tuple[int, int], visible: list[str]
) -> None:
    """No GPU is given twice, and a process that would be alone is not started."""
    monkeypatch.setattr(placement, "count_gpus", lambda: gpus)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    indices = slots_on_this_machine(parse_spec(spec), devices, worker)
    assert [index.variables["CUDA_VISIBLE_DEVICES"] for index in indices] == visible


def test_gpus_that_the_environment_names_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process has the first of them."""
    monkeypatch.setattr(placement, "count_gpus", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a, GPU-b")
    indices = slots_on_this_machine(parse_spec(CLIP), 0, (0, 1))
    assert [index.variables["CUDA_VISIBLE_DEVICES"] for index in indices] == ["GPU-a", "GPU-b"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (WIDE, "needs 2 GPUs for each process, and this machine has 4. Expected at most 2 processes"),
        ("vllm[org/model,data_parallel_size=2]", "Leave out data_parallel_size=2 of the model"),
    ],
)
def test_processes_without_gpus_are_refused(monkeypatch: pytest.MonkeyPatch, spec: str, said: str) -> None:
    """The sentence says how many there can be."""
    monkeypatch.setattr(placement, "count_gpus", lambda: 4)
    with pytest.raises(ModelError, match=said):
        slots_on_this_machine(parse_spec(spec), 3, (0, 1))
