"""A preset sets options of the suite for single protocols; the command line replaces them, and errors are sentences."""

from typing import Any

import pytest

from eyechart.plugins.settings import describe_ineffective_options, get_settings, read_suite_options

pytestmark = pytest.mark.deep

MINE = '[zero_shot]\nlimit = 2\ntemplates = "1"\nnames = "kisel"\n'


@pytest.fixture
def mine(world: Any) -> Any:
    """A world with a preset for zero-shot classification alone."""
    (world.folder / "mine.toml").write_text(MINE, encoding="utf-8")
    return world


def facts(world: Any) -> dict[str, tuple[Any, int]]:
    """Limit and number of images of each case by its protocol."""
    return {record["protocol"]: (record["limit"], record["data"]["n"]) for record in world.records}


def test_a_preset_limits_one_protocol(mine: Any) -> None:
    mine.passes(*mine.usual, "--eye-preset=mine.toml")
    found = facts(mine)
    assert found["zero_shot"] == (2, 2)
    limit, images = found["supervised"]
    assert (limit, images > 2) == (None, True)
    variants = {record["protocol"]: record["variant"] for record in mine.records}
    assert variants["zero_shot"]["names"].startswith("kisel")
    assert variants["zero_shot"]["templates"].startswith("1")


def test_the_command_line_replaces_the_limit_of_a_preset(pytester: pytest.Pytester) -> None:
    (pytester.path / "mine.toml").write_text(MINE, encoding="utf-8")
    preset = "--eye-preset=mine.toml"
    assert read_suite_options(pytester.parseconfig(preset))["zero_shot"]["limit"] == "2"
    replaced = pytester.parseconfig(preset, "--eye-limit=3")
    assert "limit" not in read_suite_options(replaced)["zero_shot"]
    assert get_settings(replaced).limit == 3


def test_a_preset_sets_options_of_the_models_that_have_them(pytester: pytest.Pytester) -> None:
    (pytester.path / "mine.toml").write_text('[model]\ndtype = "bfloat16"\n', encoding="utf-8")
    models = ("hf[toybox-mllm]", "mine=hf[toybox-mllm,dtype=float16]", "conse[]", "replay[path=a.csv]")
    config = pytester.parseconfig("--eye-preset=mine.toml", *(f"--eye-model={model}" for model in models))
    assert [(model.name, model.options.get("dtype")) for model in get_settings(config).models] == [
        ("hf[toybox-mllm,dtype=bfloat16]", "bfloat16"),
        ("mine", "float16"),
        ("conse[dtype=bfloat16]", "bfloat16"),
        ("replay[path=a.csv]", None),
    ]
    (line,) = describe_ineffective_options(config)
    assert line == (
        "eyechart: the preset mine.toml sets dtype=bfloat16, an option that replay[path=a.csv] does not have"
    )


@pytest.mark.parametrize(
    ("text", "more", "sentence"),
    [
        (MINE, ("--eye-baseline=kept", "--eye-sequential"), "--eye-preset=mine.toml limits zero_shot"),
        ('[zero_shoot]\nnames = "mill"\n', (), r"[zero_shoot]"),
        ('[zero_shot]\nnames = "mil"\n', (), "did you mean mill"),
        ('[zero_shot]\nlimit = "few"\n', (), "the limit in [zero_shot] must be a whole number"),
        ('[zero_shot]\ncolour = "red"\n', (), "there is no such option"),
        ('include = ["papers"]\n', (), "did you mean paper"),
    ],
)
def test_a_preset_that_cannot_be_used_is_refused(
    pytester: pytest.Pytester, text: str, more: tuple[str, ...], sentence: str
) -> None:
    (pytester.path / "mine.toml").write_text(text, encoding="utf-8")
    result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", "--eye-preset=mine.toml", *more)
    said = "\n".join([*result.outlines, *result.errlines])
    assert result.ret == pytest.ExitCode.USAGE_ERROR, said
    assert sentence in said
    assert "Traceback" not in said
