"""tools/mutate.py changes a module in every way it says, tests a copy, and names what no test noticed."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/mutate.py"
SOURCE = "def larger(a: int, b: int) -> int:\n    # of two\n    return a if a > b else b\n"
TEST = "from shapes.larger import larger\n\n\ndef test_larger() -> None:\n    assert larger(2, 1) == 2\n"


@pytest.fixture(scope="module")
def mutate():
    spec = spec_from_file_location("mutate", SCRIPT)
    module = sys.modules["mutate"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mutate"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "src/shapes/__init__.py": "",
        "src/shapes/larger.py": SOURCE,
        "tests/properties/test_larger.py": TEST,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *options]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a - b", ["a + b"]),
        ("a and b", ["a", "a or b", "b"]),
        ("not a", ["a"]),
        ("3", ["2", "4"]),
        ("0.5", ["0.25", "1.0"]),
        ("True", ["False"]),
        ("any(a)", ["all(a)"]),
        ("f(a, strict=b, k=c)", ["f(a, strict=b)"]),
        ("a if b else c", ["c if b else a"]),
        ("a[b:c]", ["a[:c]", "a[b:]"]),
        ("[a for a in b if c]", ["[a for a in b]"]),
        ("f'{a + 1}'", []),
    ],
)
def test_an_expression_is_mutated_by_each_operator(mutate, line, changed) -> None:
    found = [each.source.strip() for each in mutate.mutants(f"x = {line}", Path("m.py"))]
    assert sorted(found) == sorted(f"x = {each}" for each in changed)


def test_statements_and_conditions_are_mutated_and_annotations_are_not(mutate) -> None:
    source = (
        'def f(a: "int | None" = None) -> "a + b":\n    """Text."""\n    if a:\n        g()\n    a[b] = c\n    return a'
    )
    found = [each.change.split("\n+")[-1].strip() for each in mutate.mutants(source, Path("m.py"))]
    assert found == ["if not a:", "pass", "pass", "return None"]


def test_the_tests_of_a_module_are_the_nearest_first(mutate) -> None:
    root = SCRIPT.parents[1]
    near = [str(path) for path in mutate.tests_of(Path("src/eyechart/metrics/accuracy.py"), root)]
    assert near == ["tests/properties/test_accuracy.py", "tests/unit/test_metric_contract.py"]
    assert Path("tests/properties/test_abstention.py") in mutate.tests_of(Path("src/eyechart/metrics/_sweeps.py"), root)


def test_survivors_are_named_and_the_source_is_left_as_it_was(project) -> None:
    done = run(project, "src/shapes/larger.py", "--jobs=2", "--report=report.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("src/shapes/larger.py: 3 of 4 killed, 75.0%\nall: 3 of 4 killed, 75.0%\n")
    assert done.stdout.endswith(
        "\nsrc/shapes/larger.py:3 compare\n-    return a if a > b else b\n+    return a if a >= b else b\n"
    )
    assert (project / "src/shapes/larger.py").read_text() == SOURCE
    assert len((project / "report.jsonl").read_text().splitlines()) == 4


def test_tests_that_fail_without_a_mutant_end_the_run(project) -> None:
    (project / "tests/properties/test_larger.py").write_text(TEST.replace("== 2", "== 1"))
    done = run(project, "src/shapes/larger.py")
    assert (done.returncode, done.stdout) == (
        1,
        "The tests of src/shapes/larger.py fail without a mutant. Mend them first.\n",
    )


def test_a_folder_without_modules_is_refused(project) -> None:
    done = run(project, "src/shape")
    assert done.returncode == 2
    assert "There is nothing to mutate in src/shape, relative to" in done.stderr
