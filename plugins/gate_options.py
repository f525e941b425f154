"""The options of the gate: the rule of a comparison, and checks of options that contradict one another."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from eyechart.errors import EyechartError
from eyechart.gate.policy.floors import parse_floor
from eyechart.gate.policy.tiers import NO_POLICY, Policy, read_policy
from eyechart.gate.verdicts.decide import Rule, parse_gates, parse_margin, parse_share
from eyechart.protocol.options import is_fraction

from .options import get_option
from .settings import read_suite_options

MAX_ALPHA = 0.5
T = TypeVar("T")


def read_rule(config: pytest.Config) -> Rule:
    """Return the significance level, the tolerated loss, the margin and the policy of the gate."""
    return Rule(
        alpha=_read_fraction(config, "alpha"),
        max_drop=_read_parsed(config, "max-drop", parse_share),
        margin=_read_parsed(config, "margin", parse_margin) if get_option(config, "margin") else None,
        gates=_read_parsed(config, "gate", parse_gates),
        policy=_read_session_policy(config),
    )


def _read_fraction(config: pytest.Config, name: str) -> float:
    """Return the value of an option as a number from 0 to 1."""
    value = str(get_option(config, name))
    if not is_fraction(value):
        raise pytest.UsageError(f"--eye-{name} takes numbers from 0 to 1. Got {value!r} instead.")
    return float(value)


def _read_parsed(config: pytest.Config, name: str, parse: Callable[[str], T]) -> T:
    """Return the parsed value of an option. Raises UsageError for a wrong one."""
    try:
        return parse(str(get_option(config, name)))
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-{name} {error}") from error


def _read_session_policy(config: pytest.Config) -> Policy:
    """Return the policy of `--eye-policy`, an empty one without it."""
    if not (path := get_option(config, "policy")):
        return NO_POLICY
    try:
        policy = read_policy(config.invocation_params.dir / path)
        for text in policy.floors:
            parse_floor(text)
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-policy: {error}") from error
    return policy


def check_gate(config: pytest.Config) -> None:
    """Refuse impossible options of the comparison, and options of the comparison in a session without one."""
    if config.getoption("eye_baseline") == "":
        raise pytest.UsageError("--eye-baseline names nothing. Name a folder or file of baselines, or leave it out.")
    if not 0 < _read_fraction(config, "alpha") < MAX_ALPHA:
        raise pytest.UsageError(
            f"--eye-alpha must be above 0 and below {MAX_ALPHA}. Got {get_option(config, 'alpha')} instead."
        )
    read_rule(config)
    if get_option(config, "sequential") and get_option(config, "limit"):
        raise pytest.UsageError("--eye-sequential sets how many images are asked. Leave out --eye-limit.")
    limited = [name for name, options in read_suite_options(config).items() if "limit" in options]
    if get_option(config, "sequential") and limited:
        raise pytest.UsageError(
            f"--eye-sequential sets how many images are asked, and --eye-preset={get_option(config, 'preset')} limits "
            f"{', '.join(limited)}. Leave out one of them."
        )
    compares = get_option(config, "baseline") and not get_option(config, "update-baseline")
    if config.getoption("eye_policy") and not compares and not _read_session_policy(config).floors:
        raise pytest.UsageError(
            "--eye-policy has rules on a comparison and no floors, and this session makes no comparison. Name "
            "baselines with --eye-baseline, without --eye-update-baseline, or leave it out."
        )
    only = ["max-drop", "margin", "gate", "sequential"] + ["alpha"] * (not get_option(config, "power"))
    for name in () if compares else only:
        if config.getoption(f"eye_{name.replace('-', '_')}") is not None:
            raise pytest.UsageError(
                f"--eye-{name} is about a comparison, and this session makes none. Name baselines with --eye-baseline, "
                "without --eye-update-baseline, or leave it out."
            )
