"""What the controller and the workers of pytest-xdist share."""

import os

import pytest

RUN = "eyechart_run"  # the key of the run's folder in the input and output of a worker


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def worker_name(config: pytest.Config) -> str:
    """Return the name of a worker of pytest-xdist, such as gw0; "" for every other process."""
    return str(getattr(config, "workerinput", {}).get("workerid", ""))


def limit_threads(config: pytest.Config) -> None:
    """Give a worker its part of the processors, unless the environment says how many threads it has."""
    if not os.environ.get("OMP_NUM_THREADS"):
        from eyechart.models.runtime.device import divide_threads

        os.environ["OMP_NUM_THREADS"] = str(divide_threads(config.workerinput["workercount"]))  # type: ignore[attr-defined]
