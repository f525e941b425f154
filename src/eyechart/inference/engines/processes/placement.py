"""Where the processes of a model run: how many GPUs one needs, and which it gets on this machine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from eyechart.errors import ModelError
from eyechart.models.runtime.device import count_gpus, divide_threads
from eyechart.models.spec import ModelSpec

GPUS_TOGETHER = ("tensor_parallel_size", "pipeline_parallel_size")


@dataclass(frozen=True)
class ProcessSlot:
    """What one process computes on, and its environment variables."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict, compare=False)


def gpus_per_process(spec: ModelSpec) -> int:
    """Return the number of GPUs that one copy of a model needs.

    >>> from eyechart.models.spec import parse_spec
    >>> gpus_per_process(parse_spec("vllm[org/model,tensor_parallel_size=4,pipeline_parallel_size=2]"))
    8
    """
    count = 1
    for option in GPUS_TOGETHER:
        value = spec.options.get(option, "1")
        count *= int(value) if value.isdecimal() else 1  # the model itself refuses other values
    return count


def _spreads_itself(spec: ModelSpec) -> str:
    """Return the option by which a model uses several GPUs from one process by itself, "" if there is none."""
    own = {"data_parallel_size": "1", "device_map": ""}
    return next((f"{name}={spec.options[name]}" for name, off in own.items() if spec.options.get(name, off) != off), "")


def refuse_own_copies(spec: ModelSpec, option: str) -> None:
    """Raise ModelError for a model that divides its work among GPUs by itself: a pool would do so a second time."""
    if own := _spreads_itself(spec):
        raise ModelError(f"{spec}: {option} divides the work among processes itself. Leave out {own} of the model.")


def slots_on_this_machine(spec: ModelSpec, devices: int, worker: tuple[int, int]) -> list[ProcessSlot]:
    """Return the slots of a model's processes, [] if the model answers in this process.

    `devices` is the number of processes, 0 for one for each GPU. `worker` is the number of a worker of pytest-xdist and
    the count of all, which divide the GPUs among themselves.
    """
    together, gpu_count = gpus_per_process(spec), count_gpus()
    if devices:
        refuse_own_copies(spec, f"--eye-devices={devices}")
        if gpu_count and devices * together > gpu_count:
            raise ModelError(
                f"--eye-devices={devices}: {spec} needs {together} GPUs for each process, and this machine has "
                f"{gpu_count}. Expected at most {gpu_count // together} processes."
            )
    elif _spreads_itself(spec):
        return []
    groups = _group_gpus(gpu_count, together, worker)
    in_one_process = not groups or (len(groups) == 1 and (together == 1 or worker[1] == 1))
    if not devices and in_one_process:
        return []
    count = devices or len(groups)
    threads = {"OMP_NUM_THREADS": str(divide_threads(count * worker[1]))}
    if not gpu_count:
        return [ProcessSlot(f"processor {number}", threads) for number in range(count)]
    return [
        ProcessSlot(f"GPU {', '.join(map(str, group))}", {**threads, "CUDA_VISIBLE_DEVICES": visible(group)})
        for group in groups[:count]
    ]


def _group_gpus(count: int, together: int, worker: tuple[int, int]) -> list[range]:
    """Return the GPUs of each process of a worker, which has its part of all; `assign_device` names the first one.

    >>> [[*group] for group in _group_gpus(8, 1, (1, 2))], [[*group] for group in _group_gpus(8, 2, (1, 2))]
    ([[1], [3], [5], [7]], [[1, 3], [5, 7]])
    """
    own = range(worker[0], count, worker[1])
    return [own[start : start + together] for start in range(0, len(own) - together + 1, together)]


def visible(gpus: range) -> str:
    """Return the value of CUDA_VISIBLE_DEVICES that leaves some of the GPUs which are visible now."""
    now = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return ",".join(now[number] if now else str(number) for number in gpus)
