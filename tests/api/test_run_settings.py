"""Defaults that stand in two places, so that one of them imports nothing slow, are equal."""

from dataclasses import replace
from inspect import signature

import pytest

import eyechart
from eyechart.api.run_settings import DEFAULTS, RunSettings
from eyechart.cli import rule_options
from eyechart.evaluation.settings import Settings
from eyechart.gate.verdicts.decide import ALPHA
from eyechart.plugins.options import get_option
from eyechart.plugins.settings import get_settings


@pytest.fixture
def config(pytester: pytest.Pytester) -> pytest.Config:
    """The configuration of a session without any option."""
    return pytester.parseconfig()


def test_the_options_of_pytest_have_the_defaults_of_the_settings(config: pytest.Config) -> None:
    settings, here = get_settings(config), config.invocation_params.dir
    assert settings == replace(Settings(), models=settings.models, out=here / Settings.out, store=here / Settings.store)


def test_evaluate_has_the_defaults_of_the_settings() -> None:
    parameters_of_evaluate = signature(eyechart.evaluate).parameters
    for name in ("limit", "seed", "max_errors"):
        assert parameters_of_evaluate[name].default == getattr(Settings, name), name
    for name in ("templates", "store", "out", "remote", "offline", "ray"):
        assert DEFAULTS[name] == getattr(Settings, name), name
    assert {*DEFAULTS} == {*RunSettings.__annotations__}


def test_the_command_line_has_the_level_of_the_gate(config: pytest.Config) -> None:
    assert float(get_option(config, "alpha")) == rule_options.ALPHA == ALPHA
