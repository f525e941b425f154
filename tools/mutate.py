"""Mutation testing: change the source in small ways, one at a time, and count how many changes the tests notice.

    python tools/mutate.py src/eyechart/statistics src/eyechart/gate --sample 400 --seed 0 --quick \\
        [--jobs N] [--report FILE] [--only FILE] [--far] [--timings FILE]

Run it in the repository root, in the environment of the tests (`pip install -e .[test]`). Every mutant is tested in a
temporary copy of the tree; the working tree is never written to. A mutant is killed where a doctest of its module or
one of its tests fails, crashes or runs much longer than without it; one that nothing notices survives. Printed are the
kill rate of each module and, for each survivor, file, line, operator, and the source before (-) and after (+). The exit
status is 0 however many survive, and 1 where the tests fail without any mutant. tools/mutants.py says what is changed.

- `--report FILE` adds a JSON line for each mutant to a file.
- `--only FILE` takes from the mutants those that survived in such a report, also where their lines have moved since. A
  survivor whose code is no more is left out. With it, write tests and see whether they kill: no need of a whole run.
- `--quick` lets Hypothesis try QUICK_EXAMPLES examples, as the tests do, instead of WHOLE_EXAMPLES, and leaves tests
  out that take more than QUICK_SECONDS, most of which simulate coverage. Few mutants survive it that the whole tests
  kill; `--only` without `--quick` finds these.
- `--far` takes every test file that imports a module for one of its tests.
- `--timings FILE` keeps how long each test takes without a mutant, which is measured first. Where the file is there
  already, it is read, and the tests are not run without a mutant.

The tests of a module are its doctests; the test files whose names begin with its name; those that import it and lie in
a folder that is called as its package is, or begin with the package's name; test_statistics_contract.py for statistics;
and, where none of them imports it, any that import it, or else those of the modules that import it. A private module,
whose name begins with an underscore, has these, too. Tests in the folders SLOW, and files that run sessions of pytest,
are left aside. The shortest tests run first. Farther tests may kill some of the survivors, and some mutants are
equivalent to the source: judge each before you write a test for it.
"""

import argparse
import ast
import doctest
import importlib
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from mutants import Mutant, mutants

SURVIVED, TESTS_FAILED, DOCTEST_FAILED = 0, 1, 2
QUICK_EXAMPLES, WHOLE_EXAMPLES, QUICK_SECONDS = 20, 40, 2.0
MEASURED = "measured.json"
SLOW = {"end_to_end", "plugins", "page", "annotation", "figures", "tables"}  # folders of tests that run much at once
SESSIONS = re.compile(r"\.(?:passes|ran)\(|\bworld\.(?:call|installed|run|start)\(")  # calls of worlds
FORK = multiprocessing.get_context("fork")
OUTCOMES = {SURVIVED: "survived", TESTS_FAILED: "tests failed", DOCTEST_FAILED: "doctest failed"}


def module_name(path: Path) -> str:
    """Return the name by which a source file is imported."""
    return ".".join(path.with_suffix("").parts[path.parts[0] == "src" :])


@cache
def imported_names(path: Path) -> set[str]:
    """Return the names that a file imports, of modules and of what it takes from them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def find_tests(path: Path, root: Path, far: bool) -> list[Path]:
    """Return the test files of a module, relative to the root, the nearest first, or all `far` ones, too."""
    files = sorted((root / "tests").rglob("test_*.py"))
    quick = [test for test in files if not SLOW & {*test.relative_to(root).parts}]
    tests = [test for test in quick if not SESSIONS.search(test.read_text(encoding="utf-8"))]
    modules = {module_name(path)}
    if path.stem.startswith("_") or not any(modules & imported_names(test) for test in tests):
        using = [other for other in (root / "src").rglob("*.py") if path.stem in other.read_text(encoding="utf-8")]
        near = [other for other in using if modules & imported_names(other)]
        modules |= {module_name(other.relative_to(root)) for other in near}
    names = {f"test_{module.rpartition('.')[2]}" for module in modules}
    named = [test for test in tests if any(f"{test.stem}_".startswith(f"{name}_") for name in names)]
    folders = {part for part in path.parts[:-1] if part not in ("src", "eyechart")}  # the package, and folders in it
    of_package = tuple(f"test_{folder}_" for folder in folders)
    package = [
        test
        for test in tests
        if modules & imported_names(test)
        and (folders & {*test.relative_to(root).parts} or test.stem.startswith(of_package))
    ]
    contract = [test for test in tests if test.stem == f"test_{path.parent.name}_contract"]
    known = any(modules & imported_names(test) for test in (*named, *package))
    others = [] if known and not far else [test for test in tests if modules & imported_names(test)]
    return [test.relative_to(root) for test in dict.fromkeys([*named, *package, *contract, *others])]


def copy_tree(root: Path, target: Path) -> None:
    """Copy what git tracks or would track, and link the packages that pyproject.toml maps into `eyechart`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=True).stdout
    for name in listed.split("\0"):
        if name and (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, target / name)
    for surface in ("benchmarks", "fixtures", "plugins"):
        if (target / surface).is_dir():
            (target / "src/eyechart" / surface).symlink_to(target / surface)


class Plugin:
    """Makes pytest run the shortest tests first and leave out what takes more than `longest` seconds; takes the time.

    What it measured is in `seconds`, by test; the files whose tests failed are in `failed`.
    """

    def __init__(self, known: Mapping[str, float], longest: float) -> None:
        self.known, self.longest = known, longest
        self.seconds: Counter[str] = Counter()
        self.failed: set[str] = set()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Sort and choose the tests; pytest calls it."""
        kept = [item for item in items if self.known.get(item.nodeid, 0) <= self.longest]
        items[:] = sorted(kept, key=lambda item: self.known.get(item.nodeid, 0))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add what a part of a test took; pytest calls it."""
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid.partition("::")[0])


def run_tests(tree: Path, modules: Sequence[str], tests: Sequence[Path], plugin: Plugin, options: Sequence[str]) -> int:
    """Run modules' doctests, then the tests, in a process of its own; return one of the keys of OUTCOMES."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.chdir(tree)
    sys.path.insert(0, str(tree / "src"))
    import pytest
    from hypothesis import settings

    for profile, examples in (("quick", QUICK_EXAMPLES), ("whole", WHOLE_EXAMPLES)):
        settings.register_profile(profile, max_examples=examples, deadline=None, derandomize=True)
    try:
        failed = any(doctest.testmod(importlib.import_module(module)).failed for module in modules)
    except Exception:
        failed = True
    if failed:
        return DOCTEST_FAILED
    options = [*options, "-m", "", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    status = pytest.main([*options, *map(str, tests)], plugins=[plugin]) if tests else pytest.ExitCode.OK
    return SURVIVED if status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else TESTS_FAILED


def _test_mutant(*arguments: Any) -> None:
    sys.exit(run_tests(*arguments))


def _test_unchanged(tree: Path, paths: Sequence[Path], tests: Sequence[Path], options: Sequence[str]) -> None:
    plugin = Plugin({}, float("inf"))
    broken = [str(path) for path in paths if run_tests(tree, [module_name(path)], [], plugin, options)]
    status = run_tests(tree, [], tests, plugin, options)
    if status and not plugin.failed:
        broken += map(str, tests)  # nothing ran
    locations = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}
    installed = [name for name, location in locations.items() if "site-packages" in location]
    measured = {"seconds": plugin.seconds, "failed": [*broken, *plugin.failed], "installed": installed}
    (tree / MEASURED).write_text(json.dumps(measured), encoding="utf-8")


class Runs:
    """Tests of mutants, some at a time, each time in a copy of the tree that no other has.

    The working tree may change meanwhile: nothing is read from it but when the tests of modules are looked up.
    """

    def __init__(self, root: Path, trees: Sequence[Path], *, quick: bool, far: bool) -> None:
        self.root, self.free, self.far = root, list(trees), far
        self.running: dict[ForkProcess, tuple[Mutant, Path, float]] = {}
        self.measured: dict[str, Any] = {"seconds": {}, "installed": ["pytest", "hypothesis"]}
        self.longest = QUICK_SECONDS if quick else float("inf")
        self.options = [f"--hypothesis-profile={'quick' if quick else 'whole'}"]
        self.tests: dict[Path, list[Path]] = {}
        self.sources: dict[Path, bytes] = {}

    def check(self, paths: Sequence[Path]) -> list[Path]:
        """Take the time of the tests of some modules, as they are, and return the modules of which one fails."""
        self.know(paths)
        tree, tests = self.free[0], sorted({test for path in paths for test in self.tests[path]})
        for path in paths:  # as mutants are written, without comments
            (tree / path).write_text(ast.unparse(ast.parse(self.sources[path])), encoding="utf-8")
        process = FORK.Process(target=_test_unchanged, args=(tree, paths, tests, self.options))
        process.start()
        process.join()
        for path in paths:
            self._restore(tree, path)
        self.measured = json.loads((tree / MEASURED).read_text(encoding="utf-8"))
        failed = {Path(name) for name in self.measured.pop("failed")}
        return [path for path in paths if failed & {path, *self.tests[path]}]

    def know(self, paths: Sequence[Path]) -> None:
        """Read some modules and find their tests."""
        self.tests = {path: find_tests(path, self.root, self.far) for path in paths}
        self.sources = {path: (self.root / path).read_bytes() for path in paths}

    def outcomes(self, all_mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, str]]:
        """Yield each mutant and its outcome, one of OUTCOMES or "timeout" or "crashed"."""
        waiting = list(all_mutants)
        while waiting or self.running:
            while waiting and self.free:
                self._start(waiting.pop(0))
            wait([process.sentinel for process in self.running], timeout=1)
            for process, (mutant, tree, started) in list(self.running.items()):
                late = time.monotonic() - started > self._limit(mutant.path)
                if process.is_alive() and not late:
                    continue
                process.kill()
                process.join()
                self._restore(tree, mutant.path)
                self.free.append(tree)
                del self.running[process]
                yield mutant, "timeout" if late else OUTCOMES.get(process.exitcode or 0, "crashed")

    def _start(self, mutant: Mutant) -> None:
        tree = self.free.pop()
        (tree / mutant.path).write_text(mutant.source, encoding="utf-8")
        plugin = Plugin(self.measured["seconds"], self.longest)
        tests = self.tests[mutant.path]
        arguments = (tree, [module_name(mutant.path)], tests, plugin, [*self.options, "-x"])
        process = FORK.Process(target=_test_mutant, args=arguments)
        self.running[process] = mutant, tree, time.monotonic()
        process.start()

    def _restore(self, tree: Path, path: Path) -> None:
        (tree / path).write_bytes(self.sources[path])
        for stale in (tree / path).parent.glob(f"__pycache__/{path.stem}.*"):  # the source may change twice in a second
            stale.unlink()

    def _limit(self, path: Path) -> float:
        names, seconds = {str(test) for test in self.tests[path]}, self.measured["seconds"]
        return 60 + 5 * float(sum(took for test, took in seconds.items() if test.partition("::")[0] in names))


def preload(names: Sequence[str]) -> None:
    """Import what the tests need, apart from what is tested, so that the processes forked from this one need not."""
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)


def read_survivors(report: Path, known: Sequence[Mutant]) -> list[Mutant]:
    """Return the mutants that survived in an earlier report; one whose line has moved is the nearest that is the same.

    Of a mutant that is in the report several times, the last line counts.
    """
    rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    last = {(row["path"], row["line"], row["operator"], row["change"]): row["outcome"] for row in rows}
    survivors: dict[Mutant, None] = {}
    for (path, line, operator, change), outcome in last.items():
        same = [
            mutant for mutant in known if (str(mutant.path), mutant.operator, mutant.change) == (path, operator, change)
        ]
        if same and outcome == OUTCOMES[SURVIVED]:
            survivors[min(same, key=lambda mutant: abs(mutant.line - line))] = None
    return list(survivors)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(description="Test how many small changes of the source the tests notice.")
    parser.add_argument("paths", nargs="+", type=Path, help="modules or folders of them, relative to the root")
    parser.add_argument("--sample", type=int, help="how many mutants to test; all without it")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn")
    parser.add_argument("--jobs", type=int, default=1, help="how many to test at a time")
    parser.add_argument("--report", type=Path, help="a file for one JSON line a mutant")
    parser.add_argument("--only", type=Path, help="a report; only mutants that survived in it are tested")
    parser.add_argument("--quick", action="store_true", help="few examples, and no long tests")
    parser.add_argument("--far", action="store_true", help="with all test files that import the module")
    parser.add_argument("--timings", type=Path, help="a file that keeps how long each test takes")
    chosen = parser.parse_args(arguments)
    root = Path.cwd()
    files = [file for path in chosen.paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    all_mutants = [mutant for file in files for mutant in mutants(file.read_text(encoding="utf-8"), file)]
    if not all_mutants:
        parser.error(f"There is nothing to mutate in {', '.join(map(str, chosen.paths))}, relative to {root}.")
    if chosen.only:
        all_mutants = read_survivors(chosen.only, all_mutants)
        if not all_mutants:
            parser.error(f"There is no mutant that survived in {chosen.only}.")
    drawn = random.Random(chosen.seed).sample(all_mutants, min(chosen.sample or len(all_mutants), len(all_mutants)))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder).resolve() / f"tree{number}" for number in range(max(1, chosen.jobs))]
        for tree in trees:
            copy_tree(root, tree)
        runs = Runs(root, trees, quick=chosen.quick, far=chosen.far)
        paths = sorted({mutant.path for mutant in drawn})
        if chosen.timings and chosen.timings.is_file():
            runs.know(paths)
            runs.measured = json.loads(chosen.timings.read_text(encoding="utf-8"))
        elif failing := runs.check(paths):
            print(f"The tests of {', '.join(map(str, failing))} fail without a mutant. Mend them first.")
            return 1
        elif chosen.timings:
            chosen.timings.write_text(json.dumps(runs.measured), encoding="utf-8")
        preload(runs.measured["installed"])
        results = []
        for mutant, outcome in runs.outcomes(drawn):
            results.append((mutant, outcome))
            if chosen.report:
                _write(chosen.report, mutant, outcome)
    _summarise(results)
    return 0


def _write(report: Path, mutant: Mutant, outcome: str) -> None:
    row = {name: value for name, value in vars(mutant).items() if name != "source"}
    with report.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**row, "outcome": outcome}, default=str) + "\n")


def _summarise(results: Sequence[tuple[Mutant, str]]) -> None:
    tested = Counter(mutant.path for mutant, _ in results)
    survivors = sorted((m for m, outcome in results if outcome == OUTCOMES[SURVIVED]), key=lambda m: (m.path, m.line))
    lived = Counter(mutant.path for mutant in survivors)
    for path, n in sorted(tested.items()):
        print(f"{path}: {n - lived[path]} of {n} killed, {(n - lived[path]) / n:.1%}")
    print(f"all: {len(results) - len(survivors)} of {len(results)} killed, {1 - len(survivors) / len(results):.1%}")
    for mutant in survivors:
        print(f"\n{mutant.path}:{mutant.line} {mutant.operator}\n{mutant.change}")


if __name__ == "__main__":
    sys.exit(main())
