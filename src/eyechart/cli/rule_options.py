"""The options of commands that compare: significance level, tolerated loss, margin, and what is gated."""

from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from eyechart.commands.parameters import PATH, ParsedBy

ALPHA = 0.01  # of the gate
OF_RULE = ("alpha", "max_drop", "margin", "gates", "policy")  # the parameters of `rule_options`


def alpha_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option for a significance level."""
    parsed = ParsedBy("eyechart.reports.comparison.verdict_cells:parse_alpha")
    return click.option("--alpha", metavar="P", type=parsed, default=ALPHA, show_default=True, help=text)


def refuse_rule_options(context: click.Context, needs: str, used: Collection[str] = ()) -> None:
    """Refuse the options of the rule on the command line where nothing is compared, but for the `used` parameters.

    Raises click.UsageError with the first of them and with what a comparison `needs`.
    """
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if name in OF_RULE and name not in used and given:
            raise click.UsageError(
                f"{parameter.opts[0]} is about a comparison, and nothing is compared. {needs}, or leave it out.",
                context,
            )


def rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the gate's rule to a command, which gets the `Rule` as its argument `rule`."""

    @alpha_option("Significance level of adjusted p-values, as --eye-alpha.")
    @click.option(
        "--max-drop",
        metavar="SHARE",
        type=ParsedBy("eyechart.gate.verdicts.decide:parse_share"),
        default=0.0,
        show_default=True,
        help="Largest tolerated loss, a fraction below 0.5, as --eye-max-drop.",
    )
    @click.option(
        "--margin",
        metavar="SHARE",
        type=ParsedBy("eyechart.gate.verdicts.decide:parse_margin"),
        help="Smallest loss that must be excluded, a fraction below 0.5, as --eye-margin.",
    )
    @click.option(
        "--gate",
        "gates",
        metavar="KINDS",
        type=ParsedBy("eyechart.gate.verdicts.decide:parse_gates"),
        default="accuracy",
        show_default=True,
        help="Kinds of metrics whose regression is one of the whole: accuracy, score; as --eye-gate.",
    )
    @click.option(
        "--policy",
        metavar="FILE",
        type=PATH,
        help="TOML file with tiers, margins and tolerated losses of some metrics, and floors, as --eye-policy.",
    )
    @wraps(command)
    def with_rule(
        *arguments: Any,
        alpha: float,
        max_drop: float,
        margin: float | None,
        gates: tuple[str, ...],
        policy: Path | None,
        **others: Any,
    ) -> Any:
        from eyechart.gate.policy.tiers import NO_POLICY, read_policy
        from eyechart.gate.verdicts.decide import Rule

        limits = NO_POLICY if policy is None else read_policy(policy)
        return command(*arguments, rule=Rule(alpha, max_drop, margin, gates, limits), **others)

    return with_rule
