"""Tests of `eyechart.models.runtime.device`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eyechart.inference.engines.processes import placement
from eyechart.inference.engines.processes.placement import slots_on_this_machine
from eyechart.models.runtime import device
from eyechart.models.runtime.device import (
    _read_quota,
    count_processors,
    keep_threads_to_quota,
    let_waiting_threads_sleep,
)
from eyechart.models.spec import parse_spec

CLIP, WIDE = "open_clip[ViT-B-32]", "vllm[org/model,tensor_parallel_size=2]"


def test_threads_follow_the_processors_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes on a processor divide them."""
    monkeypatch.setattr(placement, "count_gpus", lambda: 0)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {*range(6)}, raising=False)
    monkeypatch.setattr(device, "GROUP", Path("none"))
    assert count_processors() == 6
    indices = slots_on_this_machine(parse_spec(CLIP), 4, (0, 1))
    assert [index.variables for index in indices] == [{"OMP_NUM_THREADS": "1"}] * 4
    assert slots_on_this_machine(parse_spec(CLIP), 2, (0, 1))[1].variables == {"OMP_NUM_THREADS": "3"}


@pytest.mark.parametrize(
    ("files", "processors"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, sys.maxsize),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, sys.maxsize),
        ({}, sys.maxsize),
    ],
    ids=["version 2", "version 2 without a limit", "version 1", "version 1 without a limit", "no group"],
)
def test_a_container_may_use_as_many_processors_as_its_group_allows(
    tmp_path: Path, files: dict[str, str], processors: int
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    assert _read_quota(tmp_path) == processors


@pytest.mark.parametrize(("own", "expected"), [(None, "2"), ("7", "7")], ids=["unset", "set by the user"])
def test_libraries_get_as_many_threads_as_a_container_may_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: str | None, expected: str
) -> None:
    (tmp_path / "cpu.max").write_text("200000 100000\n", encoding="ascii")
    monkeypatch.setattr(device, "GROUP", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {*range(64)}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", own or "")
    if own is None:
        monkeypatch.delenv("OMP_NUM_THREADS")
    keep_threads_to_quota()
    assert os.environ["OMP_NUM_THREADS"] == expected


def test_waiting_threads_sleep_unless_the_environment_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", "26")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    monkeypatch.delenv("OMP_WAIT_POLICY")
    let_waiting_threads_sleep()
    assert (os.environ["OMP_WAIT_POLICY"], os.environ["OPENBLAS_THREAD_TIMEOUT"]) == ("PASSIVE", "26")


IMPORTED_LATER = """
import sys
import eyechart.models.runtime.device
import eyechart.plugins.activation
sys.exit(", ".join({"numpy", "torch"} & {*sys.modules}) or 0)
"""


def test_no_library_with_threads_is_imported_before_they_are_told_to_sleep() -> None:
    """Such a library reads its settings when it is loaded."""
    done = subprocess.run([sys.executable, "-c", IMPORTED_LATER], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
