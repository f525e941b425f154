"""Each packaged protocol asks a real model about a few images, and its answers are in records and tables."""

import csv
import json
import subprocess
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.protocol.registry import list_protocols

LIMIT = 4
CASES = (
    "sample-cutouts/hf or sample-cutouts/conse or (imagenet/sample-near/ and (timm or replay)) or sample-coco/hf or "
    "(sample-coco/open_clip and detection) or realbirdid/sample-drawn/hf or (sample-drawn/open_clip and flat_list)"
)
WHOLE = "sample-coco/open_clip and distribution"
CLIP, MLLM, CONSE, TIMM = "open_clip[toybox-clip]", "hf[toybox-mllm]", "conse[]", "timm[tf_efficientnet_lite0]"
NEIGHBOURS = "knn[timm[tf_efficientnet_lite0],k=3,support=imagenet/sample]"
PROBE = "linear_probe[timm[tf_efficientnet_lite0],C=0.01,support=imagenet/sample]"
ELSEWHERE = f"replay[path={Path(__file__).parents[1] / 'golden/migration/inputs/classes.csv'}]"
MODELS = [f"--eye-model={model}" for model in (MLLM, CLIP, CONSE, TIMM, NEIGHBOURS, PROBE, ELSEWHERE)]
SETTINGS = (
    "--eye-set=abstention.prompts_per_level=1",
    "--eye-set=distribution.reference=oodbench/sample-lvis",
    "--eye-set=multiple_choice.epochs=1",
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]) -> list[Path]:
    """A run about a few images of each study, and one of the protocol that compares two splits as a whole."""
    folder = tmp_path_factory.mktemp("protocols")
    for name, chosen, *limit in (("few", CASES, f"--eye-limit={LIMIT}"), ("whole", WHOLE)):
        common = ["--eye-templates=1", "--eye-offline", "-p", "no:cacheprovider", *MODELS, *SETTINGS]
        command = ["pytest", "--pyargs", "eyechart.benchmarks", "-k", chosen, *limit, f"--eye-out={name}", *common]
        done = subprocess.run([*warm_python, "-m", *command], cwd=folder, capture_output=True, encoding="utf-8",
                              timeout=600, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    return [folder / "few" / "latest", folder / "whole" / "latest"]


@pytest.fixture(scope="module")
def records(runs: list[Path]) -> list[dict[str, Any]]:
    """The records, each with the folder of its files."""
    return [
        {**record, "folder": run}
        for run in runs
        for record in json.loads((run / "records.json").read_bytes())["records"]
    ]


@pytest.mark.parametrize("protocol", [name for name in list_protocols() if name != "questions"])  # none is packaged
def test_a_protocol_has_answers_and_a_first_number(records: list[dict[str, Any]], protocol: str) -> None:
    asked = [record for record in records if record["protocol"] == protocol]
    assert asked
    for record in asked:
        with (record["folder"] / record["predictions"]["path"]).open(encoding="utf-8", newline="") as file:
            assert list(csv.DictReader(file))
        assert record["outcomes"]["error"] == 0
        assert record["metrics"][0]["value"] is not None


@pytest.mark.parametrize("name", ["oodbench-T1", "realbirdid-T3"])
def test_a_study_has_its_table(runs: list[Path], capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["table", name, str(runs[0]), "--format", "csv"]) == 0
    assert MLLM in {row["Model"] for row in csv.DictReader(StringIO(capsys.readouterr().out))}
