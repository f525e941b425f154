"""Comparison of golden files with new values; golden.py says what is compared and how."""

import csv
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isclose
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden/migration"
TIMES = re.compile(r"\btime\b", re.IGNORECASE)  # columns of tables that say how long answers took
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)
LAST_DIGIT = -1.0  # one unit of a cell's last digit
TOLERANCES = {  # by a part of the file's name: relative and absolute, as measured between processors
    "samples": (1e-4, 1e-6),  # six digits, of float32
    "tables": (0.0, LAST_DIGIT),  # made of records, which are compared more closely
    "": (1e-5, 1e-9),
}
LARGEST = 1_000_000
NAMED, LEVELS = ("name", "labels", "subset"), ("level", "prompt")  # what tells numbers apart
MOST_SHOWN = 60
Json = Any


@dataclass(frozen=True)
class Difference:
    """One value that is not what it was; `place` leads to it, from a case or table to a field, or a column and row."""

    file: str
    location: tuple[str, ...]
    before: str
    after: str

    def __str__(self) -> str:
        """Write it in one line."""
        return f"{self.file}: {' / '.join(self.location)}: {self.before} -> {self.after}"


def find_differences(file: str, before: Json, after: Json, location: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Yield what differs between two values of a golden file; the order of numbers and of notes does not count."""
    if location[-1:] == ("notes",) and isinstance(before, list) and isinstance(after, list):
        before, after = sorted(before), sorted(after)
    if is_named(before) and is_named(after):
        before, after = by_name(before), by_name(after)
    if isinstance(before, dict) and isinstance(after, dict):
        if [*before] == [*after] == ["csv"]:
            yield from compare_csv(file, before["csv"], after["csv"], location)
            return
        other = before.get("versions") != after.get("versions")
        for name in sorted({*before, *after} - ({"digest", "versions"} if other else set())):
            if name in before and name in after:
                yield from find_differences(file, before[name], after[name], (*location, name))
            else:
                yield Difference(file, (*location, name), *describe_presence(name in before, name in after))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from find_differences(file, *pair, (*location, str(number)))
    elif not is_same(file, before, after):
        yield Difference(file, location, shorten(before), shorten(after))


def is_named(value: Json) -> bool:
    """Return whether a value is a list of numbers, each with its name, labels and subset."""
    return isinstance(value, list) and all(isinstance(number, dict) and {*NAMED} <= {*number} for number in value)


def by_name(numbers: Json) -> dict[str, Json]:
    """Return numbers by what tells them apart, without level and prompt, which evidence omits where they are "".

    >>> by_name([{"name": "acc", "labels": "range", "subset": "all", "level": "genus", "prompt": "", "value": 0.5}])
    {'acc range all level=genus': {'name': 'acc', 'labels': 'range', 'subset': 'all', 'value': 0.5}}
    """
    return {named(number): {field: part for field, part in number.items() if field not in LEVELS} for number in numbers}


def named(number: Json) -> str:
    """Return what tells a number apart from the others of its case."""
    levels = (f"{part}={number[part]}" for part in LEVELS if number.get(part))
    return " ".join((*(str(number[part]) for part in NAMED), *levels))


def compare_csv(file: str, before: list[str], after: list[str], location: tuple[str, ...]) -> Iterator[Difference]:
    """Yield a difference for each column that is gone, new or has other cells, and one where rows are gone or new."""
    (old_head, old), (new_head, new) = (read_columns(lines) for lines in (before, after))
    for name in dict.fromkeys((*old_head, *new_head)):
        if name not in old_head or name not in new_head:
            there = describe_presence(name in old_head, name in new_head)
            yield Difference(file, (*location, f"column {name}"), *there)
            continue
        if TIMES.search(name):
            continue
        cells = [(row[old_head[name]], other[new_head[name]]) for row, other in zip(old, new, strict=False)]
        changed = [row for row, pair in enumerate(cells) if not is_same(file, *pair)]
        if changed:
            row = changed[0]
            where = f"column {name}, {len(changed)} of {len(old)} rows, row {row} ({', '.join(old[row][:2])})"
            yield Difference(file, (*location, where), *map(shorten, cells[row]))
    if len(old) != len(new):
        yield Difference(file, (*location, "rows"), str(len(old)), str(len(new)))


def read_columns(lines: list[str]) -> tuple[dict[str, int], list[list[str]]]:
    """Return the place of each column, equal names numbered, and the rows."""
    head, *rows = [*csv.reader(StringIO("\n".join(lines), newline=""))] or [[]]
    names = [f"{name} ({head[:n].count(name) + 1})" if name in head[:n] else name for n, name in enumerate(head)]
    return {name: location for location, name in enumerate(names)}, rows


def describe_presence(*there: bool) -> Iterator[str]:
    """Say of each side whether it has what the other has."""
    yield from ("there" if present else "missing" for present in there)


def is_same(file: str, before: Json, after: Json) -> bool:
    """Return whether two values of a file are equal.

    Numbers with a fraction may differ as much as they do on another machine.
    """
    if before == after:
        return isinstance(before, bool) == isinstance(after, bool)
    texts = [repr(value) if isinstance(value, int | float) else str(value) for value in (before, after)]
    if not all(map(NUMBER.fullmatch, texts)) or not any(re.search("[.e]", text) for text in texts):
        return False
    relative, absolute = next(limits for kind, limits in TOLERANCES.items() if kind in file)
    if absolute == LAST_DIGIT:
        absolute = 1.01 * 10.0 ** -min(len(text.partition(".")[2]) for text in texts)
    return isclose(*map(float, texts), rel_tol=relative, abs_tol=absolute)


def shorten(value: Json) -> str:
    """Write a value in few letters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"


def read_golden(file: str) -> Json:
    """Read a golden file; an empty value if there is no such file."""
    path = GOLDEN / file
    if not path.is_file():
        return {}
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def dump(value: Json, indent: str = "") -> str:
    """Write JSON with sorted keys, short values in one line."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not value or not isinstance(value, dict | list) or len(indent + text) <= 200:
        return text
    more = indent + " "
    if isinstance(value, dict):
        lines = [f"{more}{json.dumps(name, ensure_ascii=False)}: {dump(value[name], more)}" for name in sorted(value)]
    else:
        lines = [more + dump(part, more) for part in value]
    return "\n".join(["[{"[isinstance(value, dict)], ",\n".join(lines), indent + "]}"[isinstance(value, dict)]])


def keep_equal(file: str, before: Json, after: Json) -> Json:
    """Return the new value of a golden file, with the old numbers where the new ones compare as equal.

    A file that is written on another machine then shows in `git diff` what changed, and nothing else.

    >>> keep_equal("main/records.json", {"acc": 0.5, "n": 4}, {"acc": 0.500000001, "n": 5})
    {'acc': 0.5, 'n': 5}
    """
    if isinstance(before, dict) and isinstance(after, dict):
        if "csv" not in after:
            return {name: keep_equal(file, before.get(name), value) for name, value in after.items()}
        if before.get("csv", [])[:1] != after["csv"][:1]:  # other columns
            return after
    return after if any(find_differences(file, before, after)) else before


def write_golden(file: str, value: Json) -> None:
    """Write a golden file."""
    path = GOLDEN / file
    path.parent.mkdir(parents=True, exist_ok=True)
    data = (dump(value) + "\n").encode()
    data = gzip.compress(data, mtime=0) if path.suffix == ".gz" else data
    if len(data) > LARGEST:
        raise SystemExit(f"{file} would have {len(data):,} bytes, more than {LARGEST:,}.")
    path.write_bytes(data)


def describe(differences: Sequence[Difference]) -> str:
    """Write differences, the first of many."""
    more = [f"... and {len(differences) - MOST_SHOWN} more"] if len(differences) > MOST_SHOWN else []
    return "\n".join([*map(str, differences[:MOST_SHOWN]), *more])
