"""`eyechart run` and `eyechart answer`: pytest over the packaged benchmarks."""

import os
import subprocess
import sys

import click

# Without -h, which click would find in -kHELLO: it reads unknown short options letter by letter.
PYTEST_ARGUMENTS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


@click.command(context_settings=PYTEST_ARGUMENTS)
@click.argument("arguments", metavar="[PYTEST ARGUMENTS]…", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...]) -> int:
    """Evaluate models on benchmarks with pytest.

    Runs `python -m pytest --pyargs eyechart.benchmarks` with the given arguments, such as -k imagenet/sample
    --eye-model=SPEC --eye-data=ROOT, and ends with the exit status of pytest. `eyechart ls options` lists the options
    of eyechart; `pytest --help` lists all.
    """
    return _run_pytest(arguments)


@click.command(context_settings=PYTEST_ARGUMENTS)
@click.argument("arguments", metavar="[PYTEST ARGUMENTS]…", nargs=-1, type=click.UNPROCESSED)
def answer(arguments: tuple[str, ...]) -> int:
    """Store the answers of models without scoring them.

    Takes the arguments of `eyechart run`. Score the answers on any machine with `eyechart run --eye-stored`, which
    needs the store and the data, but no weights. The exit status is 0 if the store has all answers.
    """
    return _run_pytest(("--eye-answer", *arguments))


def _run_pytest(arguments: tuple[str, ...]) -> int:
    """Run pytest over the packaged benchmarks."""
    command = [sys.executable, "-m", "pytest", "--pyargs", "eyechart.benchmarks", *arguments]
    if sys.platform != "win32":  # where exec would return to the shell at once
        os.execv(sys.executable, command)  # so that signals reach pytest
    return subprocess.call(command)
