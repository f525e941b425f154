"""Write records.md and the JSON Schemas of docs/ from structs: `python tools/record_schema.py`."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from eyechart.gate.verdicts import verdict_file
from eyechart.results.records import json_schema

DOCS = Path(__file__).resolve().parents[1] / "docs"
SCHEMA_FILE, PAGE = DOCS / "records.schema.json", DOCS / "records.md"
VERDICTS_FILE = DOCS / "verdicts.schema.json"
HEAD = """# Records

This page is written by `tools/record_schema.py` from `src/eyechart/results/records.py`.
[records.schema.json](records.schema.json) is the JSON Schema of `records.json`.

A session of pytest writes a folder, `reports/runs/TIME`. Its `records.json` has one record for each case, and
`records.jsonl` has the same records, one a line, as soon as each case ends. All other files are named in the records.
"""
DEFINITION = "#/$defs/"


def write_schema(schema: dict[str, Any]) -> str:
    """Return the text of a schema file."""
    return msgspec.json.format(msgspec.json.encode(_normalise(schema), order="sorted")).decode() + "\n"


def _normalise(schema: Any) -> Any:
    """Return a schema that is equal under all versions of msgspec.

    They differ in the place of null in several types and in the indentation of a docstring's lines after the first.
    """
    if isinstance(schema, list):
        return [_normalise(part) for part in sorted(schema, key=lambda part: part == {"type": "null"})]
    if isinstance(schema, dict):
        return {name: _normalise(part) for name, part in schema.items()}
    return inspect.cleandoc(schema) if isinstance(schema, str) else schema


def write_page() -> str:
    """Return the text of docs/records.md: a table of the fields of each struct, in the order of the first reference."""
    definitions = _normalise(json_schema())["$defs"]
    return "\n".join([HEAD, *(line for name in ordered(definitions) for line in section(name, definitions[name]))])


def ordered(definitions: dict[str, Any]) -> list[str]:
    """Return the names of all structs, each after the structs that refer to it."""
    names = ["Records"]
    for name in names:
        parts = msgspec.json.encode(definitions[name]).decode().split(DEFINITION)[1:]
        references = dict.fromkeys(part.partition('"')[0] for part in parts)
        names += [reference for reference in references if reference not in names]
    return names


def section(name: str, definition: dict[str, Any]) -> Iterator[str]:
    """Yield the heading, the description and the fields of a struct."""
    yield f"## {name}\n"
    yield f"{definition['description']}\n"
    yield "| field | type | content |"
    yield "|---|---|---|"
    for field, schema in definition["properties"].items():
        yield f"| `{field}` | {type_name(schema)} | {schema['description'].replace('|', '&#124;')} |"
    yield ""


def type_name(schema: dict[str, Any]) -> str:
    """Return the type of a field in words.

    >>> type_name({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'list of string, or null'
    """
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(DEFINITION)
        return f"[{name}](#{name.lower()})"
    if parts := schema.get("anyOf") or schema.get("allOf"):
        *first, last = map(type_name, parts)
        return f"{', '.join(first)}, or {last}" if first else last
    if schema["type"] == "array":
        return f"list of {type_name(schema['items'])}" if schema.get("items") else "two numbers"
    if schema["type"] == "object":
        return f"object of {type_name(schema['additionalProperties'])}"
    return str(schema["type"])


def main() -> None:
    """Write all files."""
    SCHEMA_FILE.write_text(write_schema(json_schema()), encoding="utf-8")
    VERDICTS_FILE.write_text(write_schema(verdict_file.json_schema()), encoding="utf-8")
    PAGE.write_text(write_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
