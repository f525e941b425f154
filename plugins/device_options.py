"""The options about where models answer: the processes on this machine, and those on a Ray cluster."""

import re
from collections.abc import Iterable, Mapping

import pytest

from eyechart.errors import EyechartError
from eyechart.models.registry import find_backend
from eyechart.models.spec import ModelSpec

from .options import get_option, read_count


def read_devices(config: pytest.Config) -> int:
    """Return the number of processes of each model on this machine, 0 for auto."""
    return 0 if get_option(config, "devices") == "auto" else read_count(config, "devices", 1) or 0


def check_devices(config: pytest.Config) -> None:
    """Refuse processes of a model beside a cluster, and a number of them beside workers of pytest-xdist."""
    count = read_devices(config)
    if count and get_option(config, "ray"):
        raise pytest.UsageError(
            "--eye-devices is about this machine. Set the processes on a cluster with --eye-ray-actors."
        )
    if count and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError(
            f"--eye-devices={count} and -n of pytest-xdist both start processes. Leave out -n, or --eye-devices: the "
            "workers then divide the GPUs among themselves."
        )


def read_ray_gpus(config: pytest.Config, models: Iterable[ModelSpec]) -> Mapping[str, float]:
    """Return the GPUs of each process on a cluster, by backend."""
    gpus, used = {}, {model.backend for model in models}
    for part in filter(None, str(get_option(config, "ray-gpus")).split(",")):
        backend, _, text = part.partition("=")
        value = float(text) if re.fullmatch(r"\d*\.?\d+", text) else 0.0
        if not (0 < value <= 1 or (value > 1 and value.is_integer())):
            raise pytest.UsageError(
                f"--eye-ray-gpus={part}: expected BACKEND=N, where N is a share of one GPU, such as 0.25, or a whole "
                "number of GPUs."
            )
        _find_backend_of_gpus(backend, used)
        gpus[backend] = value
    return gpus


def _find_backend_of_gpus(name: str, used: set[str]) -> None:
    """Raise UsageError unless a backend has this name; `used` are the backends of the models."""
    if name not in used:
        try:
            find_backend(ModelSpec(name))
        except EyechartError as error:
            raise pytest.UsageError(f"--eye-ray-gpus={name}: {error}") from error


def check_ray(config: pytest.Config, models: Iterable[ModelSpec]) -> None:
    """Refuse options of a cluster that would not be used, and workers of pytest-xdist beside a cluster."""
    for name in ("ray-actors", "ray-gpus"):
        if config.getoption(f"eye_{name.replace('-', '_')}") is not None and not get_option(config, "ray"):
            raise pytest.UsageError(f"--eye-{name} is about a Ray cluster. Name one with --eye-ray, or leave it out.")
    read_count(config, "ray-actors", 1)
    read_ray_gpus(config, models)
    if get_option(config, "ray") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError(
            "--eye-ray uses all processors and GPUs of the cluster from one process. Leave out -n of pytest-xdist."
        )
