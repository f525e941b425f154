"""`eyechart ls`: what can be named in other commands and in options of pytest."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from eyechart.commands.groups import CommandGroup
from eyechart.errors import EyechartError, SpecError
from eyechart.messages.install_commands import install_command
from eyechart.messages.suggestions import did_you_mean
from eyechart.messages.terminal import align_texts

Line = tuple[str, ...]


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def ls(ctx: click.Context) -> None:
    """List models, protocols, metrics, data sets and tables."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@ls.command()
@click.argument("names", metavar="[BACKEND]…", nargs=-1)
@click.option("--options", is_flag=True, help="Also list the options with their types and defaults.")
def models(names: Sequence[str], options: bool) -> None:
    """List model backends: capabilities, installation, and with --options their options."""
    from eyechart.models.options import rows_of
    from eyechart.models.registry import Backend, backends
    from eyechart.models.spec import PACKAGED_MODELS
    from eyechart.models.types import Model

    def facts(name: str, backend: Backend) -> Iterator[str]:
        yield f"capabilities: {', '.join(sorted(backend.capabilities))}"
        if packaged := PACKAGED_MODELS.get(name):
            yield f"packaged models: {', '.join(packaged)}"
        if backend.extras:
            yield f"installation: {' or '.join(map(install_command, backend.extras))}"

    known = backends()
    if unknown := [name for name in names if name not in known]:
        raise SpecError(
            f"There is no backend '{unknown[0]}'{did_you_mean(unknown[0], [*known])} Known: {', '.join(known)}."
        )
    for name, backend in known.items():
        if names and name not in names:
            continue
        try:
            model_class: type[Model] = backend.load_class()
            click.echo(f"{name}: {_first_sentence(model_class)}")
            for line in facts(name, backend):
                click.echo(f"  {line}")
            if options:
                rows = [(f"    {row.name}", *row[1:]) for row in rows_of(model_class.declared_options)]
                _echo_columns([("    option", "type", "default", "meaning"), *rows])
        except EyechartError as error:  # a backend of another package that cannot be imported
            click.echo(f"{name}: {error}")


@ls.command()
@click.argument("names", metavar="[PROTOCOL]…", nargs=-1)
def protocols(names: Sequence[str]) -> None:
    """List protocols with all options and their defaults.

    An option is set with --eye-set=PROTOCOL.OPTION=VALUE. --eye-preset=paper sets the values of the published study,
    where they differ.
    """
    from eyechart.evaluation.presets import read_preset
    from eyechart.protocol.registry import get_protocol, list_protocols

    published = {(setting.protocol, setting.option): setting.values for setting in read_preset("paper").settings}
    for name in names or list_protocols():
        protocol = get_protocol(name)
        source = f" Source: {protocol.source}." if protocol.source else ""
        click.echo(f"{name}: {_first_sentence(type(protocol))} Needs {' or '.join(protocol.requires)}.{source}")
        rows = []
        for option in protocol.options:
            known = f" ({', '.join(option.known)})" if option.known else ""
            paper = f"; paper: {published[name, option.name]}" if (name, option.name) in published else ""
            rows.append((f"  {option.name}", option.default, f"{option.help}{known}{paper}"))
        _echo_columns(rows)


@ls.command()
@click.option("--data", metavar="ROOT", help="Also list the data sets of this folder, as for --eye-data.")
def datasets(data: str | None) -> None:
    """List data sets, with --data also those of a folder.

    Files of the folder that are in no data set are named on stderr.
    """
    from eyechart.data.discovery import survey_root
    from eyechart.data.splits.open_split import list_splits
    from eyechart.data.splits.registry import SplitRef, is_folder, registered_datasets

    def describe(ref: SplitRef) -> str:
        if why := ref.missing or ref.defect:
            return f"Not available: {why}"
        origins = {"sample": "Packaged.", "registered": "Of an installed package."}
        if origin := origins.get(ref.layout):
            return f"{origin} {getattr(registered_datasets()[ref.benchmark], 'summary', '')}".rstrip()
        return f"{ref.location} (layout: {ref.layout})"

    _echo_columns([(str(ref), describe(ref)) for ref in list_splits(data)])
    if data and is_folder(data):
        for location, reason in survey_root(Path(data)).ignored:
            click.echo(f"note: {location} is ignored: {reason}", err=True)


@ls.command()
def tables() -> None:
    """List tables with their numbers in the papers."""
    from eyechart.reports.tables.registry import describe_definitions, table_builders

    _echo_columns(describe_definitions(table_builders()))


@ls.command()
def metrics() -> None:
    """List metrics with their direction, unit and range."""
    from eyechart.results.metric_definitions import metric_definitions

    directions = {True: "higher is better", False: "lower is better", None: "not judged"}
    rows = [
        (
            name,
            directions[definition.higher_is_better],
            "in percent" if definition.unit == "share" else "",
            "" if definition.range is None else "{:g} to {:g}".format(*definition.range),
            definition.summary,
        )
        for name, definition in metric_definitions().items()
    ]
    _echo_columns(rows)


@ls.command()
def figures() -> None:
    """List figures with their numbers in the papers."""
    from eyechart.reports.figures.registry import figure_drawers
    from eyechart.reports.tables.registry import describe_definitions

    _echo_columns(describe_definitions(figure_drawers()))


@ls.command()
def options() -> None:
    """List the options for pytest with their defaults.

    An option is given to `eyechart run` or `pytest` as --eye-NAME=VALUE, or stands in the ini file of pytest as
    eye_NAME = VALUE, with _ instead of -. `eyechart ls protocols` lists the options of protocols.
    """
    from eyechart.plugins.options import OPTIONS

    _echo_columns([(option.flag_name, option.default, option.help) for option in OPTIONS])


@ls.command()
def presets() -> None:
    """List presets with their settings."""
    from eyechart.evaluation.presets import preset_names, read_preset

    for name in preset_names():
        preset = read_preset(name)
        click.echo(f"{name}: {preset.summary}")
        rows = [(f"  --eye-set={setting.protocol}.{setting.option}={setting.values}",) for setting in preset.settings]
        for protocol, options in preset.suite.items():
            rows += [(f"  --eye-{name}={value} for {protocol}",) for name, value in options.items()]
        for protocol, splits in preset.left_out.items():
            rows.append((f"  without {', '.join(splits) or 'nothing'} for {protocol or 'every other protocol'}",))
        rows += [(f"  {option}={value} for each model",) for option, value in preset.model_options.items()]
        _echo_columns(rows)


def _echo_columns(rows: Sequence[Line]) -> None:
    """Print rows with aligned columns."""
    for line in align_texts(rows):
        click.echo(line)


def _first_sentence(documented: type) -> str:
    """Return the first line of the docstring of a class, "" if it has none."""
    return (documented.__doc__ or "").strip().partition("\n")[0]
