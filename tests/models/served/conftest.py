"""What several tests of servers need."""

import socket

import pytest


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
