"""`eyechart track`: runs in experiment trackers."""

from collections.abc import Sequence
from pathlib import Path

import click

from eyechart.commands.parameters import offline_option, runs_argument


@click.command()
@runs_argument
@click.option(
    "--to", "trackers", metavar="NAME[:PROJECT]", multiple=True, required=True,
    help="Tracker and project, as --eye-track: wandb, mlflow or trackio. Repeatable.",
)  # fmt: skip
@offline_option
def track(runs: Sequence[Path], trackers: Sequence[str], offline: bool) -> int:
    """Log runs to experiment trackers.

    As `eyechart run --eye-track` does at the end of a session, also for imported runs: each model of RUN is a run of
    the tracker, in a group named for the folder. Exits with 1 if a tracker could not log a run.
    """
    from eyechart.tracking.log_runs import track_run
    from eyechart.tracking.targets import check_targets, parse_targets

    targets = parse_targets(trackers)
    check_targets(targets, offline=offline)
    results = [result for run in runs for result in track_run(run, targets, offline=offline)]
    for result in results:
        click.echo(f"{'eyechart: ' if result.failed else ''}{result.text}", err=result.failed)
    return int(any(result.failed for result in results))
