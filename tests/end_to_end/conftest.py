"""Runs that several files look at: OODBench with its ablations, and one model through transformers and through vLLM."""

import csv
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.cli import main
from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import Table, to_csv

MLLM, A, B, C = "hf[toybox-mllm]", "open_clip[toybox-clip]", "open_clip[toybox-clip-b]", "conse[]"
AGAIN = "open_clip[toybox-clip,batch_size=16]"  # a fourth detector, which fails as the first does
DIVIDED = (f"{A}+{B}", A, f"{B}+{C}", f"{C}+{AGAIN}", f"{A}+{B}+{C}", f"{A}+{B}+{C}+{AGAIN}")
KINDS = ("coco", "lvis")  # the others: plugin/test_oodbench.py asks about them, tables/every has tables of all four
WRONG = {"mild": 0.05, "odd": 0.12, "poor": 0.2}  # how often others say the opposite; out of ID twice as often
Record = dict[str, Any]
Rows = list[dict[str, str]]


@dataclass
class Bench:
    """Runs of OODBench in one folder, and what the reports make of them."""

    folder: Path
    python: Sequence[str]
    runs: dict[str, Path] = field(default_factory=dict)
    divided: Sequence[str] = DIVIDED

    def put(self, name: str, chosen: str, models: Sequence[str], *options: str) -> None:
        """Ask models, as a user does."""
        asked = [f"--eye-model={model}" for model in models]
        command = ["pytest", "--pyargs", "eyechart.benchmarks", "-k", chosen, "--eye-offline", "-p", "no:cacheprovider"]
        self.call(*command, f"--eye-out={name}", *asked, *options)
        self.runs[name] = self.folder / name / "latest"

    def call(self, *command: str) -> str:
        """Run a module of Python in the folder."""
        done = subprocess.run([*self.python, "-m", *command], cwd=self.folder, capture_output=True, encoding="utf-8",
                              timeout=600, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def records(self, *runs: str) -> Iterator[Record]:
        """The records of some runs, as far as these are done, each with the folder of its files."""
        for folder in (self.runs[name] for name in runs if name in self.runs):
            yield from case_records(folder)

    def cases(self, protocol: str, kind: str = "coco", **chosen: str) -> dict[str, Record]:
        """The records of a protocol and data set by model, of the runs that are no ablations."""
        wanted = (protocol, f"sample-{kind}")
        found = [each for each in self.records("all", "others") if (each["protocol"], each["split"]) == wanted]
        return {called(each): each for each in found if chosen.items() <= each["variant"].items()}

    def report(self, *arguments: str) -> str:
        """What the reports print."""
        out, aside = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(aside):
            assert main(arguments) == 0, aside.getvalue()
        return out.getvalue()

    @staticmethod
    def lines(record: Record, file: str = "predictions") -> Rows:
        """A csv of a case."""
        where = record["predictions"] if file == "predictions" else record["artifacts"][file]
        with (record["folder"] / where["path"]).open(encoding="utf-8", newline="") as rows:
            return list(csv.DictReader(rows))

    def paths(self, *names: str) -> list[str]:
        """The folders of some runs, or of all."""
        return [str(self.runs[name]) for name in names or self.runs]


def case_records(folder: Path) -> Iterator[Record]:
    """Yield the records of a run, each with the folder of its files."""
    for record in json.loads((folder / "records.json").read_bytes())["records"]:
        yield {**record, "folder": folder}


def called(record: Record) -> str:
    """A model as tables have it."""
    spec: str = record["model"]["spec"]
    return spec.partition("name=")[2].partition(",")[0] or spec


def others(bench: Bench) -> Iterator[str]:
    """Other models: what the small one said, some of it turned round by a seeded draw; one file, all splits."""
    asked = [bench.cases("existence", kind, reasoning="direct")[MLLM] for kind in KINDS]
    rows = [{**row, "split": record["split"]} for record in asked for row in bench.lines(record)]
    once = {(row["split"], row["key"], row["category"], row["question"]): row for row in rows}
    for seed, (name, share) in enumerate(WRONG.items()):
        lots = np.random.default_rng(seed).random(len(once))
        with (bench.folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            written = csv.writer(file)
            written.writerow(["split", "key", "category", "question", "answer"])
            for lot, (about, row) in zip(lots, once.items(), strict=True):
                wrong = lot < share * (1 + (row["subset"] != "ID"))
                written.writerow(
                    [*about, {"yes": "No.", "no": "Yes."}.get(row["prediction"]) if wrong else row["response"]]
                )
        yield f"replay[path={name}.csv,of=existence,name={name}]"


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str], answers: Path) -> Bench:
    """Everything that can be asked about the packaged pairs of two data sets."""
    made = Bench(tmp_path_factory.mktemp("oodbench"), warm_python)
    (made.folder / ".eyechart").mkdir()
    (made.folder / ".eyechart" / "store").symlink_to(answers)
    all_flagged, coco = "--eye-set=existence.division_scope=initial", "oodbench/sample-coco and existence"
    more = ("--eye-set=existence.reasoning=direct,cot", "--eye-set=distribution.reference=oodbench/sample-lvis")
    both = " or ".join(f"oodbench/sample-{kind}" for kind in KINDS)
    made.put("all", both, (MLLM, A, B), all_flagged, "--eye-set=existence.hard_samples=own", *more)
    made.put("others", both, [*others(made)], all_flagged, "--eye-set=existence.hard_samples=own")
    made.put("thresholds", coco, (MLLM,), all_flagged, "--eye-set=existence.threshold=0.05,0.01,0.005")
    made.put("detectors", coco, (MLLM,), all_flagged, f"--eye-set=existence.detectors={','.join(DIVIDED)}")
    return made


@pytest.fixture(scope="session")
def made(bench: Bench) -> Callable[[str], Sequence[Table]]:
    """A table of all runs, made once, whatever it is written as."""
    runs = load([Path(folder) for folder in bench.paths()])
    return cache(lambda name: tables(f"oodbench-{name}", runs))


@pytest.fixture(scope="session")
def table(made: Callable[[str], Sequence[Table]]) -> Callable[[str], Rows]:
    """A table of all runs as the rows of its csv."""
    return cache(lambda name: list(csv.DictReader(StringIO(to_csv(made(name))))))
