"""A benchmark in batches: a killed run finds its batch again, and pays half, once."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

SERVER = run_path(str(Path(__file__).parents[2] / "batch_server.py"))
PICTURES = 18


def test_a_killed_run_finds_its_batch_again(new_exam: Callable[..., Any]) -> None:
    exam = new_exam(batch="true", poll=0.05, price_in=2, price_cached=1, price_out=8)
    with ExitStack() as stack:
        server = stack.enter_context(SERVER["serving"]())
        server.answer, server.count = exam.server.answer, exam.server.count
        exam.server = server
        server.open.clear()
        with exam.world.start(*exam.arguments, python=exam.world.fast) as process:
            exam.world.until(lambda: any(batch.reads for batch in server.batches.values()))
            process.kill()
        assert (len(server.batches), exam.paid) == (1, {})
        server.open.set()
        said = exam.passes()
        assert (len(server.batches), [*exam.paid.values()]) == (1, [1] * PICTURES)
        usage = exam.record["usage"]
        read, cached, answered = (usage[f"{name}_tokens"] for name in ("prompt", "cached", "answer"))
        assert (read, cached, answered) == server.tokens
        assert usage["cost"] == pytest.approx((2 * (read - cached) + cached + 8 * answered) / 2e6)
        assert f"{usage['cost']:.4f} USD" in said
        assert [*(exam.world.folder / ".eyechart/batches").iterdir()] == []
