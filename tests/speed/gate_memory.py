"""CPU time and peak memory of the gate's comparison of many cases, read one by one or all at once.

    python -m tests.speed.gate_memory --cases 5000 --images 2000

Makes a run and baselines of models with 50 cases each and 6 metrics, in which 1 % of the outcomes differ.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np

from eyechart.gate.baselines.baseline_files import BaselineIndex, case_key, read_baselines, write_baselines
from eyechart.gate.session.compare_cases import CasePair, compare_cases
from eyechart.gate.session.gate_session import CaseReader
from eyechart.gate.verdicts.decide import Rule
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import Evidence, collect_evidence, read_evidence

CASES_OF_MODEL, METRICS, CHANGED = 50, 6, 0.01


def make(case: int, images: int, draws: np.random.Generator, correct: Any) -> Evidence:
    """The evidence of a case from its outcomes (metrics, images)."""
    model = f"m{case // CASES_OF_MODEL}[]"
    estimates = [
        Estimate(
            name=f"acc{k}",
            labels="ImGT",
            subset="all",
            value=float(c.mean()),
            n=images,
            correct=c,
            higher_is_better=True,
        )
        for k, c in enumerate(correct)
    ]
    metrics, arrays = collect_evidence(estimates)
    return Evidence(
        case=f"imagenet/s{case % CASES_OF_MODEL}/{model}",
        protocol="zero_shot",
        model=model,
        weights_sha256=f"{draws.integers(2**60):064x}",
        fingerprint=f"s{case % CASES_OF_MODEL}",
        label_hashes={"ImGT": "t"},
        variant={},
        limit=None,
        seed=42,
        samples=images,
        environment={},
        metrics=metrics,
        arrays=arrays,
    )


def write(folder: Path, cases: int, images: int) -> None:
    """Write a run's evidence and its baselines."""
    draws = np.random.default_rng(0)
    (folder / "evidence").mkdir(parents=True)
    for start in range(0, cases, CASES_OF_MODEL):
        before = []
        for case in range(start, min(cases, start + CASES_OF_MODEL)):
            correct = (draws.random((METRICS, images)) < 0.7).astype(np.float64)
            before.append(make(case, images, draws, correct))
            changed = np.where(draws.random(correct.shape) < CHANGED, 1 - correct, correct)
            now = make(case, images, draws, changed)
            (folder / "evidence" / f"{case:05d}.json").write_bytes(msgspec.json.encode(now))
        write_baselines(folder / "kept", before)


def records(folder: Path) -> dict[str, Any]:
    """What the reader needs of the records of the run."""
    model = "m{}[]"
    return {
        path.stem: SimpleNamespace(
            benchmark="imagenet",
            model=SimpleNamespace(title=model.format(int(path.stem) // CASES_OF_MODEL)),
            evidence=SimpleNamespace(path=f"evidence/{path.name}"),
        )
        for path in sorted((folder / "evidence").glob("*.json"))
    }


def compare(folder: Path, how: str) -> int:
    """Compare all cases; the number of verdicts."""
    if how == "stream":
        pairs = CaseReader(folder, records(folder)).pairs(BaselineIndex(folder / "kept"))
    else:
        kept = read_baselines(folder / "kept")
        every = [read_evidence(path) for path in sorted((folder / "evidence").glob("*.json"))]
        pairs = iter([(case_key(now), CasePair(kept[case_key(now)][0], now)) for now in every])
    result = compare_cases(pairs, Rule())
    return len(result.verdicts) + len(result.pooled)


def facts(_: int, cases: int = 1000, images: int = 2000) -> Iterator[str]:
    """Yield the time and peak memory of each way, in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        write(folder := Path(name) / "run", cases, images)
        for how in ("stream", "all"):
            command = [sys.executable, "-m", __spec__.name, "--how", how, "--folder", str(folder)]
            yield subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Measure both ways, or one way in this process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--how", choices=("stream", "all"))
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.how:
        count = compare(given.folder, given.how)
        seconds, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"gate, evidence read as {given.how}: {count} verdicts, {seconds:.1f} CPU s, peak {peak:.2f} GiB")
        return
    for line in facts(1, given.cases, given.images):
        print(line)


if __name__ == "__main__":
    main()
