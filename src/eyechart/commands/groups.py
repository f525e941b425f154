"""Groups of commands: an unknown word gets the nearest name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from eyechart.messages.suggestions import did_you_mean


class CommandGroup(click.Group):
    """A group whose error for an unknown command suggests the nearest name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names, and the other arguments."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            raise click.UsageError(
                f"{ctx.command_path} has no command '{name}'{did_you_mean(name, known)} "
                f"Its commands are: {', '.join(known)}.",
                ctx,
            )
        return super().resolve_command(ctx, args)


class CommandWithSubcommands(click.Command):
    """A command with an optional argument; if the first word is the name of a subcommand, that runs instead."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.commands: dict[str, click.Command] = {}

    def command(self, name: str) -> Callable[[Callable[..., Any]], click.Command]:
        """Return a decorator that adds a subcommand."""

        def add(function: Callable[..., Any]) -> click.Command:
            self.commands[name] = click.command(name)(function)
            return self.commands[name]

        return add

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of this command, or of the subcommand that the first word names."""
        word = args[0] if args else ""
        if word in self.commands:
            return self.commands[word].make_context(f"{info_name} {word}", args[1:], parent, **extra)
        if (hint := did_you_mean(word, [*self.commands])) != "." and not Path(word).exists():
            raise click.UsageError(f"eyechart {info_name}: there is no folder or command '{word}'{hint}", parent)
        return super().make_context(info_name, args, parent, **extra)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the subcommands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(60)) for name, command in self.commands.items()])
