"""Hook of mkdocs: replace lines such as `<!-- generated: models -->` in pages by tables that the code gives."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click

from eyechart import glossary
from eyechart.cli import COMMANDS, PROGRAM, SECTIONS, command
from eyechart.models.packaged import PACKAGED_MODELS
from eyechart.models.registry import BUILT_IN
from eyechart.protocol.presets import read_preset
from eyechart.protocol.prompts import FOLDER as PROMPTS
from eyechart.protocol.registry import PACKAGED, get_protocol

FOLDER = Path(__file__).resolve().parents[1] / "examples"
ROOT = click.Context(command, info_name=PROGRAM)
MARKER = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)
PROMPT_NAMES: Mapping[str, tuple[str, ...]] = {  # the packaged prompts of a protocol
    "mcq": ("mill_mcq",),
    "closed_world": ("closed_world", "closed_world_json", "closed_world_id", "closed_world_id_json"),
    "open_world": ("open_world", "open_world_json", "open_world_caption"),
    "multiple_choice": ("multiple_choice",),
    "existence": ("existence", "existence_not", "existence_cot", "existence_cot_not"),
    "progression": ("progression_counting", "progression_logic"),
    "species": ("species",),
    "free_form": ("species_extraction",),
    "abstention": ("abstention_reason",),
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the text of a page with its generated parts."""
    return MARKER.sub(lambda match: "\n".join(GENERATED[match[1]]()), markdown)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    columns = [*head]
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(map(escape_cell, row))} |"


def escape_cell(text: str) -> str:
    """Return a cell in one line, with bars escaped outside of code."""
    return re.sub(r"`[^`]*`|\|", lambda match: "\\|" if match[0] == "|" else match[0], text.replace("\n", " "))


def code(words: Iterable[str]) -> str:
    """Return words as code, with commas."""
    return ", ".join(f"`{word}`" for word in words)


def first_sentence(documented: Any) -> str:
    """Return the first line of a docstring."""
    return str(documented.__doc__ or "").strip().partition("\n")[0]


def models() -> Iterator[str]:
    """Yield the table of backends with their capabilities, options and installation."""
    rows = []
    for name, backend in BUILT_IN.items():
        model_class = backend.load_class()
        rows.append(
            (
                f"`{name}`",
                first_sentence(model_class),
                code(sorted(backend.capabilities)),
                code(getattr(model_class, "option_names", ())),
                code(f"{name}[{packaged}]" for packaged in PACKAGED_MODELS.get(name, ())),
                code(f"eyechart[{extra}]" for extra in backend.extras),
            )
        )
    yield from table(("backend", "what it does", "capabilities", "options", "packaged", "install"), rows)


def commands() -> Iterator[str]:
    """Yield a section for each command, with its subcommands."""
    for title, names in SECTIONS.items():
        yield f"## {title}\n"
        for name in names:
            member: click.Command = resolve_name(COMMANDS[name])
            yield from describe_command(member, click.Context(member, parent=ROOT, info_name=name), 3)


def describe_command(described: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """Yield the usage, the help and the options of a command, and its subcommands."""
    usage = " ".join([context.command_path, *described.collect_usage_pieces(context)])
    yield f"{'#' * level} `{context.command_path}`\n\n    {usage}\n"
    yield f"{cleandoc(described.help or '').replace('<', '&lt;')}\n"
    options = [option for option in described.params if isinstance(option, click.Option)]
    if options:
        records = [option.get_help_record(context) for option in options]
        yield from table(("option", "meaning"), [(f"`{record[0]}`", record[1]) for record in records if record])
        yield ""
    if isinstance(described, click.Group):
        for name in described.list_commands(context):
            if member := described.get_command(context, name):
                yield from describe_command(member, click.Context(member, parent=context, info_name=name), level + 1)


def protocols() -> Iterator[str]:
    """Yield a section for each protocol: what it does, its requirements, source and options."""
    published = {(setting.protocol, setting.option): setting.values for setting in read_preset("paper").settings}
    for name in PACKAGED:
        protocol = get_protocol(name)
        yield f"### {name}\n"
        yield f"{first_sentence(type(protocol))}\n"
        yield f"- **Needs** a model with the capability {' or '.join(f'`{word}`' for word in protocol.requires)}."
        if protocol.source:
            yield f"- **Source**: {protocol.source}."
        yield from prompts_of(name)
        yield ""
        if protocol.options:
            rows = [
                (
                    f"`{option.name}`",
                    f"`{option.default}`",
                    code([published[name, option.name]] if (name, option.name) in published else []),
                    option.help + (f" ({code(option.known)})" if option.known else ""),
                )
                for option in protocol.options
            ]
            yield from table(("option", "default", "in the paper", "meaning"), rows)
            yield ""


def prompts_of(protocol: str) -> Iterator[str]:
    """Yield the packaged prompts of a protocol, folded."""
    for name in PROMPT_NAMES.get(protocol, ()):
        prompt = tomllib.loads((PROMPTS / f"{name}.toml").read_text(encoding="utf-8"))
        yield f'\n<details markdown="1"><summary>Prompt <code>{name}</code> ({prompt["source"]})</summary>\n'
        yield f"```text\n{prompt['text'].strip()}\n```\n\n</details>"


def preset() -> Iterator[str]:
    """Yield the settings of the preset `paper`."""
    settings = read_preset("paper")
    rows = [(f"`{setting.protocol}.{setting.option}`", f"`{setting.values}`") for setting in settings.settings]
    rows += [(f"class names of `{protocol}`", f"`{names}`") for protocol, names in settings.names.items()]
    yield from table(("option", "value"), rows)


def definitions(target: str) -> Callable[[], Iterator[str]]:
    """Return the function that yields the table of tables or figures, from the function that returns their builders."""

    def rows() -> Iterator[tuple[str, ...]]:
        for name, number, text in resolve_name("eyechart.reports.tables:describe_definitions")(resolve_name(target)()):
            yield f"`{name}`", number, text

    return lambda: table(("name", "number", "what it shows"), rows())


def examples() -> Iterator[str]:
    """Yield the files of the example package."""
    for name in ("model", "protocol", "data", "report"):
        path = FOLDER / "eyechart_examples" / f"{name}.py"
        yield f"## {name.capitalize()}\n\n```python\n{path.read_text(encoding='utf-8').strip()}\n```\n"


def words(kind: str) -> Callable[[], Iterator[str]]:
    """Return the function that yields the table of one kind of names with a sentence each."""
    entries: Mapping[str, str] = getattr(glossary, kind)
    return lambda: table(("name", "meaning"), [(f"`{name}`", text) for name, text in entries.items() if text])


GENERATED: Mapping[str, Callable[[], Iterator[str]]] = {
    "commands": commands,
    "examples": examples,
    "figures": definitions("eyechart.reports.figures:figure_drawers"),
    "intervals": words("INTERVALS"),
    "label-sets": words("LABEL_SETS"),
    "metrics": words("METRICS"),
    "models": models,
    "preset": preset,
    "protocols": protocols,
    "subsets": words("SUBSETS"),
    "tables": definitions("eyechart.reports.tables:table_builders"),
}
