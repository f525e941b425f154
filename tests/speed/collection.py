"""What collecting 10,000 cases costs over pytest's own collection of as many tests."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

MODELS, SPLITS = 10, 1000
BARE = """
import pytest
@pytest.mark.parametrize("case", [f"imagenet/s{{i}}/timm[m{{j}}]" for i in range({splits}) for j in range({models})])
def test_x(case): pass
"""


def facts(pairs: int) -> Iterator[str]:
    """The median difference of paired runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(SPLITS):
            location = folder / "root" / "imagenet" / f"s{number}" / "n01440764"
            location.mkdir(parents=True)
            (location / "a.jpg").touch()
        (folder / "test_bare.py").write_text(BARE.format(splits=SPLITS, models=MODELS), encoding="utf-8")
        models = [f"--eye-model=timm[resnet{number}]" for number in range(MODELS)]
        cases = ["--pyargs", "eyechart.benchmarks", "-k", "imagenet/s", "--eye-data=root", *models]
        bare = ["-p", "no:eyechart.plugins", "test_bare.py"]
        extra = median(collect(folder, cases) - collect(folder, bare) for _ in range(pairs))
    yield f"collecting {MODELS * SPLITS:,} cases over bare pytest collecting as many: {extra:+.2f} s"


def collect(folder: Path, arguments: list[str]) -> float:
    """The wall time of one collection."""
    started = perf_counter()
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    if int(done.stdout.splitlines()[-1].split("/")[0].split()[0]) < MODELS * SPLITS:
        raise RuntimeError(done.stdout[-500:])
    return perf_counter() - started
