"""Mutation testing: change the source in small ways, one at a time, and count how many changes the tests notice.

    python tools/mutate.py src/eyechart/metrics src/eyechart/gate --sample 400 --seed 0 [--jobs N] [--report FILE]

Run it in the repository root, in the environment of the tests (`pip install -e .[test]`). Every mutant is tested in a
temporary copy of the tree; the working tree is never written to. A mutant is killed where a doctest of its module or
one of its tests fails, crashes or runs much longer than without it; one that nothing notices survives. Printed are the
kill rate of each module and, for each survivor, file, line, operator, and the source before (-) and after (+). The exit
status is 0 however many survive, and 1 where the tests fail without any mutant. `--report` writes a JSON line a mutant.

Operators:
- compare: `<` to `<=` and `>=`, `==` to `!=`, `is` to `is not`, `in` to `not in`, and the reverse
- arithmetic: `+` to `-`, `*` to `/`, `//` to `/`, `**` and `%` to `*`, `&` to `|`, and the reverse, also in `+=`
- boolean: `and` to `or` and the reverse; one operand left out; `not x`, `-x` and `~x` to `x`
- constant: a number plus and minus 1 (a fraction: doubled and halved), True to False and the reverse
- call: `min` to `max`, `any` to `all`, `argmin` to `argmax`, `floor` to `ceil`, and the reverse; a keyword left out
- control: the condition of `if` and `while` negated, the branches of a conditional expression exchanged, the condition
  of a comprehension left out
- slice: a lower or upper bound or a step left out
- statement: `return x` to `return None`; an expression, an augmented or an item assignment left out

Annotations, docstrings, type aliases, formatted messages and the keywords in KEPT_KEYWORDS are not mutated.

The tests of a module are, in this order: its doctests; the files under tests/properties and tests/unit named after it;
tests/unit/test_metric_contract.py for metrics; and, where no file is named after it, those that import it. A private
module, whose name begins with an underscore, has the tests of the modules beside it that import it. Farther tests may
kill some of the survivors, and some mutants are equivalent to the source: judge each before you write a test for it.
"""

import argparse
import ast
import difflib
import doctest
import importlib
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

# fmt: off
COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Pow: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}
# fmt: on
_PAIRS = (("min", "max"), ("any", "all"), ("minimum", "maximum"), ("argmin", "argmax"), ("floor", "ceil"))
CALLS = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
KEPT_KEYWORDS = {"strict", "frozen", "slots", "kw_only", "maxsize"}  # without them nothing else is computed
SURVIVED, TESTS_FAILED, DOCTEST_FAILED = 0, 1, 2
OUTCOMES = {SURVIVED: "survived", TESTS_FAILED: "tests failed", DOCTEST_FAILED: "doctest failed"}


@dataclass(frozen=True)
class Mutant:
    """A changed module: its path relative to the root, the changed line, the operator, and the whole new source."""

    path: Path
    line: int
    operator: str
    source: str
    change: str


def mutants(source: str, path: Path) -> list[Mutant]:
    """Return every mutant of a module's source, in the order of the source."""
    tree = ast.parse(source)
    original, found = ast.unparse(tree), []
    for node, put in _places(tree):
        for operator, new in _replacements(node):
            put(new)
            text = ast.unparse(ast.fix_missing_locations(tree))
            put(node)
            if text != original:
                line = getattr(getattr(node, "target", node), "lineno", 0)
                found.append(Mutant(path, line, operator, text + "\n", _difference(original, text)))
    return sorted(found, key=lambda mutant: mutant.line)


def _difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, Callable[[Any], None]]]:
    """Yield every node below one that may be mutated, and a function that puts another node into its place."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST) and not _left_alone(child, node):
                yield child, _setter(value, index) if isinstance(value, list) else _setter(node, name)
                yield from _places(child)


def _setter(target: Any, key: Any) -> Callable[[Any], None]:
    return lambda new: target.__setitem__(key, new) if isinstance(target, list) else setattr(target, key, new)


def _left_alone(node: ast.AST, parent: ast.AST) -> bool:
    if isinstance(node, ast.Assign) and isinstance(parent, ast.Module) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        return name[0].isupper() and not name.isupper()  # a type alias
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)


def _changed(node: ast.AST, **fields: Any) -> ast.AST:
    new = copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield each operator that applies to a node, and the node that it makes of it."""
    match node:
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                for other in COMPARE[type(op)]:
                    yield "compare", _changed(node, ops=[*ops[:index], other(), *ops[index + 1 :]])
        case ast.BinOp(op=operation) | ast.AugAssign(op=operation) if type(operation) in ARITHMETIC:
            yield "arithmetic", _changed(node, op=ARITHMETIC[type(operation)]())
        case ast.BoolOp(op=operation, values=values):
            yield "boolean", _changed(node, op=ast.Or() if isinstance(operation, ast.And) else ast.And())
            for index in range(len(values)):
                yield "boolean", _changed(node, values=values[:index] + values[index + 1 :])
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            if not isinstance(operand, ast.Constant):
                yield "boolean", operand
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            fraction = isinstance(value, float) and abs(value) < 1
            yield from (
                ("constant", ast.Constant(v)) for v in ([value * 2, value / 2] if fraction else [value + 1, value - 1])
            )
        case ast.Call():
            yield from _calls(node)
        case ast.Slice():
            yield from (("slice", _changed(node, **{part: None})) for part in ("lower", "upper", "step"))
        case ast.IfExp(body=body, orelse=orelse):
            yield "control", _changed(node, body=orelse, orelse=body)
        case ast.If(test=test) | ast.While(test=test):
            yield "control", _changed(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=[_, *_]):
            yield "control", _changed(node, ifs=[])
        case ast.Return(value=ast.expr()):
            yield "statement", _changed(node, value=ast.Constant(None))
    if isinstance(node, ast.Expr | ast.AugAssign) or (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
    ):
        yield "statement", ast.Pass()


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    match node.func:
        case ast.Name(id=name) if name in CALLS:
            yield "call", _changed(node, func=ast.Name(CALLS[name], ast.Load()))
        case ast.Attribute(attr=name) if name in CALLS:
            yield "call", _changed(node, func=_changed(node.func, attr=CALLS[name]))
    for index, keyword in enumerate(node.keywords):
        if keyword.arg and keyword.arg not in KEPT_KEYWORDS:
            yield "call", _changed(node, keywords=node.keywords[:index] + node.keywords[index + 1 :])


def module_name(path: Path) -> str:
    """Return the name by which a source file is imported."""
    return ".".join(path.with_suffix("").parts[path.parts[0] == "src" :])


def imported(path: Path) -> set[str]:
    """Return the names that a file imports, of modules and of what it takes from them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def tests_of(path: Path, root: Path) -> list[Path]:
    """Return the test files of a module, relative to the root, the nearest first."""
    tests = [test for folder in ("properties", "unit") for test in sorted((root / "tests" / folder).rglob("test_*.py"))]
    modules = {module_name(path)}
    if path.stem.startswith("_"):
        near = [other for other in (root / path.parent).glob("*.py") if modules & imported(other)]
        modules |= {module_name(other.relative_to(root)) for other in near}
    names = {f"test_{module.rpartition('.')[2]}" for module in modules}
    named = [test for test in tests if test.stem in names]
    contract = [test for test in tests if test.stem == f"test_{path.parent.name.rstrip('s')}_contract"]
    others = [] if named else [test for test in tests if modules & imported(test)]
    return [test.relative_to(root) for test in dict.fromkeys([*named, *contract, *others])]


def copy_tree(root: Path, target: Path) -> None:
    """Copy what git tracks or would track, and link the packages that pyproject.toml maps into `eyechart`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0"):
        if name and (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, target / name)
    for surface in ("benchmarks", "fixtures", "plugins", "reports"):
        if (target / surface).is_dir():
            (target / "src/eyechart" / surface).symlink_to(target / surface)


def run_tests(tree: Path, module: str, tests: Sequence[Path]) -> None:
    """Run a module's doctests, then its tests, in a process of its own, and end it with one of OUTCOMES."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.chdir(tree)
    sys.dont_write_bytecode = True  # the source may change twice in the second that a file's time is rounded to
    sys.path.insert(0, str(tree / "src"))
    import pytest

    try:
        failed = doctest.testmod(importlib.import_module(module)).failed
    except Exception:
        failed = 1
    if failed:
        sys.exit(DOCTEST_FAILED)
    options = ["-x", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    sys.exit(TESTS_FAILED if tests and pytest.main([*options, *map(str, tests)]) else SURVIVED)


class Runs:
    """Tests of mutants, some at a time, each time in a copy of the tree that no other has."""

    def __init__(self, root: Path, trees: Sequence[Path]) -> None:
        self.root, self.free = root, list(trees)
        self.running: dict[ForkProcess, tuple[Mutant, Path, float]] = {}
        self.limits: dict[Path, float] = {}

    def outcomes(self, all_mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, str]]:
        """Yield each mutant and its outcome, one of OUTCOMES or "timeout" or "crashed"."""
        waiting = list(all_mutants)
        while waiting or self.running:
            while waiting and self.free:
                self._start(waiting.pop(0))
            wait([process.sentinel for process in self.running], timeout=1)
            for process, (mutant, tree, started) in list(self.running.items()):
                late = time.monotonic() - started > self.limits.get(mutant.path, float("inf"))
                if process.is_alive() and not late:
                    continue
                process.kill()
                process.join()
                shutil.copyfile(self.root / mutant.path, tree / mutant.path)
                self.free.append(tree)
                del self.running[process]
                yield mutant, "timeout" if late else OUTCOMES.get(process.exitcode or 0, "crashed")

    def _start(self, mutant: Mutant) -> None:
        tree = self.free.pop()
        (tree / mutant.path).write_text(mutant.source, encoding="utf-8")
        arguments = (tree, module_name(mutant.path), tests_of(mutant.path, self.root))
        process = multiprocessing.get_context("fork").Process(target=run_tests, args=arguments)
        self.running[process] = mutant, tree, time.monotonic()
        process.start()


def preload() -> None:
    """Import what most tests need once, so that the processes forked from this one need not."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in ("hypothesis.extra.numpy", "numpy", "pytest", "scipy.stats", "sklearn.metrics"):
        importlib.import_module(name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(description="Test how many small changes of the source the tests notice.")
    parser.add_argument("paths", nargs="+", type=Path, help="modules or folders of them, relative to the root")
    parser.add_argument("--sample", type=int, help="how many mutants to test; all without it")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn")
    parser.add_argument("--jobs", type=int, default=1, help="how many to test at a time")
    parser.add_argument("--report", type=Path, help="a file for one JSON line a mutant")
    chosen = parser.parse_args(arguments)
    root = Path.cwd()
    files = [file for path in chosen.paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    found = [mutant for file in files for mutant in mutants(file.read_text(encoding="utf-8"), file)]
    if not found:
        parser.error(f"There is nothing to mutate in {', '.join(map(str, chosen.paths))}, relative to {root}.")
    drawn = random.Random(chosen.seed).sample(found, min(chosen.sample or len(found), len(found)))
    preload()
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder).resolve() / f"tree{number}" for number in range(max(1, chosen.jobs))]
        for tree in trees:
            copy_tree(root, tree)
        runs = Runs(root, trees)
        if failing := _check_unchanged(runs, {mutant.path for mutant in drawn}):
            print(f"The tests of {', '.join(map(str, failing))} fail without a mutant. Mend them first.")
            return 1
        results = []
        for mutant, outcome in runs.outcomes(drawn):
            results.append((mutant, outcome))
            if chosen.report:
                _write(chosen.report, mutant, outcome)
    _summarise(results)
    return 0


def _check_unchanged(runs: Runs, paths: set[Path]) -> list[Path]:
    """Return the modules whose tests fail as they are; set the time limit of each to what a mutant may take."""
    failing, started = [], time.monotonic()
    sources = {path: ast.unparse(ast.parse((runs.root / path).read_text(encoding="utf-8"))) for path in sorted(paths)}
    for mutant, outcome in runs.outcomes([Mutant(path, 0, "none", text, "") for path, text in sources.items()]):
        runs.limits[mutant.path] = 60 + 5 * (time.monotonic() - started)
        failing += [mutant.path] if outcome != OUTCOMES[SURVIVED] else []
        started = started if runs.running else time.monotonic()
    return failing


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
