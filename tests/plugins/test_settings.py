"""Tests of `eyechart.plugins.settings`."""

from typing import Any

import pytest

pytestmark = pytest.mark.deep


def refusal(result: pytest.RunResult) -> str:
    """What a refused run says: one sentence, and no traceback."""
    said = "\n".join([*result.outlines, *result.errlines])
    assert result.ret == pytest.ExitCode.USAGE_ERROR, said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    return said


@pytest.mark.parametrize(
    ("file", "text"),
    [("pytest.ini", "[pytest]\neye_modle = tiny[]"), ("pyproject.toml", "[tool.pytest.ini_options]\neye_modle = 1")],
)
def test_a_typo_in_the_ini_file_is_refused(pytester: pytest.Pytester, file: str, text: str) -> None:
    (pytester.path / file).write_text(text)
    said = refusal(pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks"))
    assert f"{file} is not an option of eyechart; did you mean eye_model" in said


def test_the_ini_file_is_heard_and_the_command_line_wins(world: Any) -> None:
    world.models = ()
    text = "[pytest]\neye_model =\n  tiny[]\n  tinyclass[]\neye_limit = 3\neye_seed = 5\neye_offline = true\n"
    (world.folder / "pytest.ini").write_text(text)
    world.passes("--eye-seed=6")
    assert [record["model"]["spec"] for record in world.records] == ["tiny[]", "tinyclass[]"] * 2
    assert {(record["limit"], record["seed"]) for record in world.records} == {(3, 6)}
