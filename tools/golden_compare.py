"""Comparison of golden files with new values; golden.py says what is compared and how."""

import csv
import gzip
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from io import StringIO
from math import isclose
from pathlib import Path
from typing import Any

from golden_samples import earlier_layout, is_shared_layout

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden/migration"
CHANGES = "changes.toml"
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
OLD_NAMED = ("name", "labels", "category")  # the same in files written before schema 2 of records
MOST_SHOWN = 60
ADDED = frozenset(  # fields that were added after the files were written, compared where a file has a value
    (
        "class_names",
        "direction",
        "higher_is_better",
        "max_tokens",
        "n_clusters",
        "probability",
        "prompts_per_level",
        "refused",
        "sample_hashes",
        "slices",
        "thinking_tokens",
        "title",
    )
)
ADDED_METRICS = frozenset(("log_score", "target_brier", "answer_log_prob"))  # the same for metrics
ADDED_TABLES = frozenset(  # the same for tables
    ("realbirdid-T1", "realbirdid-F13", "realbirdid-F15", "realbirdid-correlation")
)
ADDED_COLUMNS = frozenset(  # the same for columns of sample tables and tables
    ("log_probability", "Family", "Image Encoder", "Language Model")
)
Json = Any
OPTION = r'[a-z_]+=(?:[^\s,"\[\]]|\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\])+'
IN_CASES = re.compile(rf"(?<=@){OPTION}(?:,{OPTION})*")  # in the name of a case: images=5,order=random
IN_TABLES = re.compile(
    r'(^|[,;:"] ?)([a-z_]+) ([^\s,;"]+(?: \d+)?)(?= \(|[,;"]|$)'
)  # in a cell of a table: images 5, order random


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
            if (name in ADDED | ADDED_TABLES or name.partition(" ")[0] in ADDED_METRICS) and before.get(name) is None:
                continue
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


def split_category(value: Json) -> Json:
    """Return a golden value with subset, level and prompt instead of each number's category.

    Records of schema 1 and their evidence had these in one text.

    >>> split_category({"name": "abstention", "labels": "", "category": "unanswerable/naive/01"})
    {'name': 'abstention', 'labels': '', 'subset': 'unanswerable', 'level': '', 'prompt': 'naive/01'}
    >>> split_category({"name": "p_abstain", "labels": "", "category": "naive/angle/occlusion"})
    {'name': 'p_abstain', 'labels': '', 'subset': 'angle/occlusion', 'level': '', 'prompt': 'naive'}
    """
    if isinstance(value, list):
        return [split_category(part) for part in value]
    if not isinstance(value, dict):
        return value
    if is_old_number(value):
        return split_number(value)
    if value and all(map(is_old_number, value.values())):
        return by_name([split_number(part) for part in value.values()])
    return {name: split_category(part) for name, part in value.items()}


def is_old_number(value: Json) -> bool:
    """Return whether a value is a number with a category."""
    return isinstance(value, dict) and {*OLD_NAMED} <= {*value}


def split_number(number: Json) -> Json:
    """Return a number with subset, level and prompt instead of its category."""
    level, category = "", number["category"]
    if number["name"] in ("p_abstain", "correct_reason"):
        prompt, _, subset = category.partition("/")
    else:
        subset, _, prompt = category.partition("/")
        subset, _, level = subset.partition(".")
    others = {field: part for field, part in number.items() if field != "category"}
    return {**others, "subset": subset, "level": level, "prompt": prompt}


def compare_csv(file: str, before: list[str], after: list[str], location: tuple[str, ...]) -> Iterator[Difference]:
    """Yield a difference for each column that is gone, new or has other cells, and one where rows are gone or new.

    The order of rows does not count in the files that `changes.toml` names in `any_row_order`. A sample table with the
    columns that all protocols share is compared in the layout of the golden files (`golden_samples.py`).
    """
    (old_head, old), (new_head, new) = (read_columns(lines) for lines in (before, after))
    if is_shared_layout([*new_head]) and not is_shared_layout([*old_head]):
        names, new = earlier_layout([*new_head], new, [*old_head])
        new_head = {name: index for index, name in enumerate(names)}
    for name in dict.fromkeys((*old_head, *new_head)):
        if name in ADDED_COLUMNS and name not in old_head:
            continue
        if name not in old_head or name not in new_head:
            yield Difference(
                file, (*location, f"column {name}"), *describe_presence(name in old_head, name in new_head)
            )
    differences = list(compare_rows(file, old_head, old, new_head, new, location))
    if differences and file in read_changes().get("any_row_order", ()):
        in_order = sort_rows(old_head, old), sort_rows(new_head, new)
        if not any(compare_rows(file, old_head, in_order[0], new_head, in_order[1], location)):
            return
    yield from differences


def compare_rows(
    file: str,
    old_head: Mapping[str, int],
    old: Sequence[list[str]],
    new_head: Mapping[str, int],
    new: Sequence[list[str]],
    location: tuple[str, ...],
) -> Iterator[Difference]:
    """Yield a difference for each column with other cells, and one where rows are gone or new."""
    for name in (name for name in old_head if name in new_head):
        if TIMES.search(name):
            continue
        cells = [(old_row[old_head[name]], new_row[new_head[name]]) for old_row, new_row in zip(old, new, strict=False)]
        changed = [row for row, (old_row, new_row) in enumerate(cells) if not is_same(file, old_row, new_row)]
        if changed:
            row = changed[0]
            where = f"column {name}, {len(changed)} of {len(old)} rows, row {row} ({', '.join(old[row][:2])})"
            yield Difference(file, (*location, where), *map(shorten, cells[row]))
    if len(old) != len(new):
        yield Difference(file, (*location, "rows"), str(len(old)), str(len(new)))


def sort_rows(head: Mapping[str, int], rows: Sequence[list[str]]) -> list[list[str]]:
    """Return rows sorted by their texts, without the order of a list of options, and then by their numbers."""
    columns = [index for name, index in head.items() if not TIMES.search(name)]

    def key(row: list[str]) -> tuple[list[str], list[float]]:
        cells = [sort_options(row[index]) for index in columns]
        numbers = [cell for cell in cells if NUMBER.fullmatch(cell)]
        return [cell for cell in cells if not NUMBER.fullmatch(cell)], [float(cell) for cell in numbers]

    return sorted(rows, key=key)


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

    Numbers with a fraction may differ as much as they do on another machine. The order of a list of options in a cell
    of a table does not count, since options are sorted by their names.
    """
    if before == after:
        return isinstance(before, bool) == isinstance(after, bool)
    if has_tables(file) and isinstance(before, str) and isinstance(after, str) and ", " in before:
        return sort_options(before) == sort_options(after)
    texts = [repr(value) if isinstance(value, int | float) else str(value) for value in (before, after)]
    if not all(map(NUMBER.fullmatch, texts)) or not any(re.search("[.e]", text) for text in texts):
        return False
    relative, absolute = next(limits for kind, limits in TOLERANCES.items() if kind in file)
    if absolute == LAST_DIGIT:
        absolute = 1.01 * 10.0 ** -min(len(text.partition(".")[2]) for text in texts)
    return isclose(*map(float, texts), rel_tol=relative, abs_tol=absolute)


def sort_options(text: str) -> str:
    """Return a list of options in the order of its texts.

    >>> sort_options("seed 2, order 1")
    'order 1, seed 2'
    """
    return ", ".join(sorted(text.split(", ")))


def has_tables(file: str) -> bool:
    """Return whether a golden file holds tables of the reports."""
    return not any(part in file for part in ("records", "samples", "keys"))


def shorten(value: Json) -> str:
    """Write a value in few letters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"


def read_changes() -> dict[str, Any]:
    """Return the intended changes of `changes.toml`."""
    return tomllib.loads((GOLDEN / CHANGES).read_text(encoding="utf-8"))


def read_golden(file: str) -> Json:
    """Read a golden file with the names that `changes.toml` replaces; an empty value if there is no such file."""
    path = GOLDEN / file
    if not path.is_file():
        return {}
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    changes = read_changes()
    for change in changes.get("change", ()):
        if fnmatch(file, change["files"]):
            text = re.sub(change["before"], change["after"], text)
    renamed = Renamed(changes.get("options", {}), changes.get("option_values", {}))
    return renamed.apply(split_category(json.loads(text)), in_tables=has_tables(file))


@dataclass(frozen=True)
class Renamed:
    """New names of protocols' options and of their values, by the old ones."""

    options: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]]

    def apply(self, value: Json, *, in_tables: bool, variant: bool = False) -> Json:
        """Return a golden value with the new names: in variants, in names of cases, and in cells of tables."""
        if isinstance(value, dict):
            items = [self.rename(*item) if variant else (self.in_text(item[0]), item[1]) for item in value.items()]
            return {name: self.apply(part, in_tables=in_tables, variant=name == "variant") for name, part in items}
        if isinstance(value, list):
            return [self.apply(part, in_tables=in_tables) for part in value]
        return self.in_text(value, in_tables=in_tables) if isinstance(value, str) else value

    def rename(self, option: str, value: str) -> tuple[str, str]:
        """Return the new name of an option and of its value.

        >>> Renamed({"order": "image_order"}, {"order": {"mixed": "random"}}).rename("order", "mixed")
        ('image_order', 'random')
        """
        return self.options.get(option, option), self.values.get(option, {}).get(value, value)

    def in_text(self, text: str, *, in_tables: bool = False) -> str:
        """Return a text with new names in names of cases, where options are sorted, and in lists of options.

        >>> renamed = Renamed({"order": "image_order", "seed": "first"}, {})
        >>> renamed.in_text("a/b/c[d]@order=x[1,2],seed=3 zero_shot; order 1, seed 2", in_tables=True)
        'a/b/c[d]@first=3,image_order=x[1,2] zero_shot; image_order 1, first 2'
        """
        text = IN_CASES.sub(lambda match: ",".join(sorted(map(self.in_case, re.findall(OPTION, match[0])))), text)
        if in_tables:
            text = IN_TABLES.sub(lambda match: match[1] + " ".join(self.rename(match[2], match[3])), text)
        return text

    def in_case(self, option: str) -> str:
        """Return `name=value` with the new names."""
        return "=".join(self.rename(*option.split("=", 1)))


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
