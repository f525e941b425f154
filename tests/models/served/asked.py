"""What is asked of servers in tests, and who asks."""

from collections.abc import Callable
from pathlib import Path
from runpy import run_path

from eyechart.models.served.generator import ServedGenerator
from eyechart.models.served.openai import OpenAiGenerator
from eyechart.models.types import Request

KEY = "sk-very-secret-0123456789"
NAME = "toy-2026-01-01"
Asking = Callable[..., OpenAiGenerator]
AskingBy = Callable[..., ServedGenerator]
serving = run_path(str(Path(__file__).parents[2] / "faulty_server.py"))["serving"]


def ask(*texts: str) -> list[Request]:
    """Return a request for each text."""
    return [Request((text,)) for text in texts]
