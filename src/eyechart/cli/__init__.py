"""The command `eyechart`. Each command is imported when it is used, and imports what it needs when it runs.

A package adds a command, a `click.Command`, with an entry point, as the packaged studies do:

    [project.entry-points."eyechart.commands"]
    my_command = "mypackage.module:my_command"
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from errno import EDQUOT, EFBIG, ENOSPC
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import click

from eyechart.commands.groups import CommandGroup
from eyechart.errors import EyechartError, SpecError
from eyechart.files.installed import describe_same_name, find_entry_points, is_own, load_entry_point
from eyechart.files.path_encoding import check_locale
from eyechart.messages.terminal import escape_unprintable

PROGRAM = "eyechart"
FAILED, INTERRUPTED = 2, 130
FULL = (ENOSPC, EDQUOT, EFBIG)  # the disk, the quota, or a limit of the process
GROUP = "eyechart.commands"
BUILT_IN = {
    "Evaluate models": {
        "run": "eyechart.cli.run:run",
        "answer": "eyechart.cli.run:answer",
        "ls": "eyechart.cli.listing:ls",
        "store": "eyechart.cli.store:store",
    },
    "Report and compare results": {
        "overview": "eyechart.cli.reports:overview",
        "table": "eyechart.cli.reports:table",
        "explain": "eyechart.cli.reports:explain",
        "figure": "eyechart.cli.reports:figure",
        "page": "eyechart.cli.reports:page",
        "compare": "eyechart.cli.comparison:compare",
        "baseline": "eyechart.cli.comparison:baseline",
        "leaderboard": "eyechart.cli.comparison:leaderboard",
        "plan": "eyechart.cli.comparison:plan",
        "compress": "eyechart.cli.compression:compress",
        "clusters": "eyechart.cli.comparison:clusters",
        "import": "eyechart.cli.interchange:import_results",
        "collect": "eyechart.cli.reports:collect",
        "export": "eyechart.cli.exports:export",
        "track": "eyechart.cli.tracking:track",
    },
    "Prepare and check data": {
        "annotate": "eyechart.cli.annotation:annotate",
        "toybox": "eyechart.toybox.commands:toybox",
    },
}
COMMANDS = {name: target for commands in BUILT_IN.values() for name, target in commands.items()}
STUDIES, OTHERS = "Studies", "Other packages"


@cache
def command_sections() -> Mapping[str, Mapping[str, str]]:
    """Return `module:object` of every command by section and name.

    Raises:
        SpecError: Two packages register one name.
    """
    sections: dict[str, dict[str, str]] = {title: {**commands} for title, commands in BUILT_IN.items()}
    known = {**COMMANDS}
    for point in find_entry_points(GROUP):
        if known.setdefault(point.name, point.value) != point.value:
            raise SpecError(describe_same_name("command", point.name, known[point.name], point.value))
        sections.setdefault(STUDIES if is_own(point) else OTHERS, {})[point.name] = point.value
    return sections


class _LazyGroup(CommandGroup):
    """The group of all commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands."""
        return [name for commands in command_sections().values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command by its name; its module is imported."""
        target = COMMANDS.get(cmd_name)  # packages are searched only for a command that is not here
        if target is None:
            registered = (commands.get(cmd_name) for commands in command_sections().values())
            target = next(filter(None, registered), None)
        return None if target is None else _import_command(cmd_name, target)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with a sentence each, by section."""
        width = formatter.width - 6 - max(map(len, self.list_commands(ctx)))
        for title, targets in command_sections().items():
            commands = [(name, _import_command(name, target)) for name, target in targets.items()]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(width)) for name, command in commands])


def _import_command(name: str, target: str) -> click.Command:
    member = load_entry_point(EntryPoint(name, target, GROUP))
    if not isinstance(member, click.Command):
        raise SpecError(
            f"The entry point '{name}' of {GROUP} names {target}, which is an object of the type "
            f"{type(member).__name__}. Expected a click.Command: decorate the function with @click.command()."
        )
    return member


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="eyechart", prog_name=PROGRAM)
def command() -> None:
    """Evaluate vision models with pytest, and report and compare the results.

    Each command describes its options with --help.
    """


def main(arguments: Sequence[object] | None = None) -> int:
    """Run one command and return its exit status; an error is one sentence on stderr, and its status is 2."""
    escape_unprintable()
    words = None if arguments is None else [str(argument) for argument in arguments]
    try:
        check_locale(Path.cwd(), *(sys.argv[1:] if words is None else words))
        return _run_command(command, words)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return FAILED
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else PROGRAM
        print(f"{PROGRAM}: {error.format_message()} Help: {path} --help", file=sys.stderr)
    except click.Abort:
        return INTERRUPTED
    except EyechartError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
    except OSError as error:
        where, why = error.filename or "A file", error.strerror or error
        remedy = "Name a readable file, and with --out a writable path."
        if error.errno in FULL:
            remedy = "Free some space, or name another folder with --out."
        print(f"{PROGRAM}: {where} cannot be used ({why}). {remedy}", file=sys.stderr)
    return FAILED


def _run_command(group: Callable[..., Any], words: list[str] | None) -> int:
    """Run the command that the words name and return its exit status, 0 if it returns none."""
    return group(words, prog_name=PROGRAM, standalone_mode=False) or 0
