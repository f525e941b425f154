"""docs/records.schema.json and docs/records.md are those of the structs and describe every field."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import record_schema
from jsonschema import Draft202012Validator, ValidationError

from eyechart.gate.verdicts import verdict_file
from eyechart.results.records import encode, json_schema, read_run


@pytest.fixture
def written(run_folder: Path) -> Any:
    """A run's records.json."""
    return json.loads((run_folder / "records.json").read_bytes())


def test_the_files_in_docs_are_those_of_the_structs() -> None:
    assert record_schema.SCHEMA_FILE.read_text(encoding="utf-8") == record_schema.write_schema(json_schema())
    verdicts = record_schema.write_schema(verdict_file.json_schema())
    assert record_schema.VERDICTS_FILE.read_text(encoding="utf-8") == verdicts
    assert record_schema.PAGE.read_text(encoding="utf-8") == record_schema.write_page()


def test_a_schema_is_equal_whichever_version_of_msgspec_made_it() -> None:
    null, number = {"type": "null"}, {"type": "number"}
    one = {"description": "A loss of\n    one metric.", "anyOf": [null, number]}
    other = {"description": "A loss of\none metric.", "anyOf": [number, null]}
    assert record_schema.write_schema(one) == record_schema.write_schema(other)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json_schema())


def test_every_field_and_struct_has_a_description_and_stands_on_the_page() -> None:
    page = record_schema.PAGE.read_text(encoding="utf-8")
    for name, definition in json_schema()["$defs"].items():
        assert definition["description"].strip(".")
        assert f"## {name}\n" in page
        for field, schema in definition["properties"].items():
            assert schema.get("description", "").endswith((".", "…")), f"{name}.{field}"
            assert f"| `{field}` | " in page


def test_the_schema_describes_a_run_as_it_is_written_and_read(written: Any, run_folder: Path) -> None:
    validator = Draft202012Validator(json_schema())
    validator.validate(written)
    validator.validate(json.loads(encode(read_run(run_folder))))


@pytest.mark.parametrize(
    "damage",
    [
        lambda run: run.pop("run"),
        lambda run: run["run"].update(workers="two"),
        lambda run: run["records"][0].pop("case"),
        lambda run: run["records"][0]["metrics"][0].pop("n_clusters"),
        lambda run: run["records"][0]["metrics"][0].update(ci=[0.5]),
        lambda run: run["records"][0]["model"].update(device_name=1),
    ],
)
def test_other_content_is_refused(written: Any, damage: Callable[[Any], None]) -> None:
    damage(written)
    with pytest.raises(ValidationError):
        Draft202012Validator(json_schema()).validate(written)
