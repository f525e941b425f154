"""What the controller and the workers of pytest-xdist share."""

import pytest

RUN = "eyechart_run"  # the key of the run's folder in the input and output of a worker


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")
