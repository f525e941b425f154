"""Runs protocols on tiny checkpoints, as a user does: one pytest session of the packaged benchmarks."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROTOCOLS = ("closed_world", "existence", "mcq", "posterior", "species")
CASES = (
    "(sample-cutouts/ and (mcq or posterior or (closed_world and not plus)))"
    " or (sample-coco/ and existence) or (sample-drawn/ and species)"
)
TOKENS = 5  # of an answer
Records = Mapping[tuple[str, str], Mapping[str, Any]]


def run_protocols(specs: Sequence[str], folder: Path, python: Sequence[str], images: int = 1) -> Records:
    """Return the records of all protocols that ran without an error, by specification and protocol.

    The session and its answers are in a folder.
    """
    limits = [f"--eye-set={name}.max_tokens={TOKENS}" for name in PROTOCOLS[:3]]
    command = [*python, "-m", "pytest", "--pyargs", "eyechart.benchmarks", "--eye-offline", "-p", "no:cacheprovider"]
    command += [f"--eye-limit={images}", "-k", CASES, *limits, *(f"--eye-model={spec}" for spec in specs)]
    session = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    (folder / "session.txt").write_text(session.stdout + session.stderr, encoding="utf-8")
    records = json.loads((folder / "reports/runs/latest/records.json").read_bytes())["records"]
    return {
        (record["model"]["spec"], record["protocol"]): record for record in records if not record["outcomes"]["error"]
    }


def protocols_of(spec: str, records: Records) -> tuple[str, ...]:
    """Return the names of the protocols that ran for a specification."""
    return tuple(name for name in PROTOCOLS if (spec, name) in records)
