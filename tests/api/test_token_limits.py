"""How long an answer may be: an option of every protocol of text, part of requests, cases and records."""

from collections.abc import Callable
from pathlib import Path

import pytest
from golden_compare import read_golden

import eyechart
from eyechart.errors import SpecError
from eyechart.protocol.options import MAX_TOKENS
from eyechart.protocol.registry import get_protocol, list_protocols
from eyechart.results.records import Record, read_run

pytestmark = pytest.mark.deep

Evaluate = Callable[..., eyechart.EvaluationRun]
SPLITS = {
    "imagenet": "toybox/sample-cutouts",
    "oodbench": "oodbench/sample-coco",
    "realbirdid": "realbirdid/sample-drawn",
}
FEW = {  # options of some protocols, with which a case asks little
    "detectors": "open_clip[toybox-clip]",
    "epochs": 1,
    "extraction": "inclusion",
    "mapping": "inclusion",
    "max_pairs": 2,
    "prompts_per_level": 1,
}
LIMITED = [name for name in list_protocols() if MAX_TOKENS in get_protocol(name).options]
PACKAGED = [name for name in LIMITED if name != "questions"]  # which has no packaged data


def record_of(run: eyechart.EvaluationRun) -> Record:
    (record,) = read_run(run.folder).records
    return record


def usual_limits(protocol: str) -> set[int]:
    """The most tokens of an answer by default, in the golden files."""
    records = read_golden("main/records.json").items()
    return {record["usage"]["max_tokens"] for name, record in records if name.endswith(f" {protocol}")}


def test_every_protocol_of_text_has_the_option() -> None:
    assert [name for name in list_protocols() if get_protocol(name).answers_in_text] == LIMITED


@pytest.mark.parametrize("protocol", PACKAGED)
def test_the_limit_is_in_the_request_the_case_and_the_record(evaluate: Evaluate, tmp_path: Path, protocol: str) -> None:
    split = SPLITS[get_protocol(protocol).benchmarks[0]]
    how = {"protocol": protocol, "limit": 2, "store": tmp_path / "store"}
    few = {option.name: FEW[option.name] for option in get_protocol(protocol).options if option.name in FEW}
    by_default = record_of(evaluate("hf[toybox-mllm]", split, options=few, **how))
    assert by_default.variant["max_tokens"] == "auto"
    assert by_default.usage is not None
    assert {by_default.usage.max_tokens} == usual_limits(protocol)
    assert "max_tokens" not in by_default.case
    cut = record_of(evaluate("hf[toybox-mllm]", split, options={**few, "max_tokens": 1}, **how))
    assert cut.variant["max_tokens"] == "1"
    assert cut.usage is not None
    assert cut.usage.max_tokens == 1
    assert "max_tokens=1" in cut.case
    assert cut.outcomes.truncated > by_default.outcomes.truncated == 0


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_limit_that_is_no_number_is_a_sentence(evaluate: Evaluate, value: str) -> None:
    with pytest.raises(SpecError, match=f"takes whole numbers from 1 up and auto. Got '{value}' instead"):
        evaluate("hf[toybox-mllm]", SPLITS["imagenet"], protocol="mcq", options={"max_tokens": value})
