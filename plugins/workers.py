"""What the controller and the workers of pytest-xdist have in common."""

import pytest

RUN = "eyechart_run"  # in a worker's input: the folder of the run


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")
