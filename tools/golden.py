"""Golden files of the migration: everything a user sees of fixed runs, kept, and compared with what the code now gives.

    python tools/golden.py compare                 # exit status 1, and a list of differences, if a value changed
    python tools/golden.py write                   # write what differs into the golden files; prints it
    python tools/golden.py write -k closed_world   # of this protocol alone

Run it in the repository root, in the environment of the tests (`pip install -e .[test]`). Both commands run the main
job (`pytest`), the sessions of `sessions.toml` in its store, and the tests in TESTS, which make runs of their own. Each
run is read through its records.json, the files that this names, the command line of the reports, and the key files of
the store; nothing in it is imported from eyechart, so that modules, classes and functions may be renamed freely.

- `--main DIR` and `--store DIR`: read this run (a folder with records.json) and its store; do not run the main job
- `--only main,sessions,tests`: these parts alone, in a fraction of the time. `--only main` with `--main` takes seconds
- `-k PROTOCOL`: records and samples of the main job of this protocol alone; tables and keys are of all its cases
- `--work DIR`: where sessions write; with an earlier one's folder, what it asked is not asked again

`write` also writes the golden texts of prompts (`golden_prompts.py`) and docs/options.md (`option_tables.py`), and with
`-k` the baselines of the protocol's cases, so that one command writes all that is kept of a new protocol.

Golden files, in tests/golden/migration:
- `main/records.json`: each case's record, metrics by name, labels, subset, level and prompt; of the sessions compressed
- `NAME/samples.json.gz`: each case's csv files line by line, and its evidence without the resampled values
- `NAME/tables.json.gz`: each table's csv; null: the reports made none of this run
- `NAME/keys.json`: what is in each key file of the store, with the digest that names its entry
- `tests/NAME.json.gz`: tables of the runs that tests make, and of OODBench's also records and samples

How values are compared: integers, booleans and texts exactly; numbers with a fraction to 1e-5, relative; those in
samples, which are rounded to six digits, to 1e-4, or 1e-6 absolute; those in tables of runs with real models to one
unit of the last digit, since records hold the same numbers unrounded. With other vector instructions (set
ATEN_CPU_CAPABILITY=default) some calibration errors differ by 4e-6, so that 1e-6 would fail on other machines.
Fields in VOLATILE are left out, for the reason that stands there. The digest of a key is compared where the library
versions in it are equal.

Where a change is intended, run `write`, look at `git diff` and what was printed, and say in the commit why it changed.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

from golden_compare import (
    GOLDEN,
    LEVELS,
    NAMED,
    by_name,
    describe,
    dump,
    find_differences,
    keep_equal,
    read_golden,
    write_golden,
)
from golden_prompts import write_prompts
from option_tables import PAGE, own_protocols, write_page

from eyechart.cli import main as run_command
from eyechart.results.shared_samples import read_keys as read_sample_keys

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = "sessions.toml"
PYTEST = ("pytest", "-p", "no:cacheprovider", "--eye-offline")
EVERYTHING = "--eye-preset=packaged"  # for sessions, whose options name what they ask
TESTS = (
    "tests/reports/tables/test_golden.py",
    "tests/oodbench/tables/test_overlap_tables.py::test_both_tables_are_those_of_the_golden_file",
    "tests/classification/tables/test_annotation_outcomes.py::test_the_table_is_that_of_the_golden_file",
    "tests/end_to_end/test_oodbench_golden.py",
)
OUT = "EYECHART_GOLDEN_OUT"  # the environment variable that makes tests write their part here, not compare it
PARTS = ("main", "sessions", "tests")
LISTED = re.compile(r"(?P<name>\S+)\s+(?:(?P<number>(?:\w+-)?[TF]\d+)\s)?")  # a line of `eyechart ls tables`
VOLATILE = {
    "seconds": "how long it took",
    "started": "when it was",
    "command": "names the folders of the run",
    "path": "names of files hold digests of names; their content is compared",
    "environment": "library versions and the machine",
    "device_name": "the machine",
    "git_commit": "the state of the repository",
    "store_entries": "digests of keys, which depend on library versions",
    "libraries": "library versions",
    "pillow": "a library version, in keys",
    "loads": "depends on what the store held and on the number of workers",
    "workers": "the number of workers",
    "fresh": "how many answers the store did not hold",
    "arrays": "resampled values in the evidence, packed; intervals are made of them",
    "sha256": "of files whose content is compared",
}


# What a run leaves.


def read_records(run: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the records and the files that they name, both by case and protocol."""
    content = json.loads((run / "records.json").read_bytes())
    records, samples = {}, {}
    for record in content["records"]:
        name = f"{record['case']} {record['protocol']}"
        if name in records:
            raise SystemExit(f"{run} has two records of {name}.")
        records[name] = {field: value for field, value in record.items() if field not in VOLATILE}
        records[name]["metrics"] = by_name(record["metrics"])
        if len(records[name]["metrics"]) < len(record["metrics"]):
            raise SystemExit(f"{run}: {name} has two metrics of one {', '.join(NAMED + LEVELS)}.")
        samples[name] = {field: read_file(run / path) for field, path in files(record)}
    return {"run": strip(content["run"]), **strip(records)}, samples


def files(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Yield each file that a record names, with the field that names it."""
    if isinstance(value, dict):
        if "path" in value and "sha256" in value:
            yield field, value["path"]
        for name, part in value.items():
            yield from files(part, name)


def read_file(path: Path) -> Any:
    """Return the lines of a csv file, and of JSON the value."""
    text = path.read_text(encoding="utf-8")
    return {"csv": text.split("\n")} if path.suffix == ".csv" else strip(drop_arrays(with_keys(json.loads(text), path)))


def with_keys(value: Any, path: Path) -> Any:
    """Put the keys of samples, which a run stores once per split, back into the evidence of a case."""
    if not isinstance(value, dict) or "sample_hashes" not in value:
        return value
    file = path.parent / "samples" / f"{value['sample_hashes']}.keys"
    return {**value, "keys": list(read_sample_keys(file, value["samples"]))}


def drop_arrays(value: Any) -> Any:
    """Put "packed" in the place of digests of packed values, which depend on the last bit of each; so do `logits`."""
    names = value.get("arrays", {}) if isinstance(value, dict) else {}
    metrics = [{field: "packed" if isinstance(part, str) and part in names else part for field, part in metric.items()}
               for metric in value["metrics"]] if names else []  # fmt: skip
    if not names:
        return value
    return {**{field: part for field, part in value.items() if field != "logits"}, "metrics": metrics}


def strip(value: Any) -> Any:
    """Leave out the fields that differ from run to run."""
    if isinstance(value, dict):
        return {name: strip(part) for name, part in value.items() if name not in VOLATILE}
    return [strip(part) for part in value] if isinstance(value, list) else value


def make_tables(*runs: Path, of: str = "") -> dict[str, Any]:
    """Return the csv of every table that the reports know, None where they refuse to make it; `of`: part of a name.

    Golden files have a table under its number in the paper, if it has one.
    """
    lines = map(LISTED.match, report("ls", "tables")[0].splitlines())
    chosen = [name for line in lines if line and of in (name := line["number"] or line["name"])]
    return {name: {"csv": lines} if any(lines) else None for name in chosen for lines in [make_table(name, runs)]}


def make_table(name: str, runs: Sequence[Path]) -> list[str]:
    """Return the csv of a table line by line, nothing where the reports refuse to make it."""
    return report("table", name, *map(str, runs), "--format", "csv")[0].split("\n")


def report(*arguments: str) -> tuple[str, str]:
    """Return what the command `eyechart` writes to stdout and to stderr."""
    out, aside = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(aside):
        run_command(arguments)
    return out.getvalue(), aside.getvalue()


def read_keys(store: Path) -> dict[str, Any]:
    """Return the keys of a store in order, each with its entry's digest, libraries and ids of requests."""
    entries = []
    for path in store.glob("*/*/key.json"):
        key = json.loads(path.read_bytes())
        ids = sorted({request_id for part in path.parent.glob("*.part") for request_id in read_ids(part)})
        about = {"requests": len(ids), "ids": sha256(repr(ids).encode()).hexdigest()} if ids else {}
        versions = sha256(json.dumps(list(versions_of(key)), sort_keys=True).encode()).hexdigest()[:12]
        entries.append({"key": strip(key), "digest": path.parent.name, "versions": versions, **about})
    entries.sort(key=lambda entry: json.dumps(entry["key"], sort_keys=True))
    names = [f"{entry['key']['question']} {entry['key']['model']['name']}" for entry in entries]
    return {f"{name} {names[:place].count(name)}": entries[place] for place, name in enumerate(names)}


def read_ids(part: Path) -> list[str]:
    """Return the ids of the requests whose responses a part of an entry holds."""
    return [request_id.decode() for request_id in re.findall(rb'"request_id":"([0-9a-f]{64})"', part.read_bytes())]


def versions_of(key: Any) -> Iterator[Any]:
    """Yield the library versions in a key."""
    for name, value in key.items() if isinstance(key, dict) else ():
        yield from [value] if name in ("libraries", "pillow") else versions_of(value)


# Making runs.


def read_run(name: str, run: Path, store: Path) -> Iterator[tuple[str, Any]]:
    """Yield the golden files of a run."""
    records, samples = read_records(run)
    yield f"{name}/records.json", records
    yield f"{name}/samples.json.gz", samples
    yield f"{name}/tables.json.gz", make_tables(run)
    yield f"{name}/keys.json", read_keys(store)


def run_sessions(store: Path, work: Path) -> Iterator[tuple[str, Any]]:
    """Run the sessions in a copy of the main job's store, and yield their golden files."""
    records, samples, runs, copy = {}, {}, [], work / "store"
    shutil.copytree(store, copy, dirs_exist_ok=True)
    for session in tomllib.loads((GOLDEN / SESSIONS).read_text(encoding="utf-8"))["session"]:
        name, out = session["name"], work / session["name"]
        run_python(*PYTEST, EVERYTHING, f"--eye-out={out}", f"--eye-store={copy}", *shlex.split(session["options"]))
        runs.append(out / "latest")
        records[name], samples[name] = read_records(runs[-1])
    yield "sessions/records.json.gz", records
    yield "sessions/samples.json.gz", samples
    yield "sessions/tables.json.gz", make_tables(*runs)
    old = {path.parent.name for path in store.glob("*/*/key.json")}
    yield "sessions/keys.json", {name: key for name, key in read_keys(copy).items() if key["digest"] not in old}


def run_tests(work: Path) -> Iterator[tuple[str, Any]]:
    """Let tests write their golden files, and yield these."""
    work.mkdir()
    run_python("pytest", "-q", "-m", "", "-p", "no:cacheprovider", *TESTS, **{OUT: str(work)})
    for path in sorted(work.iterdir()):
        yield f"tests/{path.name}", json.loads(path.read_text(encoding="utf-8"))


def check(file: str, value: Any) -> None:
    """For tests: raise AssertionError if a value differs from its golden file, or write it if OUT names a folder."""
    if folder := os.environ.get(OUT):
        (Path(folder) / Path(file).name).write_text(dump(value), encoding="utf-8")
        return
    differences = [*find_differences(file, read_golden(file), json.loads(json.dumps(value)))]
    if differences:
        raise AssertionError(describe(differences))


def run_python(module: str, *arguments: str, **environment: str) -> None:
    """Run a module of Python in the repository root; its output is shown if it fails."""
    command = [sys.executable, "-m", module, *arguments]
    print("running:", shlex.join(command), file=sys.stderr)
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", check=False)  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n{shlex.join(command)} ended with exit status {done.returncode}.")


def collect(chosen: argparse.Namespace, work: Path) -> Iterator[tuple[str, Any]]:
    """Yield every golden file that was asked for, as the code gives it now."""
    main, store = chosen.main or work / "main/latest", chosen.store or work / "main_store"
    if not chosen.main and {"main", "sessions"} & {*chosen.only}:
        run_python(*PYTEST, f"--eye-out={main.parent}", f"--eye-store={store}")
    if "main" in chosen.only:
        yield from read_run("main", main, store)
    if "sessions" in chosen.only:
        yield from run_sessions(store, work)
    if "tests" in chosen.only:
        yield from run_tests(work / "tests")


def write_baselines(protocol: str, store: Path, work: Path) -> None:
    """Write the baselines of a protocol's cases of the main job, whose answers are in its store."""
    run_python(*PYTEST, "-k", protocol, f"--eye-out={work / 'baselines'}", f"--eye-store={store}",
               "--eye-baseline=reports/baselines", "--eye-update-baseline")  # fmt: skip


def with_cases_of(protocol: str, before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return a golden file's cases, those of a protocol as they are now and the others as they were.

    >>> with_cases_of("mcq", {"a/b mcq": 1, "a/b posterior": 2}, {"a/b mcq": 3, "a/b posterior": 4})
    {'a/b posterior': 2, 'a/b mcq': 3}
    """
    is_its = re.compile(rf".* {protocol}").fullmatch
    return {
        **{name: value for name, value in before.items() if not is_its(name)},
        **{name: value for name, value in now.items() if is_its(name)},
    }


def main() -> int:
    """Compare or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=("compare", "write"))
    parser.add_argument("--main", type=Path, metavar="DIR", help="the main job's run, which is then not made")
    parser.add_argument("--store", type=Path, metavar="DIR", help="the store of --main")
    parser.add_argument("-k", dest="protocol", choices=own_protocols(), metavar="PROTOCOL",
                        help="cases of the main job of this protocol alone")  # fmt: skip
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="PART,PART",
                        help=f"of {', '.join(PARTS)} (default: all; main with -k)")  # fmt: skip
    parser.add_argument("--work", type=Path, metavar="DIR", help="where sessions write (default: a temporary folder)")
    chosen = parser.parse_args()
    if bool(chosen.main) != bool(chosen.store):
        parser.error("--main and --store go together")
    chosen.only = chosen.only or (PARTS[:1] if chosen.protocol else PARTS)
    with tempfile.TemporaryDirectory() as temporary:
        work = (chosen.work or Path(temporary)).resolve()
        now = json.loads(json.dumps(dict(collect(chosen, work))))
        if chosen.command == "write" and chosen.protocol:
            write_baselines(chosen.protocol, chosen.store or work / "main_store", work)
    for file in ("main/records.json", "main/samples.json.gz"):
        if chosen.protocol and file in now:
            now[file] = with_cases_of(chosen.protocol, read_golden(file), now[file])
    differences = [change for file, value in now.items() for change in find_differences(file, read_golden(file), value)]
    print(describe(differences) or f"{len(now)} golden files are equal.")
    if chosen.command == "compare":
        return bool(differences)
    for file, value in now.items():
        write_golden(file, keep_equal(file, read_golden(file), value))
    write_prompts(chosen.protocol or "")
    PAGE.write_text(write_page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
