"""Every fault of a server in one run: what is said, what the record has, and what the next run asks."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytestmark = pytest.mark.deep

KEY = "sk-very-secret-0123456789"
PICTURES = 18
TOO_LONG = "This model's maximum context length is 512 tokens, yours has 900"


def passing(server: Any) -> list[list[Any]]:
    """Faults that a second attempt does away with."""
    return [
        [server.refusal(429, "slow down", retry_after="0.3")],
        [server.refusal(429, "slow down")],
        [server.refusal(500, "oh")],
        [server.reply(cut=True)],
        [server.reply(b'{"choices": [{"mess')],
    ]


LASTING = {  # what two attempts do not do away with, and how it is told
    "HTTP 503: overloaded, 2 times": lambda server: server.refusal(503, "overloaded"),
    "no answer within 4 seconds (timeout=…), 2 times": lambda server: server.reply(after=60),
    "the connection broke (ReadError), 2 times": lambda server: server.reply(cut=True),
    "the response cannot be read (": lambda server: server.reply(b'{"choices": [{"mess'),
}
KEPT = {  # what another attempt would not change
    "content filter: no [key] here": lambda server: server.refusal(400, f"no {KEY} here", "content_filter"),
    "content filter: the answer was withheld": lambda server: paid(server, finish_reason="content_filter"),
    f"context length: {TOO_LONG}. Serve the model with a longer context, or send less: a smaller "
    "--eye-set=PROTOCOL.max_tokens, smaller or fewer images": lambda server: server.refusal(400, TOO_LONG),
    "no answer: the server's list of choices is empty": lambda server: server.reply(paid_for(server) | {"choices": []}),
    "refusal: I can't": lambda server: paid(server, message={"content": None, "refusal": "I can't"}),
}


def paid(server: Any, **choice: object) -> Any:
    return server.reply(paid_for(server, **choice))


def paid_for(server: Any, **choice: object) -> Any:
    return server.good("a f", **choice) | {"usage": {"prompt_tokens": 400, "completion_tokens": 2}}


@pytest.fixture(scope="module")
def faulty(new_exam: Callable[..., Any]) -> Any:
    """After a run with every fault, which fails; `said` has its words and `first` its record."""
    exam = new_exam(price_in=2, price_cached=1, price_out=8, timeout=4)
    lasting = [[make(exam.server)] * 2 for make in LASTING.values()]
    kept = [[make(exam.server)] for make in KEPT.values()]
    exam.server.plan = dict(enumerate([*passing(exam.server), *lasting, *kept]))
    exam.said = exam.fails()
    exam.first, exam.first_rows, exam.first_asked = exam.record, exam.rows(), exam.fresh
    return exam


@pytest.fixture(scope="module")
def after(faulty: Any) -> Any:
    """After the next run, which allows for the errors that were kept."""
    faulty.then = faulty.passes(f"--eye-max-errors={len(KEPT)}")
    return faulty


@pytest.mark.parametrize("sentence", [*LASTING, *KEPT])
def test_each_error_is_one_sentence_beside_its_picture(faulty: Any, sentence: str) -> None:
    (row,) = [row for row in faulty.first_rows if sentence in row["error"]]
    assert (row["top1"], row["response"], row["ImGT.correct"]) == ("", "", "")
    assert row["error"].endswith(". The next run asks again") == (sentence in LASTING)
    assert f"  {row['key']}: {row['error']}\n" in faulty.said


def test_errors_are_counted_apart_and_are_no_wrong_answers(faulty: Any) -> None:
    errors = len(LASTING) + len(KEPT)
    outcomes = {**faulty.first["outcomes"]}
    refused = outcomes.pop("refused")  # two content filters and a refusal, which are among the errors
    assert (outcomes["error"], sum(outcomes.values()), refused) == (errors, PICTURES, 3)
    shares = [metric for metric in faulty.first["metrics"] if metric["name"] != "answered"]
    assert {metric["n"] for metric in shares} == {PICTURES - errors}


def test_every_other_picture_has_its_own_answer(faulty: Any) -> None:
    own = {asked.pictures[0]: faulty.server.answer(asked) for asked in faulty.server.asked if asked.pictures}
    good = [row for row in faulty.first_rows if not row["error"]]
    assert len(good) == PICTURES - len(LASTING) - len(KEPT)
    for row in good:
        (path,) = faulty.world.data.glob(f"imagenet/tiny/*/{Path(row['key']).name}*")
        assert row["response"] == own[seen(path)]


def seen(path: Path) -> str:
    return sha256(Image.open(path).convert("RGB").tobytes()).hexdigest()


def test_the_run_says_how_many_and_how_many_are_allowed(faulty: Any) -> None:
    assert "9 of 18 images ended in an error; --eye-max-errors allows 0. All other answers are kept" in faulty.said
    assert f"{KEY}" not in faulty.said


def test_what_passes_costs_no_error_and_nothing_is_asked_more_often_than_allowed(faulty: Any) -> None:
    attempts = sorted(faulty.first_asked.values())
    once, twice = PICTURES - 5 - len(LASTING), 5 + len(LASTING)
    assert attempts == [1] * once + [2] * twice
    assert {*faulty.paid.values()} == {1}


def test_the_next_run_asks_only_for_what_may_have_passed(after: Any) -> None:
    assert [*after.fresh.values()] == [1] * len(LASTING)
    assert {*after.paid.values()} == {1}
    assert f"{len(KEPT)} of 18 images ended in an error and are left out of every score" in after.then


def test_errors_that_another_attempt_would_not_change_are_kept(after: Any) -> None:
    errors = [row["error"] for row in after.rows() if row["error"]]
    assert sorted(errors) == sorted(KEPT)
    n = {metric["name"]: metric["n"] for metric in after.record["metrics"]}
    assert n.pop("answered") == PICTURES
    assert {*n.values()} == {PICTURES - len(KEPT)}


def test_after_faults_the_record_has_what_the_server_counted(after: Any) -> None:
    served = after.record["usage"]
    assert (served["prompt_tokens"], served["cached_tokens"], served["answer_tokens"]) == after.server.tokens


def test_no_file_holds_the_key(after: Any) -> None:
    files = [path for path in after.world.folder.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_wrong_key_is_one_request_and_one_sentence(exam: Any) -> None:
    exam.server.always = exam.server.refusal(401, f"Incorrect API key provided: {KEY}")
    exam.cases = "(mcq or open_world) and imagenet/tiny/"
    result = exam.run()
    result.assert_outcomes(failed=2)
    assert len(exam.server.asked) == 1
    told = "The server does not accept the API key (HTTP 401: Incorrect API key provided: [key]). Check the environment"
    assert result.stdout.str().count(told) == 2  # each case says why it has no score
    assert KEY not in result.stdout.str() + result.stderr.str()
    assert exam.world.store == {}
