"""An option registers its own part of the plugin and no other one, and `--eye-offline` is said to other libraries."""

import os

import pytest

from eyechart.plugins.registration import OFFLINE

SCORED = {"eyechart-summary", "eyechart-gate", "eyechart-recorder", "eyechart-cases"}


def registered(config: pytest.Config) -> set[str]:
    """The parts of a session."""
    return {name for name, _ in config.pluginmanager.list_name_plugin() if name.startswith("eyechart-")}


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--eye-sequential", "--eye-baseline=kept"), "eyechart-sequential"),
        (("--eye-shard=2/3",), "eyechart-shard"),
        (("--eye-answer",), "eyechart-only-answers"),
        (("--eye-summary=summary.md",), "eyechart-summary-file"),
        (("--eye-verdicts=verdicts.json", "--eye-baseline=kept"), "eyechart-verdicts-file"),
    ],
)
def test_an_option_registers_its_own_part_alone(pytester: pytest.Pytester, options: tuple[str, ...], part: str) -> None:
    usual = registered(pytester.parseconfigure("--eye-seed=1"))
    assert usual >= SCORED
    assert registered(pytester.parseconfigure(*options)) - usual == {part}


@pytest.mark.parametrize(("option", "said"), [("--eye-seed=1", {"0"}), ("--eye-offline", {"1"})])
def test_libraries_that_download_are_told_to_stay_offline(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, option: str, said: set[str]
) -> None:
    for name in OFFLINE:
        monkeypatch.setenv(name, "0")
    pytester.parseconfigure(option)
    assert {os.environ[name] for name in OFFLINE} == said
