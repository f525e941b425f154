"""The whole command through vLLM gives what it gives through transformers, one protocol for each way to ask a model."""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HF, VLLM = "hf[toybox-mllm]", "vllm[toybox-mllm]"
CASES = (
    "realbirdid/sample-drawn/ and (species or free_form)",
    "toybox/sample-cutouts/ and ((closed_world and not plus) or posterior)",
    "sample-coco/ and existence",
)
IN_WORDS, BY_SCORES = ("closed_world", "existence", "free_form"), ("posterior", "species")
ORDERS = "--eye-set=closed_world.prompt_order=all"
SERVED = re.compile(
    r"sample-coco/vllm\[toybox-mllm\] \((\w+)\): [\d,]+ requests, [\d,]+ prompt tokens, (\d+)% from cache"
)
Record = dict[str, Any]


@dataclass(frozen=True)
class EngineRuns:
    """One session that asks a model through transformers and through vLLM, and what it printed.

    The cases are named after their protocols, those of closed world after the order of the prompt, too.
    """

    folder: Path
    records: Mapping[tuple[str, str], Record]
    printed: str

    def rows(self, model: str, case: str) -> list[str]:
        """Return the lines of a case's sample table."""
        path = self.folder / self.records[model, case]["predictions"]["path"]
        return path.read_text(encoding="utf-8").splitlines()


def named(record: Record) -> str:
    order = record["variant"].get("prompt_order", "")
    return f"{record['protocol']} {order}" if record["protocol"] == "closed_world" else str(record["protocol"])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, warm_vllm: Sequence[str]) -> EngineRuns:
    """Ask the packaged model through both engines."""
    folder = tmp_path_factory.mktemp("engines")
    command = [*warm_vllm, "-m", "pytest", "--pyargs", "eyechart.benchmarks", "--eye-offline", "-p", "no:cacheprovider"]
    command += [f"--eye-model={HF}", f"--eye-model={VLLM}", "--eye-limit=5", ORDERS]
    command += ["-k", " or ".join(f"({case})" for case in CASES)]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    latest = folder / "reports" / "runs" / "latest"
    records = json.loads((latest / "records.json").read_bytes())["records"]
    return EngineRuns(latest, {(each["model"]["spec"], named(each)): each for each in records}, done.stdout)


def numbers(record: Record) -> list[float | None]:
    return [number for each in record["metrics"] for number in (each["value"], *(each["ci"] or ()))]


def metrics(record: Record) -> list[tuple[Any, ...]]:
    facts = ("name", "labels", "subset", "level", "prompt", "n", "ci_method")
    return [tuple(each[fact] for fact in facts) for each in record["metrics"]]


def test_both_engines_are_asked_the_same(runs: EngineRuns) -> None:
    cases = {case for _, case in runs.records}
    assert {*runs.records} == {(model, case) for model in (HF, VLLM) for case in cases}
    assert {case.partition(" ")[0] for case in cases} == {*IN_WORDS, *BY_SCORES}
    assert len(cases) == 6  # closed world in two orders


def test_the_records_have_the_same_numbers(runs: EngineRuns) -> None:
    for case in {case for _, case in runs.records}:
        hf, vllm = (runs.records[model, case] for model in (HF, VLLM))
        for same in ("outcomes", "data", "variant"):
            assert vllm[same] == hf[same]
        assert vllm["outcomes"]["error"] == 0
        assert metrics(vllm) == metrics(hf)
        assert numbers(vllm) == pytest.approx(numbers(hf), abs=1e-4)  # as log-probabilities are
        assert vllm["model"]["weights_sha256"] == hf["model"]["weights_sha256"]


def test_they_said_the_same_about_every_image_in_as_many_tokens(runs: EngineRuns) -> None:
    in_words = {case for _, case in runs.records if case.startswith(IN_WORDS)}
    assert len(in_words) == 4
    for case in in_words:
        said = runs.rows(HF, case)
        assert runs.rows(VLLM, case) == said
        assert len(said) > 5
        hf, vllm = (runs.records[model, case]["usage"] for model in (HF, VLLM))
        for same in ("requests", "prompt_tokens", "answer_tokens"):
            assert vllm[same] == hf[same] > 0
        assert hf["cached_tokens"] == 0


def test_the_share_from_the_cache_is_printed(runs: EngineRuns) -> None:
    (printed,) = SERVED.findall(runs.printed)
    took = runs.records[VLLM, "existence"]["usage"]
    share = round(100 * took["cached_tokens"] / took["prompt_tokens"])
    assert printed == ("existence", str(share))
    assert share > 0


def test_the_class_list_is_read_once_where_it_comes_first(runs: EngineRuns) -> None:
    usages = {order: runs.records[VLLM, f"closed_world {order}"]["usage"] for order in ("text-first", "image-first")}
    shares = {order: usage["cached_tokens"] / usage["prompt_tokens"] for order, usage in usages.items()}
    assert shares["text-first"] > 2 * shares["image-first"]
