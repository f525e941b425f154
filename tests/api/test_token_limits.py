"""How long an answer may be: an option of every protocol of text, part of requests, cases and records."""

from collections.abc import Callable
from pathlib import Path

import pytest

import eyechart
from eyechart.errors import SpecError
from eyechart.protocol.options import MAX_TOKENS
from eyechart.protocol.registry import get_protocol, protocol_targets
from eyechart.results.records import Record, read_run

pytestmark = pytest.mark.deep

Evaluate = Callable[..., eyechart.EvaluationRun]
CUTOUTS, SCENES, BIRDS = "toybox/sample-cutouts", "oodbench/sample-coco", "realbirdid/sample-drawn"
USUAL = {  # the most tokens of an answer by default, and the split that is asked about
    "mcq": (32, CUTOUTS),
    "closed_world": (64, CUTOUTS),
    "closed_world_plus": (64, CUTOUTS),
    "open_world": (64, CUTOUTS),
    "multiple_choice": (32, CUTOUTS),
    "existence": (64, SCENES),
    "progression": (64, SCENES),
    "free_form": (256, BIRDS),
    "abstention": (256, BIRDS),
}
FEW = {
    "closed_world_plus": {"mapping": "inclusion"},
    "open_world": {"mapping": "inclusion"},
    "multiple_choice": {"epochs": 1},
    "existence": {"detectors": "open_clip[toybox-clip]", "max_pairs": 2},
    "progression": {"detectors": "open_clip[toybox-clip]", "max_pairs": 2},
    "free_form": {"extraction": "inclusion"},
    "abstention": {"extraction": "inclusion", "prompts_per_level": 1},
}


def record_of(run: eyechart.EvaluationRun) -> Record:
    (record,) = read_run(run.folder).records
    return record


def test_every_protocol_of_text_has_the_option() -> None:
    assert {name for name in protocol_targets() if MAX_TOKENS in get_protocol(name).options} == {*USUAL}


@pytest.mark.parametrize("protocol", USUAL)
def test_the_limit_is_in_the_request_the_case_and_the_record(evaluate: Evaluate, tmp_path: Path, protocol: str) -> None:
    usual, split = USUAL[protocol]
    how = {"protocol": protocol, "limit": 2, "store": tmp_path / "store"}
    by_default = record_of(evaluate("hf[toybox-mllm]", split, options=FEW.get(protocol, {}), **how))
    assert by_default.variant["max_tokens"] == "auto"
    assert by_default.usage is not None
    assert by_default.usage.max_tokens == usual
    assert "max_tokens" not in by_default.case
    cut = record_of(evaluate("hf[toybox-mllm]", split, options={**FEW.get(protocol, {}), "max_tokens": 1}, **how))
    assert cut.variant["max_tokens"] == "1"
    assert cut.usage is not None
    assert cut.usage.max_tokens == 1
    assert "max_tokens=1" in cut.case
    assert cut.outcomes.truncated > by_default.outcomes.truncated == 0


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_limit_that_is_no_number_is_a_sentence(evaluate: Evaluate, value: str) -> None:
    with pytest.raises(SpecError, match=f"takes whole numbers from 1 up and auto. Got '{value}' instead"):
        evaluate("hf[toybox-mllm]", CUTOUTS, protocol="mcq", options={"max_tokens": value})
