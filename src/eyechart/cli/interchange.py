"""`eyechart import`: results of other tools as runs."""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from eyechart.commands.groups import CommandGroup
from eyechart.commands.parameters import PATH
from eyechart.files.folders import RUNS
from eyechart.messages.secret_values import hide_secrets

if TYPE_CHECKING:
    from eyechart.interchange.results import ImportedCase

Command = TypeVar("Command", bound=Callable[..., Any])
files_argument = click.argument("files", metavar="FILE…", nargs=-1, required=True, type=PATH)


@click.group("import", cls=CommandGroup)
def import_results() -> None:
    """Import the results of other tools as a run.

    The run has records, sample tables and evidence as those of `eyechart run`, so that `compare`, `leaderboard`,
    `page` and `export` read it. A metric is imported if its mean over samples is the number that the tool printed.
    """


def _import_options(command: Command) -> Command:
    """Add the options that all formats have."""
    options = (
        click.option("--model", metavar="NAME", help="Name of the model in cases. [default: the tool's]"),
        click.option("--benchmark", metavar="NAME/SPLIT", help="Name of benchmark and split. [default: the tool's]"),
        click.option(
            "--slice", "slices", metavar="FIELD", multiple=True,
            help="Further field of the samples whose values are slices. Repeatable.",
        ),
        click.option(
            "--lower-is-better", "lower", metavar="METRIC", multiple=True,
            help="Metric for which a lower value is better. Repeatable.",
        ),
        click.option(
            "--out", metavar="DIR", type=PATH, default=RUNS, show_default=True, help="Folder of runs, as --eye-out."
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@import_results.command()
@files_argument
@_import_options
def inspect(files: Sequence[Path], **options: Any) -> None:
    """Import logs of inspect_ai, .eval or .json files.

    The metrics are the scorers whose results have an accuracy or a mean. Epochs are repetitions of a sample.
    """
    from eyechart.interchange.inspect_logs import read_inspect_log

    _write_run(map(read_inspect_log, files), **options)


@import_results.command("lm-eval")
@files_argument
@_import_options
def lm_eval(files: Sequence[Path], **options: Any) -> None:
    """Import results of lm-evaluation-harness that were written with --log_samples.

    FILE is samples_TASK_DATE.jsonl, beside results_DATE.json, or the latter for all of its tasks.
    """
    from eyechart.interchange.harness_results import LM_EVAL, read_harness

    _write_run(read_harness(LM_EVAL, files), **options)


@import_results.command("lmms-eval")
@files_argument
@_import_options
def lmms_eval(files: Sequence[Path], **options: Any) -> None:
    """Import results of lmms-eval that were written with --log_samples.

    FILE is DATE_samples_TASK.jsonl, beside DATE_results.json, or the latter for all of its tasks.
    """
    from eyechart.interchange.harness_results import LMMS_EVAL, read_harness

    _write_run(read_harness(LMMS_EVAL, files), **options)


@import_results.command()
@files_argument
@_import_options
def vlmevalkit(files: Sequence[Path], **options: Any) -> None:
    """Import tables of VLMEvalKit with a hit or score for each question: .xlsx, .tsv or .csv.

    FILE is such as MODEL_DATASET_exact_matching_result.xlsx; MODEL_DATASET_acc.csv beside it has the printed numbers.
    """
    from eyechart.interchange.vlmevalkit_results import read_vlmevalkit

    _write_run((case for file in files for case in read_vlmevalkit(file)), **options)


@import_results.command()
@files_argument
@_import_options
def nemo(files: Sequence[Path], **options: Any) -> None:
    """Import results of NeMo Evaluator: results.jsonl beside eval-*.json.

    FILE is eval-*.json, or a folder of several. Repeats are epochs of a problem.
    """
    from eyechart.interchange.nemo_results import bundles, read_nemo

    _write_run(map(read_nemo, bundles(files)), **options)


def _write_run(
    cases: Iterable["ImportedCase"],
    model: str | None,
    benchmark: str | None,
    slices: Sequence[str],
    lower: Sequence[str],
    out: Path,
) -> None:
    """Write cases under the names of the options as a run, and print its folder and what was left out."""
    from eyechart.interchange.recording import record_cases
    from eyechart.interchange.results import rename_case, set_direction

    renamed = [set_direction(rename_case(case, model, benchmark), lower) for case in cases]
    folder = record_cases(renamed, out, hide_secrets(" ".join(["eyechart", *sys.argv[1:]])), slices)
    for case in renamed:
        for note in case.notes:
            print(f"note: {case.source}: {note}", file=sys.stderr)
    print(folder)
