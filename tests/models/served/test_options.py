"""The options of models behind servers: what is refused, what is no secret, and what changes an answer."""

import pytest

from eyechart.errors import ModelError, SpecError
from eyechart.models.served.openai import OpenAiGenerator
from eyechart.models.spec import parse_spec

LOCAL = "base_url=http://localhost:1/v1"
REFUSED = {
    "api_key=sk-123": "has api_key. Keys come from the environment alone: export OPENAI_API_KEY",
    "apikey=sk-123": "has apikey. Keys come from the environment",
    "token=sk-123": "has token. Keys come from the environment",
    "key_env=sk-123": "key_env that names no environment variable",
    "base_url=https://me:sk-123@host/v1": "user name, a query or a fragment",
    "base_url=https://host/v1?api-key=sk-123": "user name, a query or a fragment",
    "base_url=localhost:8000": "Expected one like http://localhost:8000/v1",
    "concurrency=0": "concurrency=0. Expected a whole number of at least 1",
    "timeout=0": "Expected a number above 0",
    "timeout=nan": "timeout=nan. Expected a number",
    "backoff=-1": "backoff=-1. Expected a number of at least 0",
    "budget=5": "needs both price_in and price_out",
    "price_in=5": "needs both price_in and price_out",
    "budget_tokens=few": "budget_tokens=few. Expected a whole number",
    "reasoning=yes": "reasoning=yes. Expected true or false",
    "seeds=1": "did you mean seed or served?",
}


@pytest.mark.parametrize(("option", "sentence"), REFUSED.items(), ids=list(REFUSED))
def test_options_are_checked_and_no_secret_is_repeated(option: str, sentence: str) -> None:
    with pytest.raises(SpecError) as error:
        OpenAiGenerator(parse_spec(f"openai[toy,{option}]"))
    assert sentence in str(error.value)
    assert "sk-123" not in str(error.value)


def test_a_specification_names_a_model() -> None:
    with pytest.raises(SpecError, match=r"names no model\. Expected openai\[MODEL\]"):
        OpenAiGenerator(parse_spec("openai[]"))


@pytest.mark.parametrize("url", ["", "base_url=https://example.org/v1", "base_url=http://10.0.0.1/v1"])
def test_offline_nobody_elsewhere_is_asked(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-123")
    model = OpenAiGenerator(parse_spec(f"openai[toy,{url}]"), offline=True)
    with pytest.raises(ModelError, match=r"--eye-offline allows connections to this machine alone"):
        _ = model.identity


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.2/v1", True),
        ("http://[::1]:80/v1", True),
        ("http://localhost.example.org/v1", False),
        ("http://127.0.0.1.example.org/v1", False),
        ("https://example.org/localhost", False),
    ],
)
def test_this_machine_is_told_from_others(url: str, local: bool) -> None:
    assert OpenAiGenerator(parse_spec(f"openai[toy,base_url={url}]")).options.is_local is local


def test_without_a_key_only_this_machine_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match=r"no API key for https://api\.openai\.com/v1: .* MY_KEY is not set"):
        _ = OpenAiGenerator(parse_spec("openai[toy,key_env=MY_KEY]")).identity
    assert OpenAiGenerator(parse_spec(f"openai[toy,{LOCAL}]")).options.key() == "none"


@pytest.mark.parametrize(
    "option", ["seed=1", "seed=none", "reasoning=true", "served=other", "revision=2", "base_url=http://localhost:2/v1"]
)
def test_what_changes_an_answer_is_in_the_identity(option: str) -> None:
    plain, other = (parse_spec(f"openai[toy,{text}]") for text in (f"served=toy,{LOCAL}", option))
    plain.options.update(other.options)
    assert OpenAiGenerator(plain).identity != OpenAiGenerator(parse_spec(f"openai[toy,served=toy,{LOCAL}]")).identity


@pytest.mark.parametrize("option", ["concurrency=2", "retries=0", "budget_tokens=9", "price_in=1,price_out=1"])
def test_what_changes_none_is_not(option: str) -> None:
    plain = f"openai[toy,served=toy,{LOCAL}"
    assert (
        OpenAiGenerator(parse_spec(f"{plain},{option}]")).identity == OpenAiGenerator(parse_spec(f"{plain}]")).identity
    )
