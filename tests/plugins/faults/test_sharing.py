"""Several processes, several protocols, several pictures a request: each request is paid once, each answer is found."""

import json
import math
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytestmark = pytest.mark.deep

PICTURES, IMAGES = 18, 5
NAME = "toy-2026-01-01"  # as the server calls itself
CHOICES = (
    *(f"--eye-set={name}.images_per_request={IMAGES}" for name in ("closed_world", "closed_world_plus")),
    *(f"--eye-set={name}.structured_output=enforced" for name in ("closed_world", "closed_world_plus")),
    "--eye-set=closed_world_plus.mapping=inclusion",
)


@pytest.fixture(scope="module")
def shared(new_exam: Callable[..., Any]) -> Any:
    """After the closed world and CW+ in two processes, which want the same answers at the same time."""
    exam = new_exam(served=NAME)
    exam.cases = "closed_world and imagenet/tiny/"
    exam.server.always = exam.server.reply(after=0.2)
    exam.passes("-n", "2", "--dist=worksteal", *CHOICES)
    exam.records = {record["protocol"]: record for record in exam.world.records}
    return exam


def test_two_processes_and_two_protocols_pay_once(shared: Any) -> None:
    assert len(shared.server.asked) == len(shared.paid) == math.ceil(PICTURES / IMAGES)
    assert {*shared.paid.values()} == {1}
    assert sorted(shared.records) == ["closed_world", "closed_world_plus"]


def test_both_records_have_what_the_server_counted(shared: Any) -> None:
    for record in shared.records.values():
        served = record["usage"]
        assert (served["prompt_tokens"], served["cached_tokens"], served["answer_tokens"]) == shared.server.tokens
        assert (served["requests"], served["cost"]) == (len(shared.paid), None)


def test_the_schema_arrives_with_a_key_for_each_picture(shared: Any) -> None:
    for asked in shared.server.asked:
        told = asked.body["response_format"]
        keys = [str(index) for index in range(1, len(asked.pictures) + 1)]
        assert (told["type"], told["json_schema"]["strict"]) == ("json_schema", True)
        assert told["json_schema"]["schema"]["required"] == keys
    assert sorted(len(asked.pictures) for asked in shared.server.asked) == [3, 5, 5, 5]


@pytest.mark.parametrize("protocol", ["closed_world", "closed_world_plus"])
def test_every_picture_has_the_answer_under_its_key(shared: Any, protocol: str) -> None:
    own = {picture: said for asked in shared.server.asked for picture, said in answers(shared, asked)}
    for row in shared.rows(shared.records[protocol]):
        (path,) = shared.world.data.glob(f"imagenet/tiny/*/{Path(row['key']).name}*")
        assert row["response"] == own[seen(path)]


def answers(exam: Any, asked: Any) -> list[tuple[str, str]]:
    said = json.loads(exam.server.answer(asked))
    return [(picture, said[str(index)]) for index, picture in enumerate(asked.pictures, 1)]


def seen(path: Path) -> str:
    return sha256(Image.open(path).convert("RGB").tobytes()).hexdigest()


def test_a_request_that_fails_is_the_error_of_all_its_pictures(exam: Any) -> None:
    exam.cases = "test_closed_world and not plus and imagenet/tiny/"
    exam.options, exam.server.plan = {"concurrency": 1}, {1: [exam.server.refusal(400, "no", "content_filter")]}
    exam.passes(*CHOICES, f"--eye-max-errors={IMAGES}")
    (shown,) = (len(one.pictures) for one in exam.server.asked if one.content == [*exam.asked][1])
    errors = [row["request"] for row in exam.rows() if row["error"] == "content filter: no"]
    assert (len(errors), len({*errors})) == (shown, 1)
    assert exam.record["outcomes"]["error"] == shown
    whole = [metric for metric in exam.record["metrics"] if metric["name"] in ("acc1", "oop")]
    assert {metric["n"] for metric in whole} == {PICTURES - shown}
