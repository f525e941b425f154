"""Benchmarks put to a model behind a server that goes wrong: what it was asked, and what the run makes of it."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from eyechart.inference.store.entries import scan_blocks

SERVER = run_path(str(Path(__file__).parents[2] / "faulty_server.py"))
ERRORS = 12  # the status of a session with more errors than were allowed, and nothing else
KEY = "sk-very-secret-0123456789"


@dataclass
class Exam:
    """A model behind the server, `options` of it, and the cases that are chosen."""

    world: Any
    server: Any
    options: dict[str, object] = field(default_factory=dict)
    cases: str = "mcq and imagenet/tiny/"
    seen: int = 0
    backend: str = "openai"

    @property
    def arguments(self) -> list[str]:
        """The command line."""
        url = self.server.url if self.backend == "openai" else self.server.address
        usual = {"base_url": url, "concurrency": 4, "backoff": 0.01, "retries": 1, "timeout": 20}
        told = ",".join(f"{name}={value}" for name, value in (usual | self.options).items())
        self.world.models = (f"{self.backend}[test,{told}]",)
        return [*self.world.usual, "-k", self.cases]

    def run(self, *more: str) -> pytest.RunResult:
        """Run to the end; what is asked from here on is new."""
        self.seen = len(self.server.asked)
        result: pytest.RunResult = self.world.call(*self.arguments, *more)
        assert "Traceback" not in result.stdout.str() + result.stderr.str()
        return result

    def passes(self, *more: str) -> str:
        """Run to the end, which must be good; what is said."""
        result = self.run(*more)
        assert result.ret == 0, result.stdout.str() + result.stderr.str()
        return str(result.stdout.str())

    def fails(self, *more: str) -> str:
        """Run to the end, which must be bad; what is said."""
        result = self.run(*more)
        assert result.ret == ERRORS, result.stdout.str() + result.stderr.str()
        return str(result.stdout.str())

    @property
    def record(self) -> dict[str, Any]:
        """The record of the only case."""
        (found,) = self.world.records
        return dict(found)

    def rows(self, record: dict[str, Any] | None = None) -> list[dict[str, str]]:
        """A case's answers, image by image."""
        path = self.world.latest / (record or self.record)["predictions"]["path"]
        return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))

    @property
    def asked(self) -> Counter[str]:
        """How often each question about pictures was asked."""
        return Counter(one.content for one in self.server.asked if one.pictures)

    @property
    def fresh(self) -> Counter[str]:
        """The same of the last run alone."""
        return Counter(one.content for one in self.server.asked[self.seen :] if one.pictures)

    @property
    def paid(self) -> Counter[str]:
        """How often each question about pictures was answered at a price."""
        return Counter(one.content for one, _ in self.server.paid if one.pictures)

    @property
    def parts(self) -> list[str]:
        """The texts of the replies that are kept in parts."""
        kept = [
            block
            for name, data in self.world.store.items()
            if name.endswith(".part")
            for block in scan_blocks(BytesIO(data))
        ]
        return [json.loads(reply)["text"] for _, reply in kept]


@pytest.fixture(scope="module")
def new_exam(new_world: Callable[[], Any]) -> Iterator[Callable[..., Exam]]:
    """Make an exam of 18 pictures, ten options each, to be answered by what is in the pictures."""
    with ExitStack() as stack:

        def make(**options: object) -> Exam:
            server, world = stack.enter_context(SERVER["serving"]()), new_world()
            server.answer, server.count = SERVER["look"], SERVER["by_length"]
            world.environment |= dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), KEY)
            return Exam(world, server, options)

        yield make


@pytest.fixture
def exam(new_exam: Callable[..., Exam]) -> Exam:
    """One of a test's own."""
    return new_exam()
