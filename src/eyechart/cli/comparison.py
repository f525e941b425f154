"""`eyechart compare`, `baseline`, `leaderboard` and `clusters`: differences of runs, models and groups of images."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eyechart.cli import PROGRAM
from eyechart.cli.reports import print_tables
from eyechart.cli.rule_options import alpha_option, rule_options
from eyechart.commands.parameters import (
    PATH,
    ParsedBy,
    format_option,
    labels_option,
    offline_option,
    recorded_data_option,
    runs_argument,
    store_option,
)
from eyechart.errors import NotComparableError
from eyechart.files.text_files import plain_text

if TYPE_CHECKING:
    from eyechart.gate.verdicts.decide import Rule


@click.command()
@click.argument("runs", metavar="RUN…", nargs=-1, required=True, type=PATH)
@click.option(
    "--models",
    metavar="SPEC SPEC",
    nargs=2,
    help="Compare these two models; with two runs, the first model "
    "of the first run and the second model of the second.",
)
@rule_options
@click.option(
    "--check",
    is_flag=True,
    help="Exit with the status of the gate: 10 for a regression, a missing metric, a missed floor or other data, 11 if "
    "a case is missing, 13 if the --margin is not excluded.",
)
@click.option(
    "--verdicts",
    metavar="FILE",
    type=PATH,
    help="Write the verdicts to this JSON file, as --eye-verdicts; it has the exit status of --check.",
)
@format_option
def compare(
    runs: Sequence[Path],
    models: tuple[str, str] | None,
    rule: "Rule",
    check: bool,
    verdicts: Path | None,
    format_name: str,
) -> int:
    """Compare two runs or two models, metric by metric.

    RUN is the folder of a run, or a file or folder of baselines: two of them, or one with --models. Metrics are
    compared over the same samples. Classes, taxa and other slices that changed have a table of their own.
    """
    from eyechart.gate.session.gate_status import ABSENT, INCONCLUSIVE, REGRESSION
    from eyechart.gate.verdicts.margin_messages import describe_undecided
    from eyechart.gate.verdicts.verdict_file import write_verdicts
    from eyechart.reports.comparison.run_comparison import (
        compare_sides,
        comparison_tables,
        gate_status,
        match_models,
        match_runs,
    )

    if len(runs) > 2 or (len(runs) == 1 and not models):
        raise click.UsageError("compare takes two runs, or one and --models SPEC SPEC.")
    sides = match_models(runs, models) if models else match_runs(runs)
    try:
        result = compare_sides(sides, rule)
        status = gate_status(sides, result)
        if verdicts:
            write_verdicts(verdicts, result.session.summarise(status))
        print_tables(comparison_tables(sides, rule, result), format_name)
    except NotComparableError as error:
        if not check:
            raise
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return int(REGRESSION if sides.before.keys() & sides.after.keys() else ABSENT)
    for undecided in result.session.open_verdicts if check and status == INCONCLUSIVE else ():
        compared = [verdict.comparison for verdict in result.session.verdicts]
        print(f"{PROGRAM}: {describe_undecided(undecided, compared)}", file=sys.stderr)
    return status if check else 0


@click.command()
@runs_argument
@click.option(
    "--out",
    metavar="PATH",
    type=PATH,
    default=Path("reports/baselines"),
    show_default=True,
    help="Folder or file of baselines, as --eye-baseline.",
)
def baseline(runs: Sequence[Path], out: Path) -> None:
    """Accept runs: write their cases as baselines.

    `eyechart run --eye-update-baseline` writes the same files. `eyechart compare BASELINES RUN --check` is the gate of
    a run that another tool asked for.
    """
    from eyechart.gate.baselines.baseline_files import write_baselines
    from eyechart.gate.baselines.stored_cases import cases_of_run
    from eyechart.gate.verdicts.verdict_messages import describe_written_baseline

    cases = {key: evidence for run in runs for key, evidence in cases_of_run(run).items()}
    for written in write_baselines(out, cases.values()):
        print(describe_written_baseline(written))


@click.command()
@runs_argument
@click.option("--metric", metavar="NAME", help="Metric to rank by, such as acc1, ece, f1 or ig. [default: accuracy]")
@labels_option
@click.option(
    "--weights",
    type=click.Choice(["splits", "samples"]),
    default="splits",
    show_default=True,
    help="What has the same weight in the ranks over several splits.",
)
@alpha_option("Probability that some set of ranks of a table is wrong.")
@format_option
def leaderboard(
    runs: Sequence[Path], metric: str | None, labels: str | None, weights: str, alpha: float, format_name: str
) -> None:
    """Rank models by one metric.

    There is a table for each split and protocol, and one over the splits of a benchmark. A model has each rank that the
    tests of all pairs of models do not exclude.
    """
    from eyechart.reports.comparison.leaderboard import leaderboards
    from eyechart.reports.runs import load

    print_tables(leaderboards(load(runs), metric, labels, alpha, weights), format_name)


@click.command()
@click.argument("runs", metavar="[BEFORE AFTER]", nargs=-1, type=PATH)
@click.option(
    "--margin",
    metavar="SHARE",
    required=True,
    type=ParsedBy("eyechart.gate.verdicts.decide:parse_margin"),
    help="Loss that is to be found, or excluded, a fraction below 0.5, as --eye-margin.",
)
@click.option(
    "--discordance",
    metavar="SHARE",
    type=ParsedBy("eyechart.gate.verdicts.decide:parse_margin"),
    help="Share of samples whose outcome changes, a fraction below 0.5. [default: that of BEFORE and AFTER, else 0.05]",
)
@click.option("--models", metavar="K", type=click.IntRange(1), default=1, show_default=True, help="Number of models.")
@click.option(
    "--design-effect",
    metavar="D",
    type=click.FloatRange(1),
    help="How many samples count as one, at least 1. [default: that of BEFORE and AFTER, else 1]",
)
@click.option(
    "--power",
    metavar="P",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="Probability of the verdict.",
)
@alpha_option("Significance level of the gate, as --eye-alpha.")
@format_option
def plan(
    runs: Sequence[Path],
    margin: float,
    discordance: float | None,
    models: int,
    design_effect: float | None,
    power: float,
    alpha: float,
    format_name: str,
) -> None:
    """Say how many samples a verdict needs.

    A loss of the margin is found, or no loss of it is shown, with the given probability. How often outcomes change is
    taken from two earlier runs or baselines, BEFORE and AFTER, if they are given.
    """
    from eyechart.reports.comparison.plan import SUPPOSED, expect_as_before, plan_table, suppose

    if len(runs) not in (0, 2):
        raise click.UsageError(f"plan takes two runs, BEFORE AFTER, or none. Got {len(runs)}.")
    if runs and (discordance is not None or design_effect is not None):
        raise click.UsageError("--discordance and --design-effect follow from BEFORE and AFTER. Give one or the other.")
    expected = expect_as_before(*runs) if runs else suppose(discordance or SUPPOSED, design_effect or 1.0)
    print_tables([plan_table(expected, margin, models, alpha, power)], format_name)


@click.command()
@click.argument("before", type=PATH)
@click.argument("after", type=PATH)
@click.option(
    "--encoder",
    metavar="SPEC",
    default="open_clip[toybox-clip]",
    show_default=True,
    help="Encoder of images and words; features that the store has are used again.",
)
@click.option("--count", metavar="N", type=click.IntRange(2), default=10, show_default=True, help="Number of clusters.")
@click.option(
    "--words", metavar="FILE", type=PATH, help="Words that name clusters, one per line. [default: class names]"
)
@alpha_option("False discovery rate of the clusters that are named.")
@recorded_data_option
@store_option
@offline_option
@format_option
def clusters(
    before: Path, after: Path, encoder: str, words: Path | None, alpha: float, format_name: str, **options: Any
) -> None:
    """Find groups of images that lost or gained.

    BEFORE is a run or baseline, AFTER is a run. The images of each split are put into clusters by the features of an
    encoder, and each cluster is named by the nearest words.
    """
    from eyechart.api.image_clusters import ClusterOptions, compare_clusters
    from eyechart.gate.verdicts.decide import Rule
    from eyechart.models.spec import parse_spec

    names = tuple(plain_text(words).split("\n")) if words else ()
    names = tuple(name.strip() for name in names if name.strip())
    chosen = ClusterOptions(parse_spec(encoder), words=names, rule=Rule(alpha), **options)
    print_tables([compare_clusters(before, after, chosen)], format_name)
