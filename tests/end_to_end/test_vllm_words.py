"""The whole command through vLLM gives the numbers that it gives through transformers."""

import csv
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

HF, VLLM = "hf[toybox-mllm]", "vllm[toybox-mllm]"
WORDS = "mcq or closed_world or open_world or multiple_choice or posterior"


def put(folder: Path, chosen: str, *arguments: str) -> list[dict[str, Any]]:
    """Put a packaged split to models; the records."""
    options = [
        "--eye-limit=12",
        "--eye-set=multiple_choice.epochs=2",
        "--eye-offline",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    command = [sys.executable, "-m", "pytest", "--pyargs", "eyechart.benchmarks"]
    command += ["-k", f"toybox/sample-cutouts/ and ({chosen})", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    content = (folder / "reports" / "runs" / "latest" / "records.json").read_text(encoding="utf-8")
    records: list[dict[str, Any]] = json.loads(content)["records"]
    return records


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[tuple[str, str], dict[str, Any]]]:
    """A run of both engines, one after the other in one process, and its records by engine and protocol."""
    folder = tmp_path_factory.mktemp("both")
    records = put(folder, WORDS, f"--eye-model={HF}", f"--eye-model={VLLM}")
    return folder / "reports" / "runs" / "latest", {(each["model"]["spec"], each["protocol"]): each for each in records}


def named(record: dict[str, Any]) -> list[tuple[Any, ...]]:
    facts = ("name", "labels", "subset", "n", "ci_method")
    return [tuple(each[fact] for fact in facts) for each in record["metrics"]]


def numbers(record: dict[str, Any]) -> list[float | None]:
    return [number for each in record["metrics"] for number in (each["value"], *(each["ci"] or ()))]


PROTOCOLS = ("mcq", "closed_world", "closed_world_plus", "open_world", "multiple_choice", "posterior")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_records_have_the_same_numbers(both: Any, protocol: str) -> None:
    hf, vllm = (both[1][model, protocol] for model in (HF, VLLM))
    for same in ("outcomes", "data", "variant"):
        assert vllm[same] == hf[same]
    assert named(vllm) == named(hf)
    assert numbers(vllm) == pytest.approx(numbers(hf), abs=1e-4)  # as log-probabilities are
    assert (hf["model"]["weights_sha256"], hf["model"]["backend"]) == (vllm["model"]["weights_sha256"], "hf")


@pytest.mark.parametrize("protocol", PROTOCOLS[:-1])
def test_they_said_the_same_about_every_image(both: Any, protocol: str) -> None:
    said = [rows(both[0] / both[1][model, protocol]["predictions"]["path"]) for model in (HF, VLLM)]
    assert said[0] == said[1]
    assert len(said[0]) == 12 * (1 + (protocol == "multiple_choice"))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("protocol", PROTOCOLS[:-1])
def test_they_read_and_said_as_many_tokens(both: Any, protocol: str) -> None:
    hf, vllm = ({**both[1][model, protocol]["usage"], "cached_tokens": 0} for model in (HF, VLLM))
    assert vllm == hf


def test_the_class_list_is_read_once_where_it_comes_first(tmp_path: Path) -> None:
    choices = (
        "--eye-set=closed_world.prompt_order=all",
        "--eye-set=closed_world.structured_output=enforced",
        "--eye-set=closed_world.images_per_request=1,3",
    )
    found = put(tmp_path, "closed_world and not plus", f"--eye-model={VLLM}", *choices)
    cached = {
        (each["variant"]["images_per_request"], each["variant"]["prompt_order"]): share(each["usage"]) for each in found
    }
    assert all(cached[images, "text-first"] > 2 * cached[images, "image-first"] for images in "13")
    for record in found:
        assert record["outcomes"]["unparsed"] == record["outcomes"]["error"] == 0


def share(served: Mapping[str, int]) -> float:
    return served["cached_tokens"] / served["prompt_tokens"]
