"""Pairs put to one model through vLLM are answered and scored as through transformers; an image is computed once."""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HF, VLLM = "hf[toybox-mllm]", "vllm[toybox-mllm]"
PROTOCOLS = ("existence", "progression")
SERVED = re.compile(
    r"sample-coco/vllm\[toybox-mllm\] \((\w+)\): [\d,]+ requests, [\d,]+ prompt tokens, (\d+)% from cache"
)


@dataclass(frozen=True)
class Both:
    """A run of both engines, one after the other in one process: its folder, its records, and what it printed."""

    folder: Path
    records: Mapping[tuple[str, str], dict[str, Any]]
    printed: str

    def rows(self, model: str, protocol: str) -> list[dict[str, str]]:
        """What a case wrote."""
        with (self.folder / self.records[model, protocol]["predictions"]["path"]).open(encoding="utf-8") as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("both")
    command = [sys.executable, "-m", "pytest", "--pyargs", "eyechart.benchmarks", "--eye-offline", "--eye-limit=24"]
    command += [f"--eye-model={HF}", f"--eye-model={VLLM}", "-p", "no:cacheprovider"]
    command += ["-k", "sample-coco/ and (existence or progression)"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    latest = folder / "reports" / "runs" / "latest"
    records = json.loads((latest / "records.json").read_text(encoding="utf-8"))["records"]
    return Both(latest, {(each["model"]["spec"], each["protocol"]): each for each in records}, done.stdout)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_they_answer_every_question_alike(both: Both, protocol: str) -> None:
    said = both.rows(HF, protocol)
    assert len(said) > 5
    assert both.rows(VLLM, protocol) == said


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_records_have_the_same_numbers(both: Both, protocol: str) -> None:
    hf, vllm = (both.records[model, protocol] for model in (HF, VLLM))
    for same in ("outcomes", "data", "variant", "metrics"):
        assert vllm[same] == hf[same]
    assert vllm["outcomes"]["error"] == 0
    assert vllm["model"]["weights_sha256"] == hf["model"]["weights_sha256"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_they_read_as_many_tokens_and_vllm_keeps_what_questions_share(both: Both, protocol: str) -> None:
    hf, vllm = (both.records[model, protocol]["usage"] for model in (HF, VLLM))
    for same in ("requests", "prompt_tokens", "answer_tokens"):
        assert vllm[same] == hf[same] > 0
    assert (hf["cached_tokens"], vllm["cached_tokens"] > 0) == (0, True)


def test_the_share_from_the_cache_is_printed(both: Both) -> None:
    printed = {protocol: int(share) for protocol, share in SERVED.findall(both.printed)}
    assert {*printed} == {*PROTOCOLS}
    for protocol, share in printed.items():
        took = both.records[VLLM, protocol]["usage"]
        assert share == round(100 * took["cached_tokens"] / took["prompt_tokens"]) > 0
