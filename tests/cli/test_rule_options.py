"""Options of commands that compare: they make the rule that a session makes of the same options."""

import click
import pytest

from eyechart.cli import main
from eyechart.cli.rule_options import rule_options
from eyechart.gate.verdicts.decide import DEFAULT_RULE, Rule
from eyechart.plugins.gate_options import read_rule

POLICY = 'floors = ["imagenet/val:acc1>=0.5"]\n[[rules]]\nmetric = "ece"\ntier = "advisory"\n'


@click.command()
@click.argument("run")
@rule_options
def judge(run: str, rule: Rule) -> tuple[str, Rule]:
    """Return what the command gets."""
    return run, rule


def rule_of(*options: str) -> Rule:
    run, rule = judge([*options, "there"], standalone_mode=False)
    assert run == "there"
    assert isinstance(rule, Rule)
    return rule


def test_without_options_the_rule_is_that_of_the_gate() -> None:
    assert rule_of() == DEFAULT_RULE


@pytest.mark.parametrize(
    "options", [(), ("alpha=0.05", "max-drop=0.02"), ("margin=0.03", "gate=score,accuracy"), ("policy=limits.toml",)]
)
def test_the_rule_is_that_of_a_session_with_these_options(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    (pytester.path / "limits.toml").write_text(POLICY, encoding="utf-8")
    rule = rule_of(*(f"--{option}" for option in options))
    assert rule == read_rule(pytester.parseconfig(*(f"--eye-{option}" for option in options)))
    assert (rule == DEFAULT_RULE) == (not options)


@pytest.mark.parametrize("alpha", ["0", "1", "x", "0.05,0.01"])
def test_what_is_no_level_is_refused(alpha: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", "run", "--alpha", alpha]) == 2
    assert "--alpha" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "refused"),
    [
        (["explain", "run", "case", "--margin=0.01"], "--margin"),
        (["explain", "run", "case", "--alpha=0.05"], "--alpha"),
        (["page", "run", "--max-drop=0.01"], "--max-drop"),
        (["page", "run", "--alpha=0.05", "--gate=score"], "--gate"),  # the level is that of the ranks, too
    ],
)
def test_an_option_of_a_comparison_is_refused_where_nothing_is_compared(
    command: list[str], refused: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    said = capsys.readouterr().err
    assert f"{refused} is about a comparison, and nothing is compared. Name the other side with --baseline" in said
    for compared in ([*command, "--baseline=gone"], *([["page", "gone", *command[1:]]] if "page" in command else ())):
        assert main(compared) == 2
        assert "is about a comparison" not in capsys.readouterr().err
