"""Write the pages of the site: lines such as `<!-- generated: models -->` become tables that the code gives.

`python tools/documentation.py` copies docs into build/docs, where any builder of sites finds plain Markdown.
"""

import json
import re
import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from inspect import cleandoc
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click
from golden_compare import read_golden
from jinja2 import Template
from option_tables import own_protocols

from eyechart.cli import PROGRAM, command, command_sections
from eyechart.evaluation.presets import preset_names, read_preset
from eyechart.gate.verdicts.decide import ALPHA
from eyechart.models.chat.conversation import FORMS
from eyechart.models.options import rows_of
from eyechart.models.registry import backends
from eyechart.models.spec import PACKAGED_MODELS
from eyechart.protocol.prompts import get_prompt
from eyechart.protocol.registry import get_protocol
from eyechart.results.glossary import INTERVALS, glossary
from eyechart.results.metric_definitions import metric_definitions
from eyechart.results.records import OutcomeCounts
from eyechart.statistics.noninferiority import samples_for_margin

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS, SITE_PAGES, FOLDER = REPOSITORY / "docs", REPOSITORY / "build" / "docs", REPOSITORY / "examples"
LINE = 100  # characters of a line of JSON that need no scrolling
ROOT = click.Context(command, info_name=PROGRAM)
MARKER = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)
NO_STUDY = ("first-run", "packaged", "paper")  # presets: two of the packaged run, and the sum of the others
MAIN, SESSIONS, TESTS = "main/records.json", "sessions/records.json.gz", "tests/oodbench_records.json.gz"


def write_pages(target: Path) -> None:
    """Write all files of docs into a folder, which is made anew, pages with their generated parts."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(DOCS, target)
    for page in target.glob("*.md"):
        page.write_text(fill_page(page.read_text(encoding="utf-8")), encoding="utf-8")


def fill_page(markdown: str) -> str:
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
    """Yield the table of backends with their capabilities and installation."""
    rows = []
    for name, backend in backends().items():
        model_class = backend.load_class()
        rows.append(
            (
                f"`{name}`",
                first_sentence(model_class),
                code(sorted(backend.capabilities)),
                code(f"{name}[{packaged}]" for packaged in PACKAGED_MODELS.get(name, ())),
                code(f"eyechart[{extra}]" for extra in backend.extras),
            )
        )
    yield from table(("backend", "what it does", "capabilities", "packaged", "install"), rows)


def prompt_forms() -> Iterator[str]:
    """Yield the table of the prompts of families without a chat template, with the words QUESTION after an image."""
    content = [{"type": "image"}, {"type": "text", "text": "QUESTION"}]
    rows = [
        (
            f"`{family}`",
            f"`{Template(form['template']).render(messages=[{'role': 'user', 'content': content}])}`",
            f"[documentation]({form['source']})",
        )
        for family, form in tomllib.loads(FORMS.read_text(encoding="utf-8")).items()
    ]
    yield from table(("family", "prompt with an image", "source"), rows)


def model_options() -> Iterator[str]:
    """Yield a section for each backend with the table of its options."""
    for name, backend in backends().items():
        yield f"### {name}\n"
        rows = rows_of(backend.load_class().declared_options)
        yield from table(("option", "type", "default", "meaning"), [(f"`{row[0]}`", *row[1:]) for row in rows])
        yield ""


def commands() -> Iterator[str]:
    """Yield a section for each command, with its subcommands."""
    for title, targets in command_sections().items():
        yield f"## {title}\n"
        for name, target in targets.items():
            member: click.Command = resolve_name(target)
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
    for name in own_protocols():
        protocol = get_protocol(name)
        yield f"### {name}\n"
        yield f"{first_sentence(type(protocol))}\n"
        yield f"- **Needs** a model with the capability {' or '.join(f'`{word}`' for word in protocol.requires)}."
        if protocol.source:
            yield f"- **Source**: {protocol.source}."
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
        yield from prompts_of(name)
        yield from example_of(name)


def prompts_of(protocol: str) -> Iterator[str]:
    """Yield the packaged prompts of a protocol, folded."""
    for name in get_protocol(protocol).prompts:
        prompt = get_prompt(name)
        yield from fold(f"Prompt {name} ({prompt.source})", "text", prompt.text.strip())


def example_of(protocol: str) -> Iterator[str]:
    """Yield some fields of a record of a protocol, folded; the values are those of the golden files."""
    example = get_protocol(protocol).example
    if example is None:
        return
    record = find_record(f"{example.case} {protocol}")
    fields = {
        "case": example.case,
        "protocol": protocol,
        "variant": record["variant"],
        "outcomes": {name: record["outcomes"].get(name, 0) for name in OutcomeCounts.__struct_fields__},
        "metrics": [metric for name in example.numbers for metric in find_metrics(record, name)],
    }
    lines = ",\n".join(f"  {json.dumps(name)}: {encode_lines(value)}" for name, value in fields.items())
    yield from fold("Example record: settings, outcomes and some metrics", "json", f"{{\n{lines}\n}}")


def find_record(key: str) -> Mapping[str, Any]:
    """Return the record of a case and protocol of the main job, else of the first session or test that has it."""
    runs = [_read_records(MAIN), *_read_records(SESSIONS).values(), *_read_records(TESTS).values()]
    record: Mapping[str, Any] | None = next((records[key] for records in runs if key in records), None)
    if record is None:
        raise ValueError(
            f"No golden file has the case {key}, the example of its protocol: write them with `python tools/golden.py "
            "write -k PROTOCOL`, or correct `example`."
        )
    return record


@cache
def _read_records(file: str) -> Mapping[str, Any]:
    """Return the records of a golden file."""
    return read_golden(file)  # type: ignore[no-any-return]


def find_metrics(record: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the metrics of a name, subset, and level or prompt, of each label set."""
    for key, metric in record["metrics"].items():
        more = dict(re.findall(" (level|prompt)=(.+)", key))
        if " ".join([metric["name"], metric["subset"], *more.values()]) == name:
            shown = {part: metric[part] for part in ("name", "labels", "subset")} | more
            yield shown | {part: shorten(metric[part]) for part in ("value", "n", "ci", "ci_method")}


def shorten(value: Any) -> Any:
    """Return numbers with four digits after the point; other values as they are."""
    if isinstance(value, list):
        return [*map(shorten, value)]
    return round(value, 4) if isinstance(value, float) else value


def encode_lines(value: Any) -> str:
    """Return a value as JSON: a list with a line for each part, settings with several lines, outcomes in one line."""
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        parts = ",\n".join(f"    {json.dumps(part, ensure_ascii=False)}" for part in value)
        return f"[\n{parts}\n  ]"
    return text if len(text) < LINE else json.dumps(value, ensure_ascii=False, indent=4).replace("\n}", "\n  }")


def fold(title: str, language: str, text: str) -> Iterator[str]:
    """Yield a block of code that opens by a click on its title."""
    yield f'??? example "{title}"\n'
    yield from (f"    {line}".rstrip() for line in f"```{language}\n{text}\n```".splitlines())
    yield ""


def images_needed() -> Iterator[str]:
    """Yield the table of docs/statistics.md: how many images exclude a loss of a margin."""
    changed, margins = (0.0, 0.01, 0.02, 0.05, 0.1), (0.005, 0.01, 0.02, 0.05)
    rows = (
        [f"{share:.0%}", *(f"{samples_for_margin(share, margin, ALPHA):,}" for margin in margins)] for share in changed
    )
    yield from table(["change", *(f"margin {margin:g}" for margin in margins)], rows)


def presets() -> Iterator[str]:
    """Yield the settings of every preset of a study."""
    for name in preset_names():
        if name in NO_STUDY:
            continue
        preset = read_preset(name)
        rows = [(f"`{setting.protocol}.{setting.option}`", f"`{setting.values}`") for setting in preset.settings]
        for protocol, options in preset.suite.items():
            rows += [(f"`--eye-{option}` for `{protocol}`", f"`{value}`") for option, value in options.items()]
        rows += [(f"`{option}` of each model", f"`{value}`") for option, value in preset.model_options.items()]
        yield f"### {name}\n\n{preset.summary}\n"
        yield from table(("option", "value"), sorted(rows))
        yield ""


def definitions(target: str) -> Callable[[], Iterator[str]]:
    """Return the function that yields the table of tables or figures, from the function that returns their builders."""

    def rows() -> Iterator[tuple[str, ...]]:
        for name, number, text in resolve_name("eyechart.reports.tables.registry:describe_definitions")(
            resolve_name(target)()
        ):
            yield f"`{name}`", number, text

    return lambda: table(("name", "number", "what it shows"), rows())


def paper_tables() -> Iterator[str]:
    """Yield the table of packaged tables with the command that evaluates what each needs, as the study did."""
    definitions = resolve_name("eyechart.reports.tables.registry:table_builders")().values()
    rows = [
        (f"`{table.name}`", table.alias, table.summary, paper_command(table.limit, table.source, table.command))
        for table in definitions
    ]
    yield from table(("name", "number", "what it shows", "evaluated by"), rows)


def paper_command(limit: str, source: str, command: str) -> str:
    """Return the command of a table with the preset of its study, and the number of images if that is a part.

    >>> paper_command("10/class", "arXiv 2603.06578, Table 12", "pytest -k closed_world, where ROOT holds COCO")
    '`eyechart run -k closed_world --eye-preset=image-classifiers --eye-limit=10/class`, where ROOT holds COCO'
    """
    parts = re.match(r"(.*?)(, (?:where|with|and) .*)?$", command)
    assert parts
    line, comment = parts[1], parts[2] or ""
    if line.startswith("pytest "):
        sources = {name: read_preset(name).source for name in preset_names()}
        study = next((name for name, published in sources.items() if published and published in source), "")
        values = {"--eye-preset": study, "--eye-limit": limit}
        more = [f"{name}={value}" for name, value in values.items() if value]
        line = " ".join(["eyechart run", line.removeprefix("pytest "), *more])
    return f"`{line}`{comment}"


def examples() -> Iterator[str]:
    """Yield the files of the example package."""
    files = {"protocol": "protocols/colour_word"}  # a module of protocols has the name of its protocol
    for name in ("model", "protocol", "metric", "data", "report", "command"):
        path = FOLDER / "eyechart_examples" / f"{files.get(name, name)}.py"
        yield f"## {name.capitalize()}\n\n```python\n{path.read_text(encoding='utf-8').strip()}\n```\n"


def words(entries: Mapping[str, str]) -> Callable[[], Iterator[str]]:
    """Return the function that yields the table of names with a sentence each."""
    return lambda: table(("name", "meaning"), [(f"`{name}`", text) for name, text in entries.items() if text])


def metrics() -> Iterator[str]:
    """Return the lines of the table of metrics."""
    return table(
        ("name", "meaning"), [(f"`{metric.name}`", metric.summary) for metric in metric_definitions().values()]
    )


GENERATED: Mapping[str, Callable[[], Iterator[str]]] = {
    "commands": commands,
    "examples": examples,
    "figures": definitions("eyechart.reports.figures.registry:figure_drawers"),
    "intervals": words(INTERVALS),
    "label-sets": words(glossary().label_sets),
    "metrics": metrics,
    "model-options": model_options,
    "models": models,
    "presets": presets,
    "prompt-forms": prompt_forms,
    "protocols": protocols,
    "subsets": words(glossary().subsets),
    "tables": paper_tables,
}


if __name__ == "__main__":
    write_pages(SITE_PAGES)
