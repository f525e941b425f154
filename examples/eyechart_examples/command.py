"""A command of your own: `eyechart mistakes RUN` lists the images that a run answered incorrectly."""

from pathlib import Path

import click


@click.command("mistakes")
@click.argument("run", type=click.Path(exists=True, path_type=Path))
def mistakes(run: Path) -> None:
    """List the images of a run that were answered incorrectly, by case."""
    from eyechart.reports.runs import load  # what is slow to import is imported when the command runs
    from eyechart.results.frames import samples_frame

    samples = samples_frame(list(load([run]).cases), ["key", "target", "prediction", "correct"])
    for case, rows in samples[samples["correct"] == 0].groupby("case"):
        click.echo(f"{case}: {len(rows)}")
        for row in rows.itertuples():
            click.echo(f"  {row.key}: {row.prediction or 'no class'}, not {row.target}")
