"""Freed memory stays with the process: the pages of the next batch are not cleared by the system again."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import resource
import sys

import numpy as np

from eyechart.models.runtime.torch_runtime import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()
faults = []
for _ in range(12):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(2**22)  # 32 MiB, 8,192 pages of 4 KiB
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(max(faults[2:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc alone is told")
@pytest.mark.parametrize(
    ("call", "variables", "kept"),
    [("kept", {}, True), ("not kept", {}, False), ("kept", {"MALLOC_MMAP_THRESHOLD_": "131072"}, False)],
    ids=["kept", "not kept", "the user has settings of his own"],
)
def test_pages_are_cleared_once(call: str, variables: dict[str, str], kept: bool) -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    environment = own | variables | {"NUMPY_MADVISE_HUGEPAGE": "0"}
    command = [sys.executable, "-c", SCRIPT, call]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (int(done.stdout) < 100) == kept
