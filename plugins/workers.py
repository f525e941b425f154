"""What the controller and the workers of pytest-xdist share."""

import os
from typing import Any

import pytest

RUN = "eyechart_run"  # the key of the run's folder in the input and output of a worker


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def worker_name(config: pytest.Config) -> str:
    """Return the name of a worker of pytest-xdist, such as gw0; "" for every other process."""
    return str(getattr(config, "workerinput", {}).get("workerid", ""))


def send_to_controller(config: pytest.Config, key: str, value: object) -> None:
    """Send a plain value from a worker, at the end of its session, to the controller; elsewhere do nothing."""
    if is_worker(config):
        config.workeroutput[key] = value  # type: ignore[attr-defined]


def sent_by_worker(node: Any, key: str) -> Any:
    """Return what a worker sent, None if it sent nothing, as one that crashed."""
    return getattr(node, "workeroutput", {}).get(key)


def limit_threads(config: pytest.Config) -> None:
    """Give a worker its part of the processors, unless the environment says how many threads it has."""
    if not os.environ.get("OMP_NUM_THREADS"):
        from eyechart.models.runtime.device import divide_threads

        os.environ["OMP_NUM_THREADS"] = str(divide_threads(config.workerinput["workercount"]))  # type: ignore[attr-defined]
