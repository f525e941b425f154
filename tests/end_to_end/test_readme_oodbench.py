"""The first three lines of docs/oodbench.md about anyone's images, but for their sizes: drawn, divided, asked about."""

import json
import re
import shlex
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

SECTION = (Path(__file__).parents[2] / "docs/oodbench.md").read_text(encoding="utf-8")
LINES = re.findall(r"^    (.+)$", SECTION, re.MULTILINE)[:3]
FORMATS, PROTOCOLS = ("cityscapes", "coco", "lvis", "nuscenes"), ("existence", "progression")
CLIPS, MLLM = ["open_clip[toybox-clip]", "open_clip[toybox-clip-b]"], "hf[toybox-mllm]"
SMALLER = {  # what is added to each command
    "eyechart toybox": ["--scenes=40"],
    "eyechart divide": ["--max-pairs=6", "--offline"],
    "pytest": ["--pyargs", "eyechart.benchmarks", f"--eye-model={MLLM}", "--eye-offline", "-p", "no:cacheprovider"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]) -> Path:
    """Where the lines were run."""
    found = tmp_path_factory.mktemp("readme")
    for command in LINES:
        more = next(more for start, more in SMALLER.items() if command.startswith(start))
        done = subprocess.run([*warm_python, "-m", *shlex.split(command), *more], cwd=found, capture_output=True,
                              encoding="utf-8", timeout=600, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    return found


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_divided_by_two_detectors(folder: Path, kind: str) -> None:
    divided: dict[str, Any] = json.loads((folder / "divisions" / f"{kind}.json").read_bytes())
    assert [one["spec"] for one in divided["detectors"]] == CLIPS
    assert {"ID", "OOD-H"} <= {name for _, _, name, *_ in divided["pairs"]}
    assert {path.name for path in (folder / "divisions").glob(f"{kind}-*.csv")} == {
        f"{kind}-{name}.csv" for name in ("ID", "OOD-S", "OOD-H")
    }


def test_every_format_is_asked_about_under_both_protocols(folder: Path) -> None:
    records = json.loads((folder / "reports/runs/latest/records.json").read_bytes())["records"]
    assert sorted((each["split"], each["protocol"]) for each in records) == [*product(FORMATS, PROTOCOLS)]
    for record in records:
        assert record["variant"]["division"].startswith(f"{record['split']}.json (")
        assert (record["outcomes"]["error"], record["outcomes"]["correct"] > 0) == (0, True)
