"""tools/mutate.py changes a module in every way it says, tests a copy, and names what no test noticed."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "tools/mutate.py"
SOURCE = "def larger(a: int, b: int) -> int:\n    # of two\n    return a if a > b else b\n"
NEAR = "tests/shapes/test_larger.py"
TEST = "from shapes.larger import larger\n\n\ndef test_larger() -> None:\n    assert larger(2, 1) == 2\n"


@pytest.fixture(scope="module")
def mutate():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)
        yield import_module("mutate")
    for name in ("mutate", "mutants"):
        del sys.modules[name]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "src/shapes/__init__.py": "",
        "src/shapes/larger.py": SOURCE,
        NEAR: TEST,
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
        ("f(a, strict=True, k=True)", ["f(a, strict=True)", "f(a, strict=True, k=False)"]),
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
    near = [str(path) for path in mutate.find_tests(Path("src/eyechart/statistics/accuracy.py"), root, False)]
    assert near[0] == "tests/statistics/test_accuracy.py"
    others = ("tests/statistics/test_statistics_against_others.py", "tests/statistics/test_statistics_contract.py")
    assert {*others} <= {*near}
    messages = [
        path.name for path in mutate.find_tests(Path("src/eyechart/gate/verdicts/verdict_messages.py"), root, False)
    ]
    assert messages[0] == "test_verdict_messages.py"
    assert {"test_compare_metrics.py", "test_decide.py", "test_page_link.py"} <= {*messages}
    assert "test_evidence.py" not in messages
    sessions = Path("tests/statistics/test_significance_sessions.py")
    assert sessions in mutate.find_tests(Path("src/eyechart/statistics/significance.py"), root, False)
    slices = Path("tests/gate/slices/test_slice_tests.py")
    clusters = Path("src/eyechart/statistics/clusters.py")
    assert [slices in mutate.find_tests(clusters, root, far) for far in (True, False)] == [True, False]
    assert Path("tests/realbirdid/statistics/test_abstention_tradeoff.py") in mutate.find_tests(
        Path("src/eyechart/statistics/_sweeps.py"), root, False
    )
    hard = Path("tests/parsers/test_hard_answers.py")  # statistics/test_yes_no.py has the tests of another module
    for parser in ("yes_no", "stated_count"):  # which number.py imports, and no test
        assert hard in mutate.find_tests(Path(f"src/eyechart/parsers/{parser}.py"), root, False)


def test_survivors_are_named_and_tested_again_and_the_source_is_left_as_it_was(project) -> None:
    options = ["src/shapes/larger.py", "--timings=timings.json"]
    done = run(project, *options, "--jobs=2", "--report=first.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("src/shapes/larger.py: 3 of 4 killed, 75.0%\nall: 3 of 4 killed, 75.0%\n")
    assert done.stdout.endswith(
        "\nsrc/shapes/larger.py:3 compare\n-    return a if a > b else b\n+    return a if a >= b else b\n"
    )
    assert (project / "src/shapes/larger.py").read_text() == SOURCE
    assert len((project / "first.jsonl").read_text().splitlines()) == 4
    assert [*json.loads((project / "timings.json").read_text())["seconds"]] == [f"{NEAR}::test_larger"]

    (project / "src/shapes/larger.py").write_text(f"# The line moves.\n{SOURCE}")
    (project / NEAR).write_text(TEST + "\n\ndef test_fails() -> None:\n    assert 0\n")
    done = run(project, *options, "--only=first.jsonl", "--report=second.jsonl")
    assert done.stdout == "src/shapes/larger.py: 1 of 1 killed, 100.0%\nall: 1 of 1 killed, 100.0%\n", done.stderr
    (row,) = map(json.loads, (project / "second.jsonl").read_text().splitlines())
    assert (row["line"], row["outcome"]) == (4, "tests failed")
    done = run(project, *options, "--only=second.jsonl")
    assert "There is no mutant that survived in second.jsonl." in done.stderr


def test_a_survivor_is_sought_where_its_line_may_have_moved(mutate, tmp_path) -> None:
    source = "def f(a):\n    return a\n\ndef g(a):\n    return a\n"
    found = mutate.mutants(source, Path("m.py"))
    rows = [vars(each) | {"path": "m.py", "outcome": "survived"} for each in found]
    for line, expected in ((2, [2]), (3, [2]), (6, [5])):
        (tmp_path / "report").write_text(json.dumps(rows[0] | {"line": line}))
        assert [each.line for each in mutate.read_survivors(tmp_path / "report", found)] == expected
    later = [rows[0], rows[1], rows[0] | {"outcome": "tests failed"}, rows[1] | {"change": "gone"}]
    (tmp_path / "report").write_text("\n".join(map(json.dumps, later)))
    assert [each.line for each in mutate.read_survivors(tmp_path / "report", found)] == [5]


def test_quick_leaves_long_tests_out_and_the_shortest_run_first(mutate) -> None:
    class Item:
        def __init__(self, nodeid: str) -> None:
            self.nodeid = nodeid

    known = {"a": 9.0, "b": 1.0, "c": 0.5}
    for longest, expected in ((2, ["d", "c", "b"]), (10, ["d", "c", "b", "a"])):
        items = [Item(name) for name in "abcd"]
        mutate.Plugin(known, longest).pytest_collection_modifyitems(items)
        assert [item.nodeid for item in items] == expected


def test_tests_that_fail_without_a_mutant_end_the_run(project) -> None:
    (project / NEAR).write_text(TEST.replace("== 2", "== 1"))
    done = run(project, "src/shapes/larger.py")
    assert (done.returncode, done.stdout) == (
        1,
        "The tests of src/shapes/larger.py fail without a mutant. Mend them first.\n",
    )


def test_a_folder_without_modules_is_refused(project) -> None:
    done = run(project, "src/shape")
    assert done.returncode == 2
    assert "There is nothing to mutate in src/shape, relative to" in done.stderr
