"""JSON of other tools: their numbers that are none, and a sentence that names file and line for what is damaged."""

from math import isnan
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyechart.errors import DataError
from eyechart.interchange.json_files import parse_json, read_file, read_lines

REMEDY = "Write it again."


class Score(msgspec.Struct):
    """A number by its name."""

    name: str
    value: float


def test_numbers_that_json_does_not_have_are_read_as_python_writes_them() -> None:
    limits = parse_json(b'[NaN, Infinity, -Infinity, 1e400, "2"]', list[float], "a.json", REMEDY)
    assert isnan(limits[0])
    assert limits[1:] == [float("inf"), float("-inf"), float("inf"), 2.0]
    (score,) = parse_json(b'[{"name": "f1", "value": NaN, "other": 1}]', list[Score], "a.json", REMEDY)
    assert score.name == "f1"
    assert isnan(score.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_mark_of_the_encoding_is_no_content(encoding: str) -> None:
    assert parse_json('{"name": "é"}'.encode(encoding), dict[str, str], "a.json", REMEDY) == {"name": "é"}


@pytest.mark.parametrize(
    ("content", "kind", "sentence"),
    [
        (b"", dict[str, Any], "a.json is no JSON (Expecting value: line 1 column 1 (char 0)). Write it again."),
        (b'{"name": "f1"}', Score, "a.json: Object missing required field `value`. Write it again."),
        (b'{"name": "f1", "value": [NaN]}', Score, "a.json: Expected `float`, got `array` - at `$.value`. Write it"),
    ],
)
def test_a_damaged_file_is_named_with_the_remedy(content: bytes, kind: Any, sentence: str) -> None:
    with pytest.raises(DataError) as error:
        parse_json(content, kind, "a.json", REMEDY)
    assert str(error.value).startswith(sentence)


def test_lists_within_lists_without_end_are_a_sentence() -> None:
    with pytest.raises(DataError, match=r"^a\.json is no JSON \(.*recursion.*\)\. Write it again\.$"):
        parse_json(b"[" * 200_000, list[Any], "a.json", REMEDY)


def test_a_damaged_line_is_named_by_its_number(tmp_path: Path) -> None:
    (path := tmp_path / "a.jsonl").write_bytes(b'{"key": 1}\n\n  \n{"key": "a\xe2\x80\xa8b"}\n[2]\n')
    lines = read_lines(path, REMEDY)
    assert [next(lines), next(lines)] == [(f"{path}, line 1", {"key": 1}), (f"{path}, line 4", {"key": "a\u2028b"})]
    with pytest.raises(DataError) as error:
        next(lines)
    assert str(error.value) == f"{path}, line 5: Expected `object`, got `array`. Write it again."


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read_file(tmp_path / "a.json", REMEDY)
    assert str(error.value) == f"{tmp_path / 'a.json'} cannot be read (No such file or directory). Write it again."
