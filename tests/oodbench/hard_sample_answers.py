"""What tests of oodbench/tables share."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import Any

from eyechart.reports.tables.render import to_csv

SETS = ("ID", "OOD-H", "Hard")


def division(flags="00"):
    """Ten pairs a set; of the hard samples, one is listed in OOD-H, and all detectors fail on the last one."""
    rows = []
    for pair in range(30):
        name, index = SETS[pair // 10], pair % 10
        key = "OOD-H 0" if (name, index) == ("Hard", 0) else f"{name} {index}"
        fails = "22" if name == "OOD-H" or pair == 29 else "00"
        rows.append({"pair": pair, "key": key, "category": 1, "name": "cat", "set": name, "main": 1, "present": 1,
                     "flags": fails})  # fmt: skip
    return rows


def answers(wrong):
    """Both questions of every pair; the first pairs of each set are wrong in both."""
    rows = []
    for row in division():
        failed = row["pair"] % 10 < wrong[row["set"]]
        for question, expected in (("positive", "yes"), ("negative", "no")):
            given = {"yes": "no", "no": "yes"}[expected] if failed else expected
            shared = {"target": expected, "prediction": given, "correct": int(not failed), "subset": row["set"]}
            rows.append({**row, **shared, "category_name": row["name"], "question": question})
    return rows


def numbers(wrong):
    """What a record has of them."""
    for name, failed in wrong.items():
        for measure in ("acc", "f1", "precision", "recall", "mcc"):
            yield measure, name, 1 - failed / 10, 20, (0.0, 1.0)
        yield "acc_delta", name, failed / 10, 40, (-0.05, 0.95)
        yield "acc_p", name, 0.04, 40, (0.03, 0.05), "permutation"


def ask(bench, model, mined, out):
    """One model's case."""
    wrong = dict(zip(SETS, (0, out, mined), strict=True))
    files = {"division": division()}
    bench.case("existence", model, rows=answers(wrong), metrics=numbers(wrong), files=files, hard_samples="own")


@dataclass(frozen=True)
class Asked:
    """A run, and each of its tables, made once."""

    pool: Any
    tables: Callable[[str], list[Any]]

    def rows(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(StringIO(to_csv(self.tables(name)))))


WRONG = {"hf[d]": (9, 2), "hf[a]": (1, 3), "hf[b]": (3, 3), "hf[c]": (5, 4)}
