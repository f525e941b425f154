"""The prompts of a case, read from the packaged ones that its record names with the start of their sha256."""

import re
from collections.abc import Iterator

from eyechart.data.class_names import load_templates
from eyechart.errors import EyechartError
from eyechart.protocol.prompts import get_prompt, prompt_names
from eyechart.records import Record

NAMED = re.compile(r"([\w.-]+) \(([0-9a-f]{8})\)")  # such as "existence (82107dae)"
PROMPTS, TEMPLATES = ("prompt", "extraction_prompt"), "templates"
SHOWN = 3  # templates


def prompt_texts(record: Record) -> list[tuple[str, str]]:
    """Return name and text of each prompt of a case; prompts that are not packaged, or have changed, are left out."""
    return [*packaged_prompts(record), *packaged_templates(record)]


def packaged_prompts(record: Record) -> Iterator[tuple[str, str]]:
    """Yield name and text of each packaged prompt that is as it was in the run."""
    for option in PROMPTS:
        for name, digest in NAMED.findall(record.variant.get(option, "")):
            if name in prompt_names() and (prompt := get_prompt(name)).sha256.startswith(digest):
                yield name, prompt.text.strip()


def packaged_templates(record: Record) -> Iterator[tuple[str, str]]:
    """Yield name and first texts of the packaged templates of class names, if they are as they were in the run."""
    for name, digest in NAMED.findall(record.variant.get(TEMPLATES, "")):
        try:
            templates = load_templates(name)
        except EyechartError:
            return
        if templates.sha256.startswith(digest):
            more = len(templates.formats) - SHOWN
            ending = [f"… and {more} more"] if more > 0 else []
            yield f"templates {name}", "\n".join([*templates.formats[:SHOWN], *ending])
