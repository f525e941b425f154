"""What the plugin costs a pytest session that has nothing to do with eyechart: CPU time and memory, over one without.

Other plugins are off, since one that imports numpy itself would hide that eyechart does. The target is less than 50 ms
and less than 5 MB.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

TESTS = 20
PLAIN = "import pytest\n\n@pytest.mark.parametrize('number', range({tests}))\ndef test_plain(number):\n    pass\n"
# A process of its own starts each session: peak memory of a child counts what its parent had when it began.
LAUNCHER = """
import json, os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(process, 0)
unit = 1e6 if sys.platform == "darwin" else 1e3
print(json.dumps([status, 1000 * (used.ru_utime + used.ru_stime), used.ru_maxrss / unit]))
"""
SESSIONS = {"serial": (), "two workers": ("-p", "xdist.plugin", "-n2")}


def facts(pairs: int) -> Iterator[str]:
    """Yield the differences of paired sessions in turn, with and without the plugin: median, smallest and largest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_plain.py").write_text(PLAIN.format(tests=TESTS), encoding="utf-8")
        for what, options in SESSIONS.items():
            without, plugin = (), ("-p", "eyechart.plugins")
            measure(folder, *plugin, *options)  # writes bytecode
            both = [(measure(folder, *plugin, *options), measure(folder, *without, *options)) for _ in range(pairs)]
            for unit, index in (("ms CPU", 0), ("MB", 1)):
                more = [ours[index] - bare[index] for ours, bare in both]
                base = median(bare[index] for _, bare in both)
                yield (
                    f"plugin in an unrelated session of {TESTS} tests, {what}: {median(more):+.1f} {unit} "
                    f"({min(more):+.1f} to {max(more):+.1f}) over {base:.0f}"
                )


def measure(folder: Path, *options: str) -> tuple[float, float]:
    """Return the CPU milliseconds and the peak megabytes of one session."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_plain.py"]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-IS", "-c", LAUNCHER, *pytest],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    *said, last = done.stdout.splitlines()
    status, milliseconds, megabytes = json.loads(last)
    if status:
        raise RuntimeError("\n".join(said))
    return milliseconds, megabytes
