"""The tests of a module are found by its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {ROOT / "src/eyechart": ROOT / "tests", ROOT / "plugins": ROOT / "tests/plugins"}  # and their tests
Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_a_module_has_a_test_file_of_its_name_or_a_doctest_for_each_public_name() -> None:
    """Modules that only declare constants and types have nothing to test."""
    modules = {path: file for package, tests in PACKAGES.items() for path, file in files_of_tests(package, tests)}
    assert len(modules) > 500
    absent = [path for path, file in modules.items() if not file.exists()]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in absent}
    untested = [path for path, tree in trees.items() if not (only_declares(tree) or is_shown_by_doctests(tree))]
    assert [f"{path.relative_to(ROOT)}: {modules[path].relative_to(ROOT)}" for path in untested] == []


def files_of_tests(package: Path, tests: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each module of a package with the file where a reader expects its tests."""
    for path in sorted(package.rglob("*.py")):
        if path.name != "__init__.py":
            yield path, tests / path.relative_to(package).parent / f"test_{path.stem.lstrip('_')}.py"


def only_declares(tree: ast.Module) -> bool:
    """Return whether a module has no function but methods that return one expression."""
    if any(isinstance(node, Function) for node in tree.body):
        return False
    methods = [node for of_class in tree.body if isinstance(of_class, ast.ClassDef) for node in of_class.body]
    bodies = [node.body for node in methods if isinstance(node, Function)]
    statements = [statement for body in bodies for statement in body if not is_docstring(statement)]
    return all(isinstance(statement, ast.Pass | ast.Return) for statement in statements)


def is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def is_shown_by_doctests(tree: ast.Module) -> bool:
    """Return whether each public function, and each public class in some method, has a doctest."""
    public = [node for node in tree.body if isinstance(node, Function | ast.ClassDef) and node.name[0] != "_"]
    return bool(public) and all(
        any(">>>" in (ast.get_docstring(part) or "") for part in (node, *methods_of(node))) for node in public
    )


def methods_of(node: Function | ast.ClassDef) -> list[Function]:
    return [part for part in node.body if isinstance(part, Function)] if isinstance(node, ast.ClassDef) else []
