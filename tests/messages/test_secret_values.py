"""Keys and passwords in texts: none is left, and nothing else is hidden."""

import pytest

from eyechart.errors import SpecError
from eyechart.messages.secret_values import hide_secrets
from eyechart.models.registry import find_backend
from eyechart.models.spec import parse_spec

KEY = "sk-proj-livesecret9876"


@pytest.mark.parametrize(
    "text",
    [
        f"pytest --eye-model=u=openai[m,api_key={KEY},base_url=http://127.0.0.1:9/v1]",
        f"pytest '--eye-model=openai[{KEY}]'",
        f"pytest --eye-remote=s3://me:{KEY}@bucket/answers",
        f"pytest --eye-remote=https://host/store?sv=1&sig={KEY}&se=2",
        f"pytest --eye-remote=https://host/store?X-Amz-Signature={KEY}",
        f"pytest --eye-remote=https://host/store?token={KEY}",
        f"pytest --api-key {KEY}",
        f"OPENAI_API_KEY={KEY} pytest",
        f"headers={{'Authorization': 'Bearer {KEY}'}}",
        f'{{"access_token": "{KEY}", "n": 1}}',
        f"password: {KEY}",
        "hf_abcdefghijklmnopqrstuv livesecret9876"[:25],
        "AKIAABCDEFGHIJKLMNOP",
        "xai-abcdefghijklmnopqrstuvwxyz",
        "r8_abcdefghijklmnopqrstuvwxyz",
        "tgp_v1_abcdefghijklmnopqrstuvwxyz",
        "glpat-abcdefghijklmnopqrst",
        f"pwd={KEY}",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "AIzaSyA-abcdefghijklmnopqrstuvwxyz012",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2ln",
    ],
)
def test_no_key_is_left(text: str) -> None:
    hidden = hide_secrets(text)
    assert "…" in hidden
    for part in ("livesecret", "abcdefghij", "ABCDEFGHIJ", "eyJ"):
        assert part not in hidden


@pytest.mark.parametrize(
    "text",
    [
        "pytest --pyargs eyechart.benchmarks -k 'imagenet/sample and not task-secretary' --eye-limit=10/class",
        "pytest --eye-model=openai[gpt-5,key_env=MY_KEY,max_tokens=16,base_url=http://127.0.0.1:9/v1]",
        "pytest --eye-model=hf[Qwen/Qwen3-VL-2B-Instruct,budget_tokens=9] --eye-remote=s3://bucket/a",
        "eyechart.evaluate('open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]', <list>)",
    ],
)
def test_nothing_else_is_hidden(text: str) -> None:
    assert hide_secrets(text) == text


@pytest.mark.parametrize("spec", [f"openai[m,api_key={KEY}]", f"mine:M[{KEY}]", f"hf[a/b,x=https://u:{KEY}@h/]"])
def test_a_specification_with_a_key_is_refused_without_repeating_it(spec: str) -> None:
    with pytest.raises(SpecError, match="holds a key or a password, and would stand in every record") as error:
        find_backend(parse_spec(spec))
    assert "livesecret" not in str(error.value)
